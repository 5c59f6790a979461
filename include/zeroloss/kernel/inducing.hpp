#pragma once
#include "zeroloss/base/progress.hpp"
#include "zeroloss/kernel/gram.hpp"

/// Kernel ridge regression for more points than a kernel can be stored for: a sum of kernels at a few
/// inducing points instead of at all (Nystrom's approximation), found as Falkon does (Rudi, Carratino &
/// Rosasco, NeurIPS 2017).
namespace zeroloss {

struct InducingOptions {
  double ridge = 1e-3;      ///< > 0, as it is added to the kernel's diagonal
  double tolerance = 1e-6;  ///< of the residual of the preconditioned equations, relative to the first
  Index most = 100;         ///< steps of conjugate gradients
};

struct InducingSolution {
  Matrix coefficients;  ///< A, m x c: f(x) = sum_j A_j k(z_j, x)
  Index steps = 0;
  double residual = 0;  ///< the largest of the c outputs; above the tolerance if `most` steps were done
};

/// Minimises ||W^1/2 (K_nm A - Y)||_F^2 + ridge tr A^T K_mm A, W = diag(weights), for points X, n x d,
/// inducing points Z, m x d, rows of unit length, and targets Y, n x c: conjugate gradients on the normal
/// equations, preconditioned with K_mn W K_nm ~ (sum of weights / m) K_mm^2. K_mm gets 4 m u k(1) on its
/// diagonal, more if it is not positive definite then. Cost of a step: n m (d + about 50 + 2 c)
/// multiply-adds, for K_nm is made anew each time; before, 2/3 m^3. Memory: 3 m^2 + 36 m c doubles and some
/// for each thread. No bit depends on the number of threads. `weights`: n numbers > 0; empty = 1. Throws
/// std::invalid_argument for sizes that do not agree, values that are not finite or numbers out of range,
/// ResourceError, Interrupted.
InducingSolution solve_inducing(const RowMatrix& X, const RowMatrix& Z, const Kernel& kernel,
                                const Vector& weights, const Matrix& Y, const InducingOptions& options,
                                Progress& progress);

}  // namespace zeroloss
