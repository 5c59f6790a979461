#pragma once
#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernel/distances.hpp"
#include "support/bounds.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/kernel/gram.hpp"

namespace zeroloss::test {

/// The most that theory 3 charges of one entry: where the slope is largest, at the cut of near pairs, and
/// what it charges of these.
inline double most_charged(const Kernel& kernel, Index d) {
  const double e = unit_row_error(d), delta = gamma_of(static_cast<double>(d)) + 2.01 * e;
  const auto [most, share] = kernel.edge();
  const double slope = most + share / (2 * std::numbers::pi * std::sqrt(2 * internal::kNear));
  const double near = (most + 0.16 * share) * (2.1 * e + 30 * kUnit);
  return 1.01 * (delta * slope + near + 2 * kernel.error() + 16 * kUnit * std::max(1.0, kernel(1)));
}

}  // namespace zeroloss::test
