#include "zeroloss/kernel/inducing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "base/parallel_for.hpp"
#include "kernel/cross.hpp"
#include "kernel/entries.hpp"
#include "kernel/weights.hpp"
#include "linalg/lapack.hpp"
#include "linalg/parallel.hpp"
#include "linalg/rounding.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/threads.hpp"
#include "zeroloss/kernel/packed.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr Index kStripEntries = Index{1} << 17;  // of K_nm at a time and thread: 1 MB
constexpr Index kStrips = 32;                    // between two progress reports, each with a sum of its own

void check_inducing(const RowMatrix& X, const RowMatrix& Z, const Vector& weights, const Matrix& Y,
                    const InducingOptions& options) {
  const auto require = [](bool met, const std::string& what) {
    if (!met) throw std::invalid_argument("solve_inducing: " + what);
  };
  require(X.rows() >= 1 && Z.rows() >= 1 && X.cols() >= 1, "there are no points");
  require(X.cols() == Z.cols(), fmt::format("points of {} and of {} features", X.cols(), Z.cols()));
  require(Y.rows() == X.rows() && Y.cols() >= 1, fmt::format("{} points, {} targets", X.rows(), Y.rows()));
  check_weights("solve_inducing", weights, X.rows());
  require(X.allFinite() && Z.allFinite() && Y.allFinite(), "a point or a target is not finite");
  require(options.ridge > 0 && std::isfinite(options.ridge),
          fmt::format("ridge must be > 0; got {}", options.ridge));
  require(options.tolerance > 0 && options.tolerance < 1,
          fmt::format("tolerance must be in (0, 1); got {}", options.tolerance));
  require(options.most >= 1, fmt::format("most must be >= 1; got {}", options.most));
}

/// V -> K_mn W (K_nm V), or K_mn W Y, a strip of rows of K_nm after the other: none of it is kept.
class Passes {
 public:
  Passes(const RowMatrix& X, const RowMatrix& Z, const Kernel& kernel, const Vector& weights,
         Progress& progress)
      : X_(X), Z_(Z), kernel_(kernel), weights_(weights), progress_(progress) {}

  Matrix through(const Matrix& V) const {
    return sum(V.cols(), [&](const RowMatrix& K, Index) -> RowMatrix { return K * V; });
  }
  Matrix of(const Matrix& Y) const {
    return sum(Y.cols(),
               [&](const RowMatrix& K, Index begin) -> RowMatrix { return Y.middleRows(begin, K.rows()); });
  }

 private:
  template <class Values>
  Matrix sum(Index c, const Values& values) const {
    const Index n = X_.rows(), m = Z_.rows(), d = X_.cols();
    const Index most = std::clamp<Index>(kStripEntries / m, 16, 1024);
    const Index strips = (n + most - 1) / most;
    std::vector<Matrix> sums(static_cast<std::size_t>(std::min(strips, kStrips)), Matrix::Zero(m, c));
    for (Index first = 0; first < strips; first += kStrips) {
      const Index count = std::min(kStrips, strips - first);
      const SerialBlas serial;
      const Threads threads(kernel_work(std::min(n, count * most), m, d));
      parallel_for(count, [&](Index s) {
        const Index begin = (first + s) * most, rows = std::min(most, n - begin);
        RowMatrix K(rows, m);
        cross_entries(X_.data() + begin * d, rows, Z_.data(), m, d, kernel_, K.data(), m);
        RowMatrix products = values(K, begin);
        if (weights_.size() > 0) products.array().colwise() *= weights_.segment(begin, rows).array();
        sums[static_cast<std::size_t>(s)].noalias() += K.transpose() * products;
      });
      progress_.advance(static_cast<double>(count * most));
    }
    for (std::size_t s = 1; s < sums.size(); ++s) sums.front() += sums[s];
    return std::move(sums.front());
  }

  const RowMatrix& X_;
  const RowMatrix& Z_;
  const Kernel& kernel_;
  const Vector& weights_;
  Progress& progress_;
};

