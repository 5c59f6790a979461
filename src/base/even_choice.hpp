#pragma once
#include <algorithm>
#include <vector>

#include "zeroloss/base/matrix.hpp"

namespace zeroloss::internal {

/// At most `most` of the numbers 0 .. n - 1, ascending and evenly spaced: the first and, of several, the
/// last.
inline std::vector<Index> even_choice(Index n, Index most) {
  const Index count = std::min(n, most);
  std::vector<Index> some;
  for (Index k = 0; k < count; ++k) some.push_back(count > 1 ? k * (n - 1) / (count - 1) : 0);
  return some;
}

}  // namespace zeroloss::internal
