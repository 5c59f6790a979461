#pragma once
#include <functional>

#include "zeroloss/kernel/gram.hpp"
#include "zeroloss/kernel/kernel_matrix.hpp"
#include "zeroloss/kernel/row_blocks.hpp"

/// Eigenvalues of Gram kernels, and proven lower bounds of the smallest one.
namespace zeroloss {

/// V -> A V for a symmetric positive semidefinite A on R^n and n x b blocks V.
using Operator = std::function<Matrix(const Matrix&)>;

/// What k block Lanczos steps know of A, seen from the columns of a start block: Ritz values, the largest
/// ones' vectors, and for every start column s the quadrature s^T f(A) s = sum_i weights(i, s) f(values(i)),
/// exact for polynomials of degree 2k - 1 (Golub and Meurant, Matrices, Moments and Quadrature, ch. 6).
struct BlockLanczos {
  Vector values;   ///< ascending
  Matrix weights;  ///< one row a value, one column a start vector; >= 0, columns sum to ||s||^2
  Matrix vectors;  ///< unit Ritz vectors of the largest values, at most as many as asked for, largest first
  double residual = 0;  ///< ||A vector - value vector|| / value of the first
  Index iterations = 0;
};

/// Block Lanczos with full reorthogonalisation: at least `least` >= 1 steps, then until the largest value has
/// settled: its change over the last eighth of the steps is at most `tolerance` of it, or its residual
/// squared (which over the relative gap bounds its error) at most 0.1 tolerance; or an invariant subspace is
/// reached, or `most` steps are done. Dependent start columns are fine. Scratch: n b k doubles.
BlockLanczos block_lanczos(const Operator& apply, const Matrix& start, Index least, Index most,
                           double tolerance, Index vectors = 8);

/// A seeded random n x min(n, 8) start block, for when only the extreme eigenvalue is wanted.
Matrix random_block(Index n);

struct EigenPair {
  double value = 0;
  Vector vector;        ///< unit length
  double residual = 0;  ///< relative, of the operator that Lanczos ran on
  Index iterations = 0;
};

/// Of a formed matrix.
EigenPair largest_eigenpair(KernelMatrix& K, Progress& progress);

/// The smallest eigenvalue of L L^T - shift I: Lanczos on the inverse. Accurate to about u lambda_max.
/// `start` may hold approximate eigenvectors, from which it takes fewer steps.
EigenPair smallest_eigenpair(KernelMatrix& L, double shift, Progress& progress);
EigenPair smallest_eigenpair(KernelMatrix& L, double shift, const Matrix& start, Progress& progress);

/// The operators A = K of a formed matrix and A = (L L^T)^-1 of a factored one, which report each product to
/// `progress`.
Operator multiply_by(KernelMatrix& K, Progress& progress);
Operator divide_by(KernelMatrix& L, Progress& progress);

/// What a completed floating-point Cholesky factorisation of the n x n matrix fl(K - s I) may be wrong by:
/// lambda_min(K) > s - loss. trace and largest are those of fl(K - s I)'s diagonal (theory 3).
double cholesky_loss(double n, double trace, double largest);

/// A statement about lambda_min of the exact kernel that holds in exact arithmetic.
struct VerifiedBound {
  bool holds = false;
  double lambda_min = 0;  ///< if holds: lambda_min >= this > 0, rounding and entry errors included
  /// What rounding costs: the Frobenius norm of the entry errors, and Cholesky's loss, as the theorem or as
  /// the residual says it.
  double loss = 0;
  int factorizations = 0;  ///< spent on the proof
};

/// Proves lambda_min(exact kernel) >= s - loss for s = lambda_hat - max(1e-7 lambda_hat, loss/10), doubling
/// the gap until Cholesky completes. Builds the kernel anew in `work` (and destroys it). Where lambda_hat
/// does not exceed the loss nothing is factored and holds is false. A kernel whose dual activation is only
/// estimated (a user's function) is never verified.
VerifiedBound verify_lambda_min(KernelMatrix& work, const Kernel& kernel, double lambda_hat, Proof proof,
                                Progress& progress);

/// The kernel's Cholesky factor, in `work`, in place of the kernel: of K + ridge I with the smallest ridge of
/// 0, 4 b, 64 b, .. (b the loss) for which it completes. `work` holds the kernel, formed without a shift.
/// Returns the ridge.
double factor_with_ridge(KernelMatrix& work, const Kernel& kernel, Progress& progress);

struct LambdaMin {
  EigenPair lowest;  ///< computed: lowest.value may be within +-loss of 0, even negative
  double ridge = 0;  ///< that was added to compute it; 0 unless K is numerically singular
  VerifiedBound verified;
};

/// lambda_min of one kernel, computed and proven. Two Cholesky factorisations, 8 n (n + 1)/2 bytes.
LambdaMin lambda_min(const RowMatrix& X, const Kernel& kernel, Progress& progress);

/// The same in memory that is there already. Where `work` offers float32 and lambda_min is not lost in its
/// rounding, the first factorisation is one of float32, which only says where the second, in double
/// precision, is to prove something (theory 3): the proof is the same.
LambdaMin lambda_min(KernelMatrix& work, const Kernel& kernel, Proof proof, Progress& progress);

/// All n eigenvalues, ascending, through LAPACK's dsyevd: 8 n^2 bytes, 4/3 n^3 multiply-adds, error of order
/// n u lambda_max.
Vector eigenvalues(const Packed<double>& K);

/// Eigenvalues and orthonormal eigenvectors (columns) of K; 16 n^2 bytes and more time.
struct Eigensystem {
  Vector values;
  Matrix vectors;
};
Eigensystem eigensystem(const Packed<double>& K);

/// A proven upper bound of the spectral norm of the exactly normalised rows, within about 1e-6 of it. Forms
/// the smaller of X^T X and X X^T.
double spectral_norm_bound(const RowMatrix& X);
/// The same; of several blocks from X^T X, a block at a time.
double spectral_norm_bound(const RowBlocks& X);

}  // namespace zeroloss
