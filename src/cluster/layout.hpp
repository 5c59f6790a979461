#pragma once
#include <algorithm>

#include "zeroloss/base/matrix.hpp"

/// Which rows or columns of a block-cyclic matrix a process has: blocks of `block` are dealt to `processes`
/// in turn, and lie one behind the other where they are.
namespace zeroloss::internal {

struct Layout {
  Index n = 0, block = 1;
  int processes = 1, mine = 0;

  Index count() const { return before(n); }
  int owner(Index global) const { return static_cast<int>(global / block % processes); }
  Index global(Index local) const { return (local / block * processes + mine) * block + local % block; }
  /// How many of mine lie before `global`: the local number of the first one that does not.
  Index before(Index global) const {
    const Index cycle = block * processes, rounds = global / cycle, rest = global % cycle;
    return rounds * block + std::clamp<Index>(rest - mine * block, 0, block);
  }
};

/// Rows x columns = processes, as square as it gets, not more rows than columns.
struct Shape {
  int rows = 1, columns = 1;
  explicit Shape(int processes) {
    for (int r = 1; r * r <= processes; ++r)
      if (processes % r == 0) rows = r;
    columns = processes / rows;
  }
};

}  // namespace zeroloss::internal
