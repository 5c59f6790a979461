#include "zeroloss/kernel/conjugate_gradients.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/as_double.hpp"
#include "base/even_choice.hpp"
#include "kernel/tile_pass.hpp"
#include "kernel/weights.hpp"
#include "linalg/lapack.hpp"
#include "linalg/parallel.hpp"
#include "linalg/rounding.hpp"
#include "linalg/tiled.hpp"
#include "zeroloss/base/memory.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr Index kMostFloat64 = 30'000, kMostFloat32 = 70'000;  // 3.6 GB, 9.8 GB
constexpr Index kMostRank = 2000;
// Relative residuals at which steps leave off for a residual that is computed anew: float32 has 24 bits.
constexpr double kLeastFloat64 = 1e-9, kLeastFloat32 = 1e-3;

constexpr double kSharp = 0.05;        // of the residual, that a correction for the bound leaves
constexpr Index kStepsToSharpen = 20;  // for it

void check_steps(const RowMatrix& X, const Vector& weights, const Matrix& Y,
                 const ConjugateGradientsOptions& o) {
  const auto require = [](bool met, const std::string& what) {
    if (!met) throw std::invalid_argument("solve_conjugate_gradients: " + what);
  };
  const Index n = X.rows();
  require(n >= 1 && X.cols() >= 1, "there are no points");
  require(Y.rows() == n && Y.cols() >= 1, fmt::format("{} points, {} targets", n, Y.rows()));
  check_weights("solve_conjugate_gradients", weights, n);
  require(X.allFinite() && Y.allFinite(), "a point or a target is not finite");
  require(o.ridge >= 0 && std::isfinite(o.ridge), fmt::format("ridge must be >= 0; got {}", o.ridge));
  require(o.tolerance >= 0 && o.tolerance < 1,
          fmt::format("tolerance must be in [0, 1); got {}", o.tolerance));
  require(o.most >= 1, fmt::format("most must be >= 1; got {}", o.most));
  require(o.rank >= 0 && o.rank <= n,
          fmt::format("rank must be from 0 to {}, the points; got {}", n, o.rank));
  require(o.lambda_min >= 0, fmt::format("lambda_min must be >= 0; got {}", o.lambda_min));
}

Index rank_of(const ConjugateGradientsOptions& o, Index n) {
  return o.rank > 0 ? o.rank : std::min(kMostRank, (n + 3) / 4);
}

KernelStorage storage_of(const ConjugateGradientsOptions& o, Index n) {
  if (o.storage != KernelStorage::automatic) return o.storage;
  if (n <= kMostFloat64) return KernelStorage::float64;
  return n <= kMostFloat32 ? KernelStorage::float32 : KernelStorage::tiles;
}

/// P = F F^T + T, F F^T Nystrom's approximation of K from a choice of the points and T diagonal: the
/// ridge of each point, and what the approximation leaves of K's diagonal in the mean. P^-1 by Woodbury, with
/// G = F^T T^-1/2: T^-1/2 (I - G^T (I + G G^T)^-1 G) T^-1/2.
class NystromPreconditioner {
 public:
  NystromPreconditioner(const RowMatrix& X, const Kernel& kernel, const Vector& ridges, Index rank,
                        Progress& progress)
      : n_(X.rows()), rank_(rank) {
    const std::vector<Index> some = drawn_choice(n_, rank);
    const RowMatrix Z = X(some, Eigen::all);
    Progress silent = progress.silent();
    G_ = cross_gram(X, Z, kernel, silent);
    const RowMatrix square = G_(some, Eigen::all);
    Matrix L;
    double jitter = 4 * as_double(rank) * u * kernel(1);
    const auto definite = [&] {
      L = square;
      L.diagonal().array() += jitter;
      return tiled::factor(L, silent);
    };
    for (; !definite(); jitter *= 16)
      if (!(jitter > 0 && jitter <= as_double(rank) * kernel(1)))
        throw std::invalid_argument("conjugate gradients: the kernel of these points is zero or not finite");
    // Rows of G_ are columns of a rank x n matrix: F^T = L^-1 K_mn.
    parallel::trsm('L', 'L', 'N', rank, n_, L.data(), rank, G_.data(), rank);
    const double left = std::max(0.0, kernel(1) - G_.squaredNorm() / as_double(n_));
    const double least = 8 * as_double(n_) * u * kernel(1);  // of a kernel that has this rank
    root_ = (ridges.array() + (left + least)).sqrt();
    for (Index i = 0; i < n_; ++i) G_.row(i) /= root_(i);
    inner_.resize(rank, rank);
    parallel::syrk('L', 'N', rank, n_, 1.0, G_.data(), rank, 0.0, inner_.data(), rank);
    inner_.diagonal().array() += 1;
    if (!tiled::factor(inner_, silent))
      throw std::logic_error("a preconditioner that is not positive definite");
  }

