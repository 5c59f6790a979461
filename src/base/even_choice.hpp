#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss::internal {

/// At most `most` of the numbers 0 .. n - 1, ascending and evenly spaced: the first and, of several, the
/// last.
inline std::vector<Index> even_choice(Index n, Index most) {
  const Index count = std::min(n, most);
  std::vector<Index> some;
  for (Index k = 0; k < count; ++k) some.push_back(count > 1 ? k * (n - 1) / (count - 1) : 0);
  return some;
}

/// The same, one drawn of each of `most` parts of equal length: so that no period of the points, classes that
/// alternate, say, is that of the choice.
inline std::vector<Index> drawn_choice(Index n, Index most) {
  const Index count = std::min(n, most);
  Random random(0, Stream::choice);
  std::vector<Index> some;
  for (Index k = 0; k < count; ++k) {
    const Index begin = k * n / count, end = (k + 1) * n / count;
    some.push_back(begin + static_cast<Index>(random.below(static_cast<std::uint64_t>(end - begin))));
  }
  return some;
}

}  // namespace zeroloss::internal
