#pragma once
#include <cmath>
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

template <class T>
class EntryRuns {
 public:
  EntryRuns(const Kernel& kernel, Index d)
      : kernel_(kernel), d_(d), singular_(std::isinf(kernel.slope())), by_angle_(kernel.by_angle()) {}

  /// `run`: `count` inner products, the q-th that of the pair place(q), become kernel entries.
  template <class Place>
  void finish(T* run, Index count, const Place& place, Tally& tally) const {
    if (count <= 0) return;
    const auto size = static_cast<std::size_t>(count);
    std::vector<std::pair<Index, double>> recomputed;
    if (entries::largest(run, size) >= std::min(1 - kNear, tally.closest.bar())) {
      for (Index q = 0; q < count; ++q) {
        const double closeness = std::abs(static_cast<double>(run[q]));
        if (closeness < 1 - kNear) {
          if (closeness < tally.closest.bar()) continue;
          const PlacedPair<T> pair = place(q);
          tally.closest.offer(std::sqrt(2 - 2 * closeness), pair.i, pair.j);
          continue;
        }
        const PlacedPair<T> pair = place(q);
        const auto [apart, across] = distances(pair.x, pair.y, d_);
        tally.closest.offer_near(std::min(apart, across), pair.i, pair.j);
        if (by_angle_) recomputed.emplace_back(q, kernel_.at_angle(2 * std::atan2(apart, across)));
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
  bool singular_, by_angle_;
};

/// Bound of ||K - exact||_F (theory 3) from what a pass over all pairs of n points of d numbers saw.
double entry_error(const Kernel& kernel, double n, double d, double near_pairs, double singular_sum);

}  // namespace zeroloss::internal
