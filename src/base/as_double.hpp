#pragma once
#include "zeroloss/base/matrix.hpp"

namespace zeroloss::internal {

/// A count, for formulas.
constexpr double as_double(Index count) { return static_cast<double>(count); }

}  // namespace zeroloss::internal
