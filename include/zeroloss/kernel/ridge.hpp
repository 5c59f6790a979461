#pragma once
#include <optional>

#include "zeroloss/base/progress.hpp"
#include "zeroloss/kernel/packed.hpp"

/// Kernel ridge regression for many ridges at the cost of one: K = Q T Q^T with T tridiagonal is computed
/// once, and (T + ridge I)^-1 takes n operations a right-hand side (Golub, Heath & Wahba 1979, Elden 1984).
namespace zeroloss {

/// C = (K + ridge W^-1)^-1 Y, n x c, and the residuals without each point.
struct RidgeSolution {
  Matrix coefficients;
  /// y_i less what the solution of the other points predicts at point i: C_i / ((K + ridge W^-1)^-1)_ii.
  Matrix residuals;
};

/// For one ridge >= 0, by a Cholesky factorisation in the place of K: 2/3 n^3 multiply-adds. Nothing where
/// K + ridge W^-1 is not numerically positive definite. Arguments and errors as for RidgePath.
std::optional<RidgeSolution> solve_ridge(Packed<double> K, const Vector& weights, double ridge,
                                         const Matrix& Y, Progress& progress);

/// (K + ridge W^-1)^-1 Y for symmetric positive semidefinite K, W = diag(weights).
class RidgePath {
 public:
  /// `weights`: n numbers > 0, the weight of each point's squared residual; empty = 1. Memory: 1.5 n^2
  /// doubles while K is unpacked, n^2 then. Some 8/3 n^3 multiply-adds; cancellable every 64 columns. Throws
  /// std::invalid_argument for weights of another number or that are not positive, ResourceError,
  /// Interrupted.
  RidgePath(const Packed<double>& K, const Vector& weights, Progress& progress);

  /// ridge >= 0, Y n x c. Nothing where K + ridge W^-1 is not numerically positive definite: a pivot is below
  /// n u times the largest. Cost n^2 (2 c + 1).
  std::optional<RidgeSolution> solve(double ridge, const Matrix& Y) const;

  Index n() const { return diagonal_.size(); }

 private:
  Vector root_;              // of the weights; empty = 1
  Matrix Q_;                 // n x n
  Vector diagonal_, below_;  // of T: n, n - 1
};

}  // namespace zeroloss
