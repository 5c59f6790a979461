#pragma once
#include "zeroloss/base/progress.hpp"
#include "zeroloss/kernel/gram.hpp"

namespace zeroloss {

/// The Gaussian process with mean 0, covariance k and independent noise of variance ridge/w_i on target i,
/// given targets at some points: its covariance, which does not depend on the targets. Its mean is kernel
/// ridge regression.
class Posterior {
 public:
  /// X, n x d, rows of unit length; `weights`: n numbers > 0, empty = 1. Factors K + ridge W^-1 in n^2/2
  /// doubles, n^3/3 multiply-adds. Throws std::invalid_argument for numbers that are none of that or a matrix
  /// that is not numerically positive definite, ResourceError, Interrupted.
  Posterior(RowMatrix X, Kernel kernel, const Vector& weights, double ridge, Progress& progress);

  /// Of f at unit rows Z, m x d: k(1) - k(z, X) (K + ridge W^-1)^-1 k(X, z), and 0 where rounding leaves
  /// less. n^2 m multiply-adds.
  Vector variance(const RowMatrix& Z, Progress& progress) const;

 private:
  RowMatrix X_;
  Kernel kernel_;
  Packed<double> L_;
};

}  // namespace zeroloss
