#include "zeroloss/kernel/spectrum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernel/lowest.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/lapack.hpp"
#include "linalg/rounding.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/random.hpp"

// Proven bounds are computed here: compiled with IEEE rules, never with -ffast-math. Sums of positive terms
// carry a factor 1 + 2^-30 in place of directed rounding: that covers k terms while k u < 2^-31.
namespace zeroloss {
using namespace internal;
namespace {

constexpr Index kBlockColumns = 8;

// Ascending eigenvalues of the symmetric matrix in A's lower triangle; job 'V' leaves the eigenvectors in A.
Vector decompose(Matrix& A, char job) {
  const int n = lapack::size(A.rows()), query = -1;
  if (job == 'V' && n > 30'000)
    throw std::invalid_argument("eigensystem: LAPACK's dsyevd takes at most 30,000 rows");
  Vector values(A.rows());
  double size = 0;
  int int_size = 0, info = 0;
  dsyevd_(&job, "L", &n, A.data(), &n, values.data(), &size, &query, &int_size, &query, &info);
  std::vector<double> scratch(static_cast<std::size_t>(size));
  std::vector<int> int_scratch(static_cast<std::size_t>(int_size));
  const int scratch_size = static_cast<int>(scratch.size()),
            int_scratch_size = static_cast<int>(int_scratch.size());
  dsyevd_(&job, "L", &n, A.data(), &n, values.data(), scratch.data(), &scratch_size, int_scratch.data(),
          &int_scratch_size, &info);
  if (info != 0) throw std::runtime_error("LAPACK dsyevd failed with info " + fmt::to_string(info));
  return values;
}

// Columns found so far, block by block: appending never copies what is there.
class Basis {
 public:
  Index columns() const { return columns_; }
  void append(Matrix block) {
    columns_ += block.cols();
    blocks_.push_back(std::move(block));
  }
  Matrix transposed_times(const Matrix& V) const {
    Matrix R(columns_, V.cols());
    Index row = 0;
    for (const auto& block : blocks_) {
      R.middleRows(row, block.cols()) = block.transpose() * V;
      row += block.cols();
    }
    return R;
  }
  void subtract_from(Matrix& V, const Matrix& coefficients) const {
    Index row = 0;
    for (const auto& block : blocks_) {
      V -= block * coefficients.middleRows(row, block.cols());
      row += block.cols();
    }
  }

 private:
  std::vector<Matrix> blocks_;
  Index columns_ = 0;
};

struct Orthonormal {
  Matrix Q, R;  // block = Q R + a part inside the basis + rounding
};

// Orthonormal columns for the part of `block` outside the basis, from the eigenvectors of its scaled Gram
// matrix (Stathopoulos and Wu, SIAM J. Sci. Comput. 23, 2002): products of tall matrices only. Two rounds,
// since the first loses digits where little is outside. Columns shorter than `floor` and directions within
// 1e-6 of dependence are dropped.
Orthonormal orthonormalize(Matrix Q, const Basis& basis, double floor) {
  Matrix R = Matrix::Identity(Q.cols(), Q.cols());
  for (const double least : {1e-12, 0.25}) {
    basis.subtract_from(Q, basis.transposed_times(Q));
    Vector scale = Q.colwise().norm().transpose();
    for (double& s : scale) s = s > floor ? 1 / s : 0;
    const Matrix scaled = Q * scale.asDiagonal();
    const auto [values, vectors] = symmetric_eigen(scaled.transpose() * scaled);
    const Index rank = (values.array() > least).count();
    if (rank == 0) return {Matrix(Q.rows(), 0), Matrix(0, R.cols())};
    const Matrix directions =
        vectors.rightCols(rank) * values.tail(rank).cwiseSqrt().cwiseInverse().asDiagonal();
    const Matrix lengths = scale.unaryExpr([](double s) { return s > 0 ? 1 / s : 0; });
    R = (values.tail(rank).cwiseSqrt().asDiagonal() * vectors.rightCols(rank).transpose() *
         lengths.col(0).asDiagonal() * R)
            .eval();
    Q = scaled * directions;
    floor = 0;
  }
  return {std::move(Q), std::move(R)};
}

}  // namespace

BlockLanczos block_lanczos(const Operator& apply, const Matrix& start, Index least, Index most,
                           double tolerance, Index vectors) {
  constexpr double kRounding = 1e-14;  // of the operator's norm: what is smaller is no direction
  Basis basis;
  // Start columns are scaled to length 1: a long one must not pass the short ones off as rounding.
  const Vector length = start.colwise().norm().transpose();
  const Vector scale = length.unaryExpr([](double s) { return s > 0 ? 1 / s : 0; });
  auto [Q, first] = orthonormalize(start * scale.asDiagonal(), basis, kRounding);
  if (Q.cols() == 0) throw std::invalid_argument("block_lanczos: the start block is zero");
  Matrix T(0, 0), ritz;
  BlockLanczos result;
  Index next_look = least;
  double top = 0;
  while (Q.cols() > 0) {
    const Index old = basis.columns(), width = Q.cols();
    Matrix block = apply(Q);
    basis.append(std::move(Q));
    T.conservativeResize(old + width, old + width);
    T.rightCols(width) = basis.transposed_times(block);
    T.bottomLeftCorner(width, old) = T.topRightCorner(old, width).transpose();
    basis.subtract_from(block, T.rightCols(width));
    ++result.iterations;

    // Eigenvalues of T cost its side cubed, so they are looked at every eighth part of the way only.
    Q = orthonormalize(block, basis, kRounding * T.diagonal().maxCoeff()).Q;
    if (result.iterations < std::min(next_look, most) && Q.cols() > 0) continue;
    next_look = result.iterations + 1 + result.iterations / 8;
    ritz = T;
    result.values = decompose(ritz, 'V');
    const double before = std::exchange(top, result.values.tail(1).value());
    result.residual = (block * ritz.bottomRightCorner(width, 1)).norm() / std::abs(top);
    const bool settled =
        std::abs(top - before) <= tolerance * top || result.residual * result.residual <= 0.1 * tolerance;
    if (settled || result.iterations >= most) break;
  }
  result.weights = (ritz.topRows(first.rows()).transpose() * first * length.asDiagonal()).cwiseAbs2();
  result.vectors = Matrix::Zero(start.rows(), std::min(vectors, T.cols()));
  basis.subtract_from(result.vectors, -ritz.rightCols(result.vectors.cols()).rowwise().reverse());
  result.vectors.colwise().normalize();
  return result;
}

Matrix random_block(Index n) {
  Matrix block(n, std::min(n, kBlockColumns));
  Random(0, Stream::start).fill_normal(block);
  return block;
}

Operator multiply_by(KernelMatrix& K, Progress& progress) {
  return [&](const Matrix& V) {
    progress.advance(1);
    return K.product(V);
  };
}

Operator divide_by(KernelMatrix& L, Progress& progress) {
  return [&](const Matrix& V) {
    progress.advance(1);
    return L.solve(V);
  };
}

namespace {

EigenPair extreme(const Operator& apply, const Matrix& start) {
  constexpr double kTolerance = 1e-11;
  constexpr Index kSteps = 200;
  const auto lanczos = block_lanczos(apply, start, 1, kSteps, kTolerance);
  return {lanczos.values.tail(1).value(), lanczos.vectors.col(0), lanczos.residual, lanczos.iterations};
}

}  // namespace

EigenPair largest_eigenpair(KernelMatrix& K, Progress& progress) {
  progress.stage("largest eigenvalue");
  auto pair = extreme(multiply_by(K, progress), random_block(K.n()));
  progress.finish();
  return pair;
}

EigenPair smallest_eigenpair(KernelMatrix& L, double shift, Progress& progress) {
  return smallest_eigenpair(L, shift, random_block(L.n()), progress);
}

EigenPair smallest_eigenpair(KernelMatrix& L, double shift, const Matrix& start, Progress& progress) {
  progress.stage("smallest eigenvalue");
  auto pair = extreme(divide_by(L, progress), start);
  progress.finish();
  pair.value = 1 / pair.value - shift;
  return pair;
}

double cholesky_loss(double n, double trace, double largest) {
  const double k = n + 3;  // the theory needs n + 1; two spare roundings an entry
  const double rounding = gamma_of(k) / (1 - gamma_of(k)) * trace + u * largest;
  const double underflow = 4 * n * (2 * (n + 3) + largest) * 0x1p-1022;
  return (rounding + underflow) * kUp;
}

namespace {

// Whether K - s I, which `work` holds, has a factor; if so, what that proves is in `bound`.
bool prove(KernelMatrix& work, const Kernel& kernel, double s, Proof proof, VerifiedBound& bound,
           Progress& progress) {
  const auto n = static_cast<double>(work.n());
  progress.stage("proof by Cholesky factorisation", n * n * n / 6);
  const bool completed = work.factor(progress);
  progress.finish();
  ++bound.factorizations;
  if (!completed) return false;
  if (proof == Proof::residual) {
    progress.stage("residual of the factorisation", n * n * n / 6);
    const double residual = work.residual(kernel, -s, progress);
    progress.finish();
    bound.loss = (residual + u * std::abs(std::abs(kernel(1)) - s) + kTiny + work.seen().entry_error) * kUp;
  }
  const double proven = (s - bound.loss) * (1 - 4 * u);
  bound.holds = proven > 0;
  if (bound.holds) bound.lambda_min = proven;
  return true;
}

// What a completed factorisation of the formed kernel less s may be wrong by.
double loss_of(const KernelMatrix& work, const Kernel& kernel) {
  const auto n = static_cast<double>(work.n());
  const double diagonal = std::abs(kernel(1));  // every K_ii
  return (cholesky_loss(n, n * diagonal * kUp, diagonal) + work.seen().entry_error) * kUp;
}

}  // namespace

VerifiedBound verify_lambda_min(KernelMatrix& work, const Kernel& kernel, double lambda_hat, Proof proof,
                                Progress& progress) {
  VerifiedBound bound;
  // Of the residual this is what it comes to, more or less, and says where to begin.
  bound.loss = loss_of(work, kernel);
  if (!kernel.verified()) return bound;
  for (double gap = std::max(1e-7 * lambda_hat, bound.loss / 10);; gap *= 2) {
    const double s = lambda_hat - gap;
    if (!((s - bound.loss) * (1 - 4 * u) > 0)) return bound;
    work.form(kernel, -s, progress);
    if (prove(work, kernel, s, proof, bound, progress)) return bound;
  }
}

double factor_with_ridge(KernelMatrix& work, const Kernel& kernel, Progress& progress) {
  const auto n = static_cast<double>(work.n());
  const double diagonal = std::abs(kernel(1));
  const double loss = cholesky_loss(n, n * diagonal, diagonal);
  for (double ridge = 0;; ridge = ridge == 0 ? 4 * loss : 16 * ridge) {
    if (ridge > 0) work.form(kernel, ridge, progress);
    progress.stage("Cholesky factorisation", n * n * n / 6);
    const bool completed = work.factor(progress);
    progress.finish();
    if (completed) return ridge;
    if (ridge > n * diagonal)
      throw std::runtime_error("the kernel " + kernel.name + " is not positive semidefinite");
  }
}

namespace {

constexpr double kSeenInSingle = 5e-7;  // of n k(1): float32's rounding would hide a lambda_min below
constexpr double kQuarter = 4;          // so much more of every fourth point: the rest only takes from it
constexpr double kRoughest = 3e-7;      // of lambda_min: the correction of a Ritz value at most
constexpr double kUnseen = 3;           // the shift stays so many corrections below the Ritz value
constexpr Index kSpaceSteps = 12, kCorrectionSteps = 16;
constexpr Index kAtOnce = 16;  // columns that are multiplied: a product takes sixteen times their memory

}  // namespace

double internal::least_seen_in_single(Index n, const Kernel& kernel) {
  return kSeenInSingle * static_cast<double>(n) * std::abs(kernel(1));
}

bool internal::seen_in_single(SinglePrecision* single, Index n, const Kernel& kernel, Progress& progress) {
  return single != nullptr && kernel.verified() &&
         single->quarter_above(kernel, kQuarter * least_seen_in_single(n, kernel), progress);
}

Matrix internal::lowest_space(SinglePrecision& single, Index n, Progress& progress) {
  progress.stage("smallest eigenvalues in float32");
  const Operator divide = [&](const Matrix& V) {
    progress.advance(1);
    return single.solve_single(V);
  };
  Matrix space =
      block_lanczos(divide, random_block(n), kSpaceSteps, 4 * kSpaceSteps, 1e-7, kSpaceSteps * kBlockColumns)
          .vectors;
  progress.finish();
  return space;
}

std::optional<LambdaMin> internal::lambda_min_in(const Matrix& space, SinglePrecision& single,
                                                 KernelMatrix& work, const Kernel& kernel, Proof proof,
                                                 Progress& progress) {
  progress.stage("smallest eigenvalue of a subspace");
  Matrix image(space.rows(), space.cols());
  for (Index j = 0; j < space.cols(); j += kAtOnce) {
    const Index count = std::min(kAtOnce, space.cols() - j);
    image.middleCols(j, count) = work.product(space.middleCols(j, count));
  }
  const auto [values, coordinates] = symmetric_eigen(space.transpose() * image);
  const double ritz = values(0);
  // lambda_min is below it by r^T (K - ritz)^-1 r, to second order, r the residual: a quadrature over the
  // complement of the space, from which r sticks out by rounding alone. Gauss's rule is too small there, as
  // every even derivative of 1/x is positive, so several of it are taken off.
  const auto beside = [&](Matrix V) -> Matrix { return V - space * (space.transpose() * V); };
  const Matrix residual = beside((image - ritz * space) * coordinates.col(0));
  double correction = 0;
  if (residual.norm() > 0) {
    const auto apply = [&](const Matrix& V) {
      progress.advance(1);
      return beside(work.product(V) - ritz * V);
    };
    const auto rule = block_lanczos(apply, residual, kCorrectionSteps, kCorrectionSteps, 0);
    if (!(rule.values(0) > 0)) return {};
    correction = (rule.weights.col(0).array() / rule.values.array()).sum();
  }
  progress.finish();
  if (!(correction < kRoughest * ritz)) return {};

  LambdaMin result;
  VerifiedBound& bound = result.verified;
  bound.loss = loss_of(work, kernel);
  const double s = ritz - std::max({1e-7 * ritz, bound.loss / 10, kUnseen * correction});
  if (!((s - bound.loss) * (1 - 4 * u) > 0)) return {};
  single.shift(-s);
  if (!prove(work, kernel, s, proof, bound, progress)) return result;
  result.lowest = smallest_eigenpair(
      work, -s, space * coordinates.leftCols(std::min(kBlockColumns, values.size())), progress);
  return result;
}

LambdaMin lambda_min(KernelMatrix& work, const Kernel& kernel, Proof proof, Progress& progress) {
  const SerialBlas serial;  // products of few columns, whose bits then depend on nothing but the points
  SinglePrecision* const single = work.single();
  Matrix space(work.n(), 0);
  if (seen_in_single(single, work.n(), kernel, progress) &&
      single->factor_single(kernel, least_seen_in_single(work.n(), kernel), progress))
    space = lowest_space(*single, work.n(), progress);
  work.form(kernel, 0, progress);
  if (space.cols() > 0)
    if (auto found = lambda_min_in(space, *single, work, kernel, proof, progress)) {
      if (found->verified.holds) return std::move(*found);
      work.form(kernel, 0, progress);
    }
  LambdaMin result;
  result.ridge = factor_with_ridge(work, kernel, progress);
  result.lowest = smallest_eigenpair(work, result.ridge, progress);
  result.verified = verify_lambda_min(work, kernel, result.lowest.value, proof, progress);
  return result;
}

LambdaMin lambda_min(const RowMatrix& X, const Kernel& kernel, Progress& progress) {
  PackedMatrix work(X);
  return lambda_min(work, kernel, Proof::theorem, progress);
}

namespace {

// The lower triangle of K as a full column-major matrix; the upper one is not set.
Matrix unpacked(const Packed<double>& K) {
  const auto n = static_cast<double>(K.n());
  require_memory(8 * n * n, "the full spectrum", "leave it out, or use fewer points");
  Matrix full(K.n(), K.n());
  for (Index j = 0; j < K.n(); ++j)
    for (Index i = j; i < K.n(); ++i) full(i, j) = K(i, j);
  return full;
}

}  // namespace

Vector eigenvalues(const Packed<double>& K) {
  Matrix A = unpacked(K);
  return decompose(A, 'N');
}

Eigensystem eigensystem(const Packed<double>& K) {
  Eigensystem system{{}, unpacked(K)};
  system.values = decompose(system.vectors, 'V');
  return system;
}

namespace {

// ||X||_F^2, from n sums of d terms.
double squares_of(const RowMatrix& X) {
  if (!X.allFinite()) throw std::invalid_argument("spectral_norm_bound: X has values that are not finite");
  return X.rowwise().squaredNorm().sum() * kUp;
}

// The root of lambda_max(C), C being X^T X or X X^T from sums of so many terms, in its lower triangle;
// `squares`
// >= ||X||_F^2. lambda_max(exact) <= s + Cholesky's loss on s I - C + the error of C + that of the rows.
double norm_bound(const Matrix& C, double terms, double squares, Index d) {
  if (!(squares < 1e300 && squares > 1e-290))
    throw std::invalid_argument("spectral_norm_bound: rows should have length 1");
  const Index side = C.rows();
  const auto top = extreme(
      [&](const Matrix& V) {
        Matrix W(side, V.cols());
        lapack::symm('L', side, V.cols(), C.data(), side, V.data(), side, 0.0, W.data(), side);
        return W;
      },
      random_block(side));
  const Vector diagonal = C.diagonal();
  for (double gap = 1e-7;; gap *= 4) {
    const double s = top.value * (1 + gap) + 2 * u * squares;
    Matrix A = -C;
    A.diagonal() = (s - diagonal.array()).matrix();
    if (lapack::potrf('L', side, A.data(), side) != 0 || !A.diagonal().allFinite()) continue;
    const auto sides = static_cast<double>(side);
    const double loss = cholesky_loss(sides, sides * s, s);
    const double product_error = gamma_of(terms) * squares + terms * sides * 0x1p-1022;
    return (std::sqrt(s + loss + product_error) + unit_row_error(d) * std::sqrt(squares)) * kUp;
  }
}

Matrix square(Index side) {
  require_memory(16.0 * static_cast<double>(side) * static_cast<double>(side), "the spectral norm of X",
                 "use fewer points");
  return Matrix::Zero(side, side);
}

void check_sizes(Index n, Index d) {
  if (n + d > (Index{1} << 22))
    throw std::invalid_argument("spectral_norm_bound: more than 2^22 rows and columns");
}

}  // namespace

double spectral_norm_bound(const RowMatrix& X) {
  const Index n = X.rows(), d = X.cols();
  check_sizes(n, d);
  const double squares = squares_of(X);
  if (squares == 0 && X.isZero(0)) return 0;
  const Index side = std::min(n, d), inner = std::max(n, d);
  Matrix C = square(side);  // X is row-major, so it is X^T to BLAS
  lapack::syrk('L', d <= n ? 'N' : 'T', side, inner, 1.0, X.data(), d, 0.0, C.data(), side);
  return norm_bound(C, static_cast<double>(inner), squares, d);
}

double spectral_norm_bound(const RowBlocks& X) {
  if (X.count() == 1) return spectral_norm_bound(X.load(0).X());
  check_sizes(X.n(), X.d());
  Matrix C = square(X.d());
  double squares = 0;
  for (Index k = 0; k < X.count(); ++k) {
    const RowBlocks::Block block = X.load(k);
    squares = (squares + squares_of(block.X())) * kUp;
    lapack::syrk('L', 'N', X.d(), block.X().rows(), 1.0, block.X().data(), X.d(), 1.0, C.data(), X.d());
  }
  return norm_bound(C, static_cast<double>(X.n() + X.count()), squares, X.d());
}

}  // namespace zeroloss