/// P = (L R)(L R)^T with K_mm = L L^T and (w/m) L^T L + ridge I = R R^T: what the normal equations are where
/// inducing points are drawn from all points, whose weights sum to w. In the variable b = (L R)^T A.
class Preconditioner {
 public:
  Preconditioner(const RowMatrix& Z, const Kernel& kernel, double weight, double ridge, Progress& progress)
      : inner_(Gram<double>{Packed<double>(Z.rows())}), outer_(Z.rows()) {
    const Index m = Z.rows();
    require_memory(8 * 3.0 * static_cast<double>(m) * static_cast<double>(m),
                   fmt::format("the kernel of {} inducing points", m), "take fewer inducing points");
    for (double jitter = 4 * static_cast<double>(m) * u * kernel(1);; jitter *= 16) {
      gram_into(inner_, Z, kernel, progress);
      shift_diagonal(inner_.K, jitter);
      if (factor(inner_.K, progress)) break;
    }
    Matrix L = Matrix::Zero(m, m), S(m, m);
    for (Index j = 0; j < m; ++j)
      for (Index i = j; i < m; ++i) L(i, j) = inner_.K(i, j);
    parallel::syrk('L', 'T', m, m, weight / static_cast<double>(m), L.data(), m, 0.0, S.data(), m);
    for (Index j = 0; j < m; ++j) {
      for (Index i = j; i < m; ++i) outer_(i, j) = S(i, j);
      outer_(j, j) += ridge;
    }
    if (!factor(outer_, progress))
      throw std::invalid_argument(
          fmt::format("solve_inducing: a ridge of {:.3g} is lost in rounding", ridge));
  }

  /// (L R)^-T B, and L^-1 B.
  Matrix back(Matrix B) const {
    solve_backward(outer_, B);
    solve_backward(inner_.K, B);
    return B;
  }
  /// R^-1 (L^-1 A + ridge R^-T b): one side of the preconditioned equations, from A = K_mn W K_nm (L R)^-T b.
  Matrix forward(Matrix A, const Matrix* b, double ridge) const {
    solve_forward(inner_.K, A);
    if (b != nullptr) {
      Matrix regular = *b;
      solve_backward(outer_, regular);
      A += ridge * regular;
    }
    solve_forward(outer_, A);
    return A;
  }

 private:
  Gram<double> inner_;
  Packed<double> outer_;
};

Vector squares(const Matrix& A) { return A.colwise().squaredNorm(); }

/// a/b, 0 where b = 0: a column that is solved already.
Vector ratio(const Vector& a, const Vector& b) { return (b.array() > 0).select(a.array() / b.array(), 0); }

}  // namespace

InducingSolution solve_inducing(const RowMatrix& X, const RowMatrix& Z, const Kernel& kernel,
                                const Vector& weights, const Matrix& Y, const InducingOptions& options,
                                Progress& progress) {
  check_inducing(X, Z, weights, Y, options);
  const double weight = weights.size() > 0 ? weights.sum() : static_cast<double>(X.rows());
  const Preconditioner P(Z, kernel, weight, options.ridge, progress);
  const Passes pass(X, Z, kernel, weights, progress);
  InducingSolution solution{Matrix::Zero(Z.rows(), Y.cols())};

  // One conjugate gradient for each output, side by side: they share the passes.
  progress.stage("conjugate gradients");
  Matrix residual = P.forward(pass.of(Y), nullptr, options.ridge), b = Matrix::Zero(Z.rows(), Y.cols());
  Matrix direction = residual;
  const Vector first = squares(residual);
  Vector before = first;
  const auto relative = [&] { return std::sqrt(ratio(before, first).maxCoeff()); };
  solution.residual = first.maxCoeff() > 0 ? 1 : 0;
  while (solution.residual > options.tolerance && solution.steps < options.most) {
    const Matrix image = P.forward(pass.through(P.back(direction)), &direction, options.ridge);
    const Vector step = ratio(before, direction.cwiseProduct(image).colwise().sum());
    b += direction * step.asDiagonal();
    residual -= image * step.asDiagonal();
    const Vector now = squares(residual);
    direction = residual + direction * ratio(now, before).asDiagonal();
    before = now;
    ++solution.steps;
    solution.residual = relative();
    progress.note(fmt::format("step {}, residual {:.2g}", solution.steps, solution.residual));
  }
  progress.finish();
  solution.coefficients = P.back(b);
  return solution;
}

}  // namespace zeroloss
