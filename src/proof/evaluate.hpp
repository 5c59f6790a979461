#pragma once
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "linalg/rounding.hpp"
#include "zeroloss/base/progress.hpp"
#include "zeroloss/kernel/activation.hpp"
#include "zeroloss/network/network.hpp"
#include "zeroloss/network/tangent_steps.hpp"
#include "zeroloss/proof/certificate.hpp"

/// One two-layer network on given points, evaluated with bounds of what rounding may have changed. Bits do
/// not depend on threads.
namespace zeroloss::internal {

/// K (lower) = (S S^T) o G, the Gram matrix J J^T of the Jacobian: S = D diag(v) is n x m (signs of v do not
/// matter), G = X X^T (lower) n x n. K may not be G. Cost n^2 m/2 multiply-adds.
void tangent_gram(const Matrix& S, const Matrix& G, Matrix& K);

/// G (lower) = X X^T. Cost n^2 d/2 multiply-adds, scratch n d doubles.
void point_gram(const RowMatrix& X, Matrix& G);

}  // namespace zeroloss::internal

/// Every bound holds in exact arithmetic for the stored doubles. Needs IEEE rules: never -ffast-math.
namespace zeroloss::internal::verified {

static_assert(std::numeric_limits<long double>::digits >= 64, "proofs sum in long double");
constexpr double kLongUnit = 0x1p-64;
constexpr double kRound = 4 * u;  ///< covers the few roundings of one formula

constexpr Index kTerms = Index{1} << 22;  ///< terms of a sum that kUp covers; sizes beyond are refused

/// The library's own with a leak, whose phi' is exact; so is relu's phi.
bool is_piecewise_linear(const Activation& activation);
bool is_relu(const Activation& activation);

/// Roundings that are off by as much as a relative error of a factor is.
inline double roundings(double error) { return std::ceil(1.01 * error / u); }

/// The length of each row, rounded up (to within 2^-30).
Vector row_lengths(const RowMatrix& A);

/// The length of a vector, rounded up; without overflow or underflow on the way.
double length(const Vector& a);

/// Sum of a_k b_k with 64-bit mantissas; four sums side by side, since one alone waits for each addition.
long double long_dot(const double* a, const double* b, Index count);

/// Z = X W^T as computed: |Z_ij - <x_i, w_j>| <= error(i, j) for the points x_i within row_error of the rows
/// of X.
struct PreActivations {
  Matrix Z;       ///< n x m
  Vector row;     ///< ||x_i||, rounded up
  Vector column;  ///< gamma ||w_j||, rounded up
  double tiny = 0;
  double error(Index i, Index j) const { return row(i) * column(j) * kUp + tiny; }
  /// A lower bound of |<x_i, w_j>|; 0 if its sign is not certain.
  double least(Index i, Index j) const {
    const double size = std::abs(Z(i, j)), wrong = error(i, j);
    return size > wrong ? (size - wrong) * kDown : 0;
  }
};

/// Summed over panels of 64 features, whose products are added up in order: gamma = gamma_(min(d, 64) +
/// ceil(d/64)) in place of gamma_d. Cost n m d multiply-adds.
PreActivations pre_activations(const RowMatrix& X, const RowMatrix& W, double row_error = 0);

/// Outputs and Jacobian at W. The exact Jacobian J has blocks v_j phi'(z_ij) x_i; the one of the stored S has
/// S_ij x_i, exactly.
struct Evaluation {
  PreActivations z;
  Matrix S;                   ///< phi'(Z) diag(v), n x m
  double misfit = 0;          ///< ||C^1/2 (f - y)||, rounded up
  Vector residual;            ///< C^1/2 (f - y) as computed
  double residual_error = 0;  ///< what it is off by in length, rounded up
  /// ||C^1/2 (J - J of S)||_F, rounded up. phi with a leak: for the signs of the stored Z, what rounds leak
  /// v_j (0 for relu); uncertain signs are for the caller to count as sign changes.
  double jacobian_error = 0;
};

/// Why rounding is not bounded here: sizes above kTerms, or rows known too roughly. Empty if it is.
std::string unbounded(const Equations& equations, Index m);

/// Takes phi and phi' to be as accurate as activation() promises. The sum over neurons is taken in long
/// double: the bound of the misfit is that of Z and phi.
Evaluation evaluate(const TwoLayer& network, const Activation& activation, const Equations& equations);

/// What rounding may have changed in the lower triangle of a computed A A^T, in spectral norm: an entry is
/// off by at most gamma_terms ||a_i|| ||a_j|| + lost, a matrix of norm gamma_terms trace(A A^T) + side lost.
double gram_error(const Matrix& computed, double terms, double lost);
/// The same of one that is stored otherwise, from its diagonal.
double gram_error(const Vector& diagonal, double terms, double lost);

/// The same for a Jacobian's Gram matrix (S S^T) o G, m + d + 1 roundings an entry; rows of X are at most
/// `longest` and within row_error of the points, entries of S at most `steepest`. It also covers further rows
/// "x_i on neuron j".
double jacobian_gram_error(const Vector& diagonal, Index m, Index d, double longest, double steepest,
                           double row_error);

struct EigenvalueBound {
  double computed = 0;  ///< by Lanczos; 0 if K is not numerically positive definite or far out of scale
  double bound = 0;     ///< proven for every symmetric matrix within `error` of K (spectral norm)
  double loss = 0;      ///< what the proof gives away to rounding: Cholesky's loss and `error`
};

/// lambda_min >= bound; 0 if nothing positive is proved. K is given by its lower triangle; `work` is scratch,
/// or, where `factored`, K's factor by tiled::factor. Two Cholesky factorisations less the one that is given,
/// a few more where rounding dominates.
EigenvalueBound lowest_eigenvalue(const Matrix& K, double error, Matrix& work, Progress& progress,
                                  bool factored = false);
/// The same; where K has a computed factor at all, c becomes K^-1 c on the way.
EigenvalueBound lowest_eigenvalue(TangentMatrix& K, double error, Vector& c, Progress& progress);

/// A symmetric K, n x n with this trace, by the factors of K - s I, whoever stores them.
struct ByFactors {
  Index n = 0;
  double trace = 0;
  std::function<bool(double s)> factor;          ///< Cholesky, of fl(K - s I); false: a pivot is not positive
  std::function<Matrix(const Matrix& V)> solve;  ///< by the last one
  /// What the last one is wrong by, ||K - s I - L L^T||; empty, or none: what Cholesky's may be.
  std::function<std::optional<double>()> residual = {};
};
EigenvalueBound lowest_eigenvalue(const ByFactors& K, double error);

/// lambda_max <= bound; infinite if K is far out of scale. One Cholesky factorisation, rarely two.
EigenvalueBound highest_eigenvalue(const Matrix& K, double error, Matrix& work, Progress& progress);
EigenvalueBound highest_eigenvalue(TangentMatrix& K, double error, Progress& progress);

/// ||A|| and more: by highest_eigenvalue of A A^T or A^T A, whichever is smaller; the Frobenius norm where
/// that is smaller or the eigenvalue is not proved.
double spectral_norm(const RowMatrix& A, Progress& progress);

}  // namespace zeroloss::internal::verified
