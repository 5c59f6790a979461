#include "zeroloss/kernel/ridge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "base/parallel_for.hpp"
#include "kernel/weights.hpp"
#include "linalg/lapack.hpp"
#include "linalg/parallel.hpp"
#include "linalg/rounding.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/memory.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr Index kPanel = 64;   // columns reduced at a time
constexpr Index kShare = 256;  // columns that a thread takes

/// The lower triangle of W^1/2 K W^1/2.
Matrix weighted(const Packed<double>& K, const Vector& root) {
  const Index n = K.n();
  require_memory(8 * static_cast<double>(n) * static_cast<double>(n), "the ridge path",
                 "use fewer points, or one ridge");
  Matrix A(n, n);
#pragma omp parallel for schedule(dynamic, 16)
  for (Index j = 0; j < n; ++j)
    for (Index i = j; i < n; ++i) A(i, j) = root.size() > 0 ? root(i) * K(i, j) * root(j) : K(i, j);
  return A;
}

/// LAPACK's dsytrd for a lower triangle, panel by panel: T in `diagonal` and `below`, the Householder vectors
/// below the subdiagonal of A, their factors in `tau`.
void tridiagonalize(Matrix& A, Vector& diagonal, Vector& below, Vector& tau, Progress& progress) {
  const SerialBlas serial;
  const Index n = A.rows();
  const int stride = lapack::size(n), panel = static_cast<int>(kPanel);
  const char lower = 'L';
  Matrix update(n, kPanel);
  Index done = 0;
  for (; n - done > 2 * kPanel; done += kPanel) {
    const int rest = lapack::size(n - done);
    double* corner = &A(done, done);
    dlatrd_(&lower, &rest, &panel, corner, &stride, &below(done), &tau(done), update.data(), &stride);
    parallel::minus_syr2k(n - done - kPanel, kPanel, &A(done + kPanel, done), n, &update(kPanel, 0), n,
                          &A(done + kPanel, done + kPanel), n);
    for (Index j = done; j < done + kPanel; ++j) {
      A(j + 1, j) = below(j);
      diagonal(j) = A(j, j);
    }
    const auto left = static_cast<double>(rest);
    progress.advance(4 * left * left * static_cast<double>(kPanel));
  }
  const int rest = lapack::size(n - done);
  int info = 0;
  std::vector<double> nothing(1);  // n = 1: no element below the diagonal
  double* off = n - done > 1 ? &below(done) : nothing.data();
  double* factors = n - done > 1 ? &tau(done) : nothing.data();
  dsytd2_(&lower, &rest, &A(done, done), &stride, &diagonal(done), off, factors, &info);
}

/// LAPACK's dorgtr: the orthogonal Q from the Householder vectors, in their place.
void accumulate(Matrix& A, const Vector& tau, Progress& progress) {
  const Index n = A.rows(), size = n - 1;  // Q is 1 and below it an orthogonal matrix of this size
  for (Index j = n - 1; j > 0; --j) {
    A.col(j).tail(n - 1 - j) = A.col(j - 1).tail(n - 1 - j);
    A.col(j).head(j + 1).setZero();
  }
  A.col(0).setZero();
  A(0, 0) = 1;
  const int stride = lapack::size(n);
  const char left = 'L', plain = 'N', forward = 'F', columns = 'C';
  const SerialBlas serial;
  Matrix triangle(kPanel, kPanel);
  const auto at = [&](Index i, Index j) { return &A(i + 1, j + 1); };
  const Index last = size > 0 ? (size - 1) / kPanel * kPanel : -1;
  for (Index k = last; k >= 0; k -= kPanel) {
    const Index width = std::min(kPanel, size - k), right = size - k - width;
    const int rows = lapack::size(size - k), w = static_cast<int>(width), side = static_cast<int>(kPanel);
    if (right > 0) {
      dlarft_(&forward, &columns, &rows, &w, at(k, k), &stride, &tau(k), triangle.data(), &side);
      parallel_for((right + kShare - 1) / kShare, [&](Index part) {  // of the columns to the right
        const Index first = part * kShare;
        const int count = lapack::size(std::min(kShare, right - first));
        Matrix scratch(count, width);
        dlarfb_(&left, &plain, &forward, &columns, &rows, &count, &w, at(k, k), &stride, triangle.data(),
                &side, at(k, k + width + first), &stride, scratch.data(), &count);
      });
    }
    int info = 0;
    std::vector<double> work(static_cast<std::size_t>(width));
    dorg2r_(&rows, &w, &w, at(k, k), &stride, &tau(k), work.data(), &info);
    A.block(1, k + 1, k, width).setZero();
    progress.advance(4 * static_cast<double>(rows) * static_cast<double>(right) * static_cast<double>(width));
  }
}

