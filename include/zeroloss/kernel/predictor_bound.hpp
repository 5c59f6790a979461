#pragma once
#include "zeroloss/base/progress.hpp"
#include "zeroloss/kernel/gram.hpp"

/// How far f_hat(x) = sum_i k(x_i, x) C_i may be from the exact predictor f(x) = k(x, X) (K + ridge W^-1)^-1
/// Y, whoever found C: a theorem with all rounding counted (theory 5).
namespace zeroloss {

namespace internal {
class KernelTiles;
}

/// Coefficients that are to be judged.
struct GivenCoefficients {
  const RowMatrix& X;     ///< n x d, unit rows
  const Vector& weights;  ///< W = diag(weights), n numbers > 0; empty = 1
  double ridge = 0;       ///< >= 0, as it is added to the kernel's diagonal
  const Matrix& Y;        ///< n x c
  const Matrix& C;        ///< n x c
  /// Proved lower bound of K's smallest eigenvalue; 0 = none. Decides where the ridge is 0.
  double lambda_min = 0;
  /// Z, n x c, near (K + ridge W^-1)^-1 times the residual of C, whoever found it: what f_hat is off, more or
  /// less, which makes the bound sharper. Null: nothing is known.
  const Matrix* correction = nullptr;
  /// Who has the kernel of X; null: this process.
  internal::KernelTiles* tiles = nullptr;
};

struct PredictorBound {
  /// c x c, symmetric, for all unit vectors x: |f_j - f_hat_j| at most (j, j); |(f_j - f_k) - (f_hat_j -
  /// f_hat_k)| at most (j, k). Infinite where nothing is proved. f and f_hat are those of the exactly
  /// normalised rows.
  Matrix error;
  Matrix residual;        ///< Y - (K + ridge W^-1) C as computed, n x c
  double relative = 0;    ///< the largest ||residual_j||/||Y_j||, over columns that are not 0
  double entries = 0;     ///< of `relative`, what errors of entries and rounding may be
  bool verified = false;  ///< proved; an estimate for a user's activation
};

/// One pass that forms K anew, n^2 (d/2 + 25 + c) multiply-adds, and c^2 n of residuals; n c 20 doubles.
/// Throws std::invalid_argument for sizes that do not agree, values that are not finite or numbers out of
/// range, ResourceError, Interrupted.
PredictorBound predictor_bound(const GivenCoefficients& given, const Kernel& kernel, Progress& progress);

/// f_hat at other points, and how far that may be from its exact value: both m x c.
struct BoundedValues {
  Matrix values, error;
};

/// For unit rows Z, m x d, and X, n x d, C n x c. m n (d + about 50 + c) multiply-adds; no m x n matrix is
/// formed. Errors as predictor_bound.
BoundedValues bounded_values(const RowMatrix& Z, const RowMatrix& X, const Kernel& kernel, const Matrix& C,
                             Progress& progress);

/// Which of m points have the class by the exact predictor that the computed values say, proved: one output,
/// whose sign decides (>= 0), or several, the largest of which does. `error`: PredictorBound::error.
std::vector<bool> decided_classes(const BoundedValues& values, const Matrix& error);

}  // namespace zeroloss
