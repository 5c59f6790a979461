#pragma once
#include "zeroloss/base/progress.hpp"
#include "zeroloss/kernel/predictor_bound.hpp"

/// Kernel ridge regression with the kernel at all points where no factor of it fits into memory:
/// preconditioned conjugate gradients (Frangella, Tropp & Udell, SIAM J. Matrix Anal. Appl. 44, 2023), then
/// what the answer may be off by, proved.
namespace zeroloss {

/// Where steps have the kernel from.
enum class KernelStorage {
  automatic,  ///< float64 up to 30,000 points, float32 up to 70,000, tiles beyond
  float64,    ///< 4 n^2 bytes
  float32,    ///< 2 n^2 bytes; its solution is refined with tiles
  tiles       ///< none of it is kept: formed anew in float64 for every step
};

struct ConjugateGradientsOptions {
  double ridge = 0;         ///< >= 0, as it is added to the kernel's diagonal
  double tolerance = 1e-8;  ///< of ||residual||/||y||, of each output; in [0, 1)
  Index most = 500;         ///< steps, >= 1
  Index rank = 0;           ///< points that the preconditioner takes, <= n; 0: n/4 up to 2,000
  KernelStorage storage = KernelStorage::automatic;
  double lambda_min = 0;  ///< proved lower bound of the kernel's smallest eigenvalue; 0 = none
  /// Who has the kernel of X; null: this process. The preconditioner is here in any case.
  internal::KernelTiles* tiles = nullptr;
};

struct ConjugateGradientsSolution {
  Matrix coefficients;   ///< n x c
  PredictorBound bound;  ///< of these; its residual is computed anew, not the steps'
  Index steps = 0;       ///< all in all
  Index passes = 0;      ///< over kernels that were formed anew to refine, the last one included
  KernelStorage storage = KernelStorage::float64;  ///< that was taken
};

/// (K + ridge W^-1)^-1 Y for points X, n x d, rows of unit length, and targets Y, n x c, W = diag(weights).
/// It ends where every relative residual is at most the tolerance, where that is below what errors of the
/// kernel's entries hide, where a refinement gains less than a factor of 2, or after `most` steps: what came
/// out is a number. Steps in float32 that gain nothing go on with tiles. Cost of a step: 2 n^2 c, with tiles
/// n^2 (d/2 + 25 + c) more; of a pass so much; before, n rank (rank + d). Memory: the kernel, 8 n rank bytes,
/// 45 n c doubles. No bit depends on the number of threads. `weights`: n numbers > 0; empty = 1. Throws
/// std::invalid_argument for sizes that do not agree, values that are not finite or numbers out of range,
/// ResourceError, Interrupted.
ConjugateGradientsSolution solve_conjugate_gradients(const RowMatrix& X, const Kernel& kernel,
                                                     const Vector& weights, const Matrix& Y,
                                                     const ConjugateGradientsOptions& options,
                                                     Progress& progress);

}  // namespace zeroloss