  Matrix solve(const Matrix& R) const {
    const Index c = R.cols();
    Matrix V = R.array().colwise() / root_.array(), inner(rank_, c);
    parallel::gemm('N', 'N', rank_, c, n_, 1.0, G_.data(), rank_, V.data(), n_, 0.0, inner.data(), rank_);
    tiled::solve(inner_, inner);
    parallel::gemm('T', 'N', n_, c, rank_, -1.0, G_.data(), rank_, inner.data(), rank_, 1.0, V.data(), n_);
    return V.array().colwise() / root_.array();
  }

 private:
  Index n_, rank_;
  RowMatrix G_;  // n x rank
  Vector root_;  // of T
  Matrix inner_;
};

Vector inner_products(const Matrix& A, const Matrix& B) {
  return A.cwiseProduct(B).colwise().sum().transpose();
}

/// a/b, 0 where b = 0: a column that is solved already.
Vector quotient(const Vector& a, const Vector& b) { return (b.array() > 0).select(a.array() / b.array(), 0); }

Vector lengths(const Matrix& A) { return A.colwise().norm().transpose(); }

/// The largest ||A_j||/sizes_j of columns whose size is not 0.
double largest_ratio(const Matrix& A, const Vector& sizes) {
  const Vector ratio = quotient(lengths(A), sizes);
  return ratio.size() > 0 ? ratio.maxCoeff() : 0;
}

struct Equations {
  KernelTiles& tiles;
  const NystromPreconditioner& P;
  const Vector& ridges;  // of each point
  const Vector& sizes;   // ||Y_j||
};

/// D with (K + diag(ridges)) D ~ R, one conjugate gradient for each column side by side, until residuals are
/// `tolerance` of the targets, in at most `most` steps; counts these.
Matrix correction(const Equations& e, Matrix R, double tolerance, Index most, Index& steps,
                  Progress& progress) {
  Matrix D = Matrix::Zero(R.rows(), R.cols()), Z = e.P.solve(R), S = Z;
  Vector before = inner_products(R, Z);
  for (Index done = 0; done < most && largest_ratio(R, e.sizes) > tolerance; ++done) {
    const Matrix image = e.tiles.product(S, progress) + e.ridges.asDiagonal() * S;
    const Vector curvature = inner_products(S, image);
    // A kernel in float32 may have eigenvalues below minus the ridge: there is nothing to gain along these.
    if ((before.array() > 0 && curvature.array() <= 0).any()) break;
    const Vector step = quotient(before, curvature);
    D += S * step.asDiagonal();
    R -= image * step.asDiagonal();
    Z = e.P.solve(R);
    const Vector now = inner_products(R, Z);
    S = Z + S * quotient(now, before).asDiagonal();
    before = now;
    ++steps;
    progress.note(fmt::format("step {}, residual {:.2g}", steps, largest_ratio(R, e.sizes)));
    progress.advance(1);
    if (!before.allFinite()) break;
  }
  return D;
}

}  // namespace

