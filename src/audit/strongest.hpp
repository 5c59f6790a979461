#pragma once
#include <algorithm>
#include <numeric>

#include "zeroloss/audit/audit.hpp"

namespace zeroloss::internal {

/// The samples whose influence of this sign is largest, `most` at most.
inline std::vector<Reason> strongest(const Dataset& train, const Vector& influence, double sign, Index most) {
  std::vector<Index> order(static_cast<std::size_t>(influence.size()));
  std::iota(order.begin(), order.end(), Index{0});
  const auto count = std::min<std::size_t>(static_cast<std::size_t>(most), order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](Index a, Index b) {
                      const double x = sign * influence(a), y = sign * influence(b);
                      return x != y ? x > y : a < b;
                    });
  std::vector<Reason> reasons;
  for (std::size_t k = 0; k < count && sign * influence(order[k]) > 0; ++k)
    reasons.push_back({sample(train, order[k]), influence(order[k])});
  return reasons;
}

}  // namespace zeroloss::internal
