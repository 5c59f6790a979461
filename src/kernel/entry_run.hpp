#pragma once
#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernel/closest.hpp"
#include "kernel/entries.hpp"

/// From inner products to entries of a kernel, a run of them at a time, and what is seen on the way.
namespace zeroloss::internal {

/// What one thread gathers.
struct Tally {
  Closest closest;
  double singular_sum = 0;  ///< sum of 1/(1 - rho^2), where the kernel's error needs it
};

/// A pair of rows i > j and the vectors themselves.
template <class T>
struct PlacedPair {
  Index i, j;
  const T *x, *y;
};

/// A pair with |rho| = `closeness`, at least the bar of the closest or near 1: offers it to the closest.
/// Returns its entry where that is better told from the angle.
template <class T>
std::optional<double> see_pair(const Kernel& kernel, Index d, double closeness, const PlacedPair<T>& pair,
                               Closest& closest) {
  if (closeness < 1 - kNear) {
    closest.offer(std::sqrt(2 - 2 * closeness), pair.i, pair.j);
    return {};
  }
  const auto [apart, across] = distances(pair.x, pair.y, d);
  closest.offer_near(std::min(apart, across), pair.i, pair.j);
  if (!kernel.by_angle()) return {};
  return kernel.at_angle(2 * std::atan2(apart, across));
}

template <class T>
class EntryRuns {
 public:
  EntryRuns(const Kernel& kernel, Index d) : kernel_(kernel), d_(d), singular_(std::isinf(kernel.slope())) {}

  /// `run`: `count` inner products, the q-th that of the pair place(q), become kernel entries.
  template <class Place>
  void finish(T* run, Index count, const Place& place, Tally& tally) const {
    if (count <= 0) return;
    const auto size = static_cast<std::size_t>(count);
    std::vector<std::pair<Index, double>> recomputed;
    if (entries::largest(run, size) >= std::min(1 - kNear, tally.closest.bar())) {
      for (Index q = 0; q < count; ++q) {
        const double closeness = std::abs(static_cast<double>(run[q]));
        if (closeness < std::min(1 - kNear, tally.closest.bar())) continue;
        if (const auto entry = see_pair(kernel_, d_, closeness, place(q), tally.closest))
          recomputed.emplace_back(q, *entry);
      }
    }
    if constexpr (std::is_same_v<T, double>)
      if (singular_) tally.singular_sum += entries::singular_sum(run, size, kNear);
    entries::map(kernel_, run, size);
    for (const auto& [q, entry] : recomputed) run[q] = static_cast<T>(entry);
  }

 private:
  const Kernel& kernel_;
  Index d_;
  bool singular_;
};

/// Bound of ||K - exact||_F (theory 3) from what a pass over all pairs of n points of d numbers saw.
double entry_error(const Kernel& kernel, double n, double d, double near_pairs, double singular_sum);

}  // namespace zeroloss::internal