ConjugateGradientsSolution solve_conjugate_gradients(const RowMatrix& X, const Kernel& kernel,
                                                     const Vector& weights, const Matrix& Y,
                                                     const ConjugateGradientsOptions& options,
                                                     Progress& progress) {
  check_steps(X, weights, Y, options);
  const Index n = X.rows(), c = Y.cols(), rank = rank_of(options, n);
  ConjugateGradientsSolution solution;
  solution.storage = storage_of(options, n);
  const std::unique_ptr<KernelTiles> here = options.tiles == nullptr ? kernel_tiles(X, kernel) : nullptr;
  KernelTiles& tiles = here ? *here : *options.tiles;
  require_memory(tiles.bytes(solution.storage) + 8 * as_double(n) * as_double(rank) +
                     8 * as_double(rank) * (3 * as_double(rank) + as_double(X.cols())) +
                     8 * 6.0 * as_double(n) * as_double(c) + tile_pass_bytes(n, 2 * c),
                 fmt::format("conjugate gradients on {} points", n), "use fewer points");

  // A power of two scales the targets, so that squares neither overflow nor vanish.
  const double largest = Y.cwiseAbs().maxCoeff();
  const int exponent = largest > 0 ? std::ilogb(largest) : 0;
  const Matrix scaled = Y.unaryExpr([&](double y) { return std::ldexp(y, -exponent); });
  const Vector sizes = lengths(scaled);
  const Vector ridges = weights.size() > 0 ? Vector(options.ridge / weights.array())
                                           : Vector(Vector::Constant(n, options.ridge));
  Matrix& C = solution.coefficients;
  C.setZero(n, c);

  progress.stage("preconditioner");
  const NystromPreconditioner P(X, kernel, ridges, rank, progress);
  tiles.keep(solution.storage, progress);
  bool coarse = solution.storage == KernelStorage::float32;
  Matrix residual = scaled;
  double now = sizes.maxCoeff() > 0 ? 1 : 0;
  for (;;) {
    progress.stage("conjugate gradients");
    const double least = now * (coarse ? kLeastFloat32 : kLeastFloat64);
    const Matrix before = C;
    C += correction({tiles, P, ridges, sizes}, residual, std::max(options.tolerance / 2, least),
                    options.most - solution.steps, solution.steps, progress);
    if (!C.allFinite()) C = before;
    PredictorBound bound = predictor_bound(
        {X, weights, options.ridge, scaled, C, options.lambda_min, nullptr, &tiles}, kernel, progress);
    ++solution.passes;
    const double found = bound.relative, hidden = bound.entries;
    const bool better = found <= now, gained = found <= now / 2;
    if (better) {
      solution.bound = std::move(bound);
      residual = solution.bound.residual;
      now = found;
    } else {
      C = before;
    }
    if (now <= options.tolerance || solution.steps >= options.most) break;
    if (better && now <= hidden / 8) break;  // what is left is hidden by errors of the entries
    if (gained) continue;
    if (!coarse) break;
    coarse = false;
    solution.storage = KernelStorage::tiles;
    tiles.keep(KernelStorage::tiles, progress);
  }
  if (now > 0) {
    // What is left is off by this, more or less: some steps more, which are not taken, sharpen the bound.
    progress.stage("conjugate gradients");
    Index more = 0;
    const double least = now * kSharp;
    const Matrix Z = correction({tiles, P, ridges, sizes}, residual, least, kStepsToSharpen, more, progress);
    solution.bound = predictor_bound(
        {X, weights, options.ridge, scaled, C, options.lambda_min, Z.allFinite() ? &Z : nullptr, &tiles},
        kernel, progress);
    ++solution.passes;
  }

  const auto back = [&](double a) { return std::ldexp(a, exponent); };
  C = C.unaryExpr(back).eval();
  if (!C.allFinite())
    throw std::invalid_argument(
        "solve_conjugate_gradients: coefficients are beyond the range of numbers: scale the targets");
  // Bounds are rounded up where they underflow.
  solution.bound.error =
      solution.bound.error.unaryExpr([&](double e) { return e > 0 ? back(e) * (1 + 4 * u) + kTiny : e; })
          .eval();
  solution.bound.residual = solution.bound.residual.unaryExpr(back).eval();
  progress.finish();
  return solution;
}

}  // namespace zeroloss
