#pragma once
#include <cmath>

#include "linalg/rounding.hpp"
#include "zeroloss/base/matrix.hpp"

/// Of A - L L^T, where parts of the lower triangle are computed one after the other (theory 3).
namespace zeroloss::internal {

/// Sums of squares over whole matrices, from those of lower triangles: off the diagonal each counts twice.
struct ResidualSums {
  double of_residual = 0, of_A = 0, of_L = 0;  ///< that of L as it is: it is triangular

  /// A part of a column of A and of P = L L^T as computed, on and below the diagonal; whether it begins
  /// there.
  void add_column(const double* A, const double* P, Index count, bool on_diagonal) {
    double residual = 0, whole = 0;
    for (Index i = 0; i < count; ++i) {
      const double difference = A[i] - P[i];
      const double twice = i == 0 && on_diagonal ? 1 : 2;
      residual += twice * difference * difference;
      whole += twice * A[i] * A[i];
    }
    of_residual += residual;
    of_A += whole;
  }
  void add_factor_column(const double* L, Index count) {
    double sum = 0;
    for (Index i = 0; i < count; ++i) sum += L[i] * L[i];
    of_L += sum;
  }

  /// ||A - L L^T||_F at most. A product of k <= n terms in any order, less A, is off by gamma_{n+2} of |A| +
  /// |L||L^T|, whose norms are at most ||A||_F and ||L||_F^2, and by underflow. The sums here go over columns
  /// first, so that some 2 n roundings are in each.
  double bound(double n) const {
    const double slack = 1 + 4 * gamma_of(2 * n + 64);
    const double rounding = gamma_of(n + 4) * (std::sqrt(of_A) + of_L) * slack;
    const double underflow = n * (n + 4) * kTiny;
    return (std::sqrt(of_residual) * slack + rounding + underflow) * kUp;
  }
};

}  // namespace zeroloss::internal