/// T + ridge I = L D L^T with L unit bidiagonal.
struct Bidiagonal {
  Vector pivots, below;
  bool positive = true;
};

Bidiagonal pivots_of(const Vector& diagonal, const Vector& below, double ridge) {
  const Index n = diagonal.size();
  Bidiagonal f{diagonal.array() + ridge, Vector(n - 1)};
  const double least = static_cast<double>(n) * u * f.pivots.cwiseAbs().maxCoeff();
  for (Index k = 0; k < n && f.positive; ++k) {
    f.positive = f.pivots(k) > least;
    if (k + 1 == n || !f.positive) continue;
    f.below(k) = below(k) / f.pivots(k);
    f.pivots(k + 1) -= f.below(k) * below(k);
  }
  return f;
}

void substitute(const Bidiagonal& f, Matrix& B) {
  const Index n = B.rows();
  for (Index k = 1; k < n; ++k) B.row(k) -= f.below(k - 1) * B.row(k - 1);
  B.array().colwise() /= f.pivots.array();
  for (Index k = n - 2; k >= 0; --k) B.row(k) -= f.below(k) * B.row(k + 1);
}

/// The diagonal of Q (L D L^T)^-1 Q^T: of each row q of Q the squares of D^-1/2 L^-1 q.
Vector diagonal_of_inverse(const Matrix& Q, const Bidiagonal& f) {
  constexpr Index kRows = 256;
  const Index n = Q.rows(), parts = (n + kRows - 1) / kRows;
  Vector sum = Vector::Zero(n);
  parallel_for(parts, [&](Index part) {
    const Index first = part * kRows, count = std::min(kRows, n - first);
    Vector z = Q.col(0).segment(first, count);
    Vector squares = z.cwiseAbs2() / f.pivots(0);
    for (Index k = 1; k < n; ++k) {
      z = Q.col(k).segment(first, count) - f.below(k - 1) * z;
      squares += z.cwiseAbs2() / f.pivots(k);
    }
    sum.segment(first, count) = squares;
  });
  return sum;
}

void check(double ridge, const Matrix& Y, Index n) {
  if (!(ridge >= 0) || !std::isfinite(ridge))
    throw std::invalid_argument(fmt::format("ridge must be >= 0; got {}", ridge));
  if (Y.rows() != n) throw std::invalid_argument(fmt::format("targets: {} rows for {} points", Y.rows(), n));
}

}  // namespace

std::optional<RidgeSolution> solve_ridge(Packed<double> K, const Vector& weights, double ridge,
                                         const Matrix& Y, Progress& progress) {
  const Index n = K.n();
  check_weights("ridge", weights, n);
  check(ridge, Y, n);
  double largest = 0;
  for (Index i = 0; i < n; ++i) {
    K(i, i) += weights.size() > 0 ? ridge / weights(i) : ridge;
    largest = std::max(largest, K(i, i));
  }
  if (!factor(K, progress)) return {};
  const double least = std::sqrt(2 * u * static_cast<double>(n) * largest);
  for (Index i = 0; i < n; ++i)
    if (!(K(i, i) > least)) return {};
  RidgeSolution solution{Y, {}};
  solve(K, solution.coefficients);
  solution.residuals = solution.coefficients.array().colwise() / inverse_diagonal(K, progress).array();
  return solution;
}

RidgePath::RidgePath(const Packed<double>& K, const Vector& weights, Progress& progress)
    : diagonal_(K.n()), below_(std::max<Index>(K.n() - 1, 0)) {
  check_weights("ridge", weights, K.n());
  if (weights.size() > 0) root_ = weights.cwiseSqrt();
  const auto n = static_cast<double>(K.n());
  progress.stage("ridge path", 8.0 / 3 * n * n * n);
  Q_ = weighted(K, root_);
  Vector tau = Vector::Zero(K.n());
  tridiagonalize(Q_, diagonal_, below_, tau, progress);
  accumulate(Q_, tau, progress);
  progress.finish();
}

std::optional<RidgeSolution> RidgePath::solve(double ridge, const Matrix& Y) const {
  check(ridge, Y, n());
  const Bidiagonal f = pivots_of(diagonal_, below_, ridge);
  if (!f.positive) return {};
  Matrix B = root_.size() > 0 ? Matrix(Q_.transpose() * root_.asDiagonal() * Y) : Matrix(Q_.transpose() * Y);
  substitute(f, B);
  RidgeSolution solution{Q_ * B, {}};  // with W: of W^1/2 K W^1/2 + ridge I
  const Vector diagonal = diagonal_of_inverse(Q_, f);
  solution.residuals = solution.coefficients.array().colwise() / diagonal.array();
  if (root_.size() == 0) return solution;
  solution.residuals.array().colwise() /= root_.array();
  solution.coefficients.array().colwise() *= root_.array();
  return solution;
}

}  // namespace zeroloss
