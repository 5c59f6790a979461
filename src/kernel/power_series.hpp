#pragma once
#include <vector>

#include "zeroloss/kernel/activation.hpp"

/// Kernels on the sphere as power series in rho, whose coefficients are known up to a proven error.
namespace zeroloss::internal {

constexpr int kMostPower = 7168;  ///< coefficients kept of a series that falls like a power

/// k(rho) = sum over r of c_r rho^r, all c_r >= 0.
struct PowerSeries {
  std::vector<double> c;  ///< c[r], r = 0, 1, ..
  double error = 0;       ///< bound of |c[r] - exact|/exact
  double rest_below = 0;  ///< <= the sum of all further coefficients, rounded down
  double rest_above = 0;  ///< >= it

  int degree() const { return static_cast<int>(c.size()) - 1; }
  bool odd() const;  ///< only odd powers occur: every computed even coefficient is 0
  /// No odd power but the first occurs.
  bool even_but_linear() const;
  /// tau_N = sum of c_r, r >= N, rounded down; 0 beyond the degree where the rest may be 0.
  double tail_below(int N) const;
};

/// Sigma = rho h(rho) of one of the library's activations: c_(r+1) = mu_r(phi')^2, of which the series of a
/// leak has kMostPower terms. Throws std::invalid_argument for a user's activation, of which nothing is
/// proven.
PowerSeries sigma_series(const Activation& activation);

/// rho^r, r >= 1.
PowerSeries power_series(int r);

}  // namespace zeroloss::internal
