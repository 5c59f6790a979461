#pragma once
#include <cstdint>
#include <vector>

#include "zeroloss/base/matrix.hpp"

namespace zeroloss::internal {

/// What a draw of one seed is for.
enum class Drawn : std::uint64_t { choice = 0, inducing = 1, checked = 2 };

/// `count` of n, each set of them as likely as another, ascending; all of them for a larger count.
std::vector<Index> draw_rows(Index n, Index count, std::uint64_t seed, Drawn purpose);

}  // namespace zeroloss::internal
