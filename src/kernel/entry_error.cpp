#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernel/entry_run.hpp"
#include "linalg/rounding.hpp"
#include "zeroloss/linalg/unit_rows.hpp"

// This file computes bounds: it relies on IEEE arithmetic and must not be compiled with -ffast-math.

namespace zeroloss {
using namespace internal;

// Theory 3, entries. The factor 1 + 2^-20 covers the rounding of this evaluation itself.
double internal::entry_error(const Kernel& kernel, double n, double d, double near_pairs,
                             double singular_sum) {
  const double row = unit_row_error(static_cast<Index>(d)), delta = product_error(d);
  // The vectorised evaluation: the dual's own error, doubled for powers of rho^2 in place of rho, and 4 ulp
  // of asin and the products around it.
  const double evaluation = n * (2 * kernel.error() + 16 * u * std::max(1.0, std::abs(kernel(1))));
  double bound = 0;
  if (std::isfinite(kernel.slope())) {
    bound = n * delta * kernel.slope() + evaluation;
  } else {
    // |k'| <= most + share/(2 pi sqrt(1 - rho^2)), taken at the far end of [rho - delta, rho + delta].
    const auto [most, share] = kernel.edge();
    const double widen = 1 / std::sqrt(1 - 2.1 * delta / kNear);
    const double far =
        delta * (n * most + share * (widen * std::sqrt(2 * singular_sum) / (2 * std::numbers::pi)));
    const double theta = 2.1 * row + 30 * u;   // of a near pair's angle
    const double slope = share * 0.16 + most;  // |dk/dtheta| <= most + share/(2 pi)
    bound = far + std::sqrt(2 * near_pairs) * slope * theta + evaluation;
  }
  return bound * (1 + 0x1p-20);
}

}  // namespace zeroloss
