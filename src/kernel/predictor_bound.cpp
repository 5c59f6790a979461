#include "zeroloss/kernel/predictor_bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "base/as_double.hpp"
#include "base/parallel_for.hpp"
#include "kernel/cross.hpp"
#include "kernel/entries.hpp"
#include "kernel/entry_run.hpp"
#include "kernel/tile_pass.hpp"
#include "kernel/weights.hpp"
#include "linalg/lapack.hpp"
#include "linalg/rounding.hpp"
#include "linalg/upper_bound.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/threads.hpp"

// This file computes bounds: it relies on IEEE arithmetic and must not be compiled with -ffast-math.

namespace zeroloss {
using namespace internal;
namespace {

constexpr Index kRowsAtOnce = 128;  // of new points, of a thread

void check_given(const GivenCoefficients& g) {
  const auto require = [](bool met, const std::string& what) {
    if (!met) throw std::invalid_argument("predictor_bound: " + what);
  };
  const Index n = g.X.rows();
  require(n >= 1 && g.X.cols() >= 1, "there are no points");
  require(g.Y.rows() == n && g.C.rows() == n && g.Y.cols() == g.C.cols() && g.Y.cols() >= 1,
          fmt::format("{} points, targets {} x {}, coefficients {} x {}", n, g.Y.rows(), g.Y.cols(),
                      g.C.rows(), g.C.cols()));
  check_weights("predictor_bound", g.weights, n);
  require(g.X.allFinite() && g.Y.allFinite() && g.C.allFinite(), "a number is not finite");
  require(g.ridge >= 0 && std::isfinite(g.ridge), fmt::format("ridge must be >= 0; got {}", g.ridge));
  require(g.correction == nullptr ||
              (g.correction->rows() == n && g.correction->cols() == g.C.cols() && g.correction->allFinite()),
          "a correction of another size, or that is not finite");
  require(g.lambda_min >= 0, fmt::format("lambda_min must be >= 0; got {}", g.lambda_min));
}

/// A bound of the root of a sum of n squares, w_i (a_i - b_i)^2: in long double, whose range is that of
/// doubles' squares. 4 n 2^-64 covers the sum, and no bit is lost where n is below 2^29.
template <class Term>
UpperBound root_of_squares(Index n, const Term& term) {
  long double sum = 0;
  for (Index i = 0; i < n; ++i) sum += term(i);
  return sqrt(UpperBound(sum * (1 + static_cast<long double>(kUp - 1))));
}

UpperBound length_of_column(const Matrix& A, Index j) {
  return root_of_squares(A.rows(), [&](Index i) {
    const long double a = A(i, j);
    return a * a;
  });
}

UpperBound distance_of_columns(const Matrix& A, Index j, Index k) {
  return root_of_squares(A.rows(), [&](Index i) {
    const long double a = static_cast<long double>(A(i, j)) - A(i, k);
    return a * a;
  });
}

/// ||A_j - A_k||, of j = k ||A_j||.
UpperBound apart(const Matrix& A, Index j, Index k) {
  return j == k ? length_of_column(A, j) : distance_of_columns(A, j, k);
}

/// 1/a, rounded up; a > 0.
UpperBound inverse(double a) { return UpperBound((1 / static_cast<long double>(a)) * (1 + 0x1p-62L)); }

/// What a pass says of T - (K + D) A for columns T and A, D the ridges of the points.
class Residuals {
 public:
  Residuals(const GivenCoefficients& given, const TilePass& pass) : given_(given), pass_(pass) {}

  double ridge_of(Index i) const { return weighted() ? given_.ridge / given_.weights(i) : given_.ridge; }
  double weight_of(Index i) const { return weighted() ? given_.weights(i) : 1; }
  bool weighted() const { return given_.weights.size() > 0 && given_.ridge > 0; }

  /// As computed; the product K A is that of the pass from this column on.
  Matrix computed(const Matrix& T, const Matrix& A, Index column) const {
    Matrix R(T.rows(), T.cols());
    for (Index j = 0; j < T.cols(); ++j)
      for (Index i = 0; i < T.rows(); ++i)
        R(i, j) = (T(i, j) - ridge_of(i) * A(i, j)) - pass_.product(i, column + j);
    return R;
  }
  /// What rounding makes of a column of it, in length. D is rounded, and times A; two differences; T itself.
  UpperBound rounding(const Matrix& T, const Matrix& A, Index j) const {
    const Index n = T.rows();
    const UpperBound gamma = gamma_of(tile_pass_additions(n) + 5) * (1 + 4 * u);
    const UpperBound of_D = root_of_squares(n, [&](Index i) {
      const long double a = static_cast<long double>(A(i, j)) * ridge_of(i);
      return a * a;
    });
    const UpperBound of_A = length_of_column(A, j);
    return gamma * (length_of_column(T, j) + of_D * (1 + 8 * u) + UpperBound(pass_.norm) * of_A) +
           UpperBound(kTiny) * as_double(n) * (of_A + 4 * as_double(n) + 16);
  }
  /// ||W^1/2 (R_j - R_k)||, of j = k ||W^1/2 R_j||.
  UpperBound length(const Matrix& R, Index j, Index k) const {
    return root_of_squares(R.rows(), [&](Index i) {
      const long double r =
          j == k ? static_cast<long double>(R(i, j)) : static_cast<long double>(R(i, j)) - R(i, k);
      return static_cast<long double>(weight_of(i)) * r * r;
    });
  }
  UpperBound root_of_heaviest() const {
    return weighted() ? sqrt(UpperBound(given_.weights.maxCoeff())) : UpperBound(1.0);
  }
  /// sqrt((A_j - A_k)^T K (A_j - A_k)), of j = k that of A_j, K A from this column on; `rounding`: of one
  /// entry of K A over ||A||, in length.
  UpperBound energy(const Matrix& A, Index column, Index j, Index k) const {
    const Matrix& P = pass_.product;
    const UpperBound length = apart(A, j, k);
    const UpperBound both = j == k ? length : length_of_column(A, j) + length_of_column(A, k);
    long double sum = 0, sizes = 0;
    for (Index i = 0; i < A.rows(); ++i) {
      const long double a =
          j == k ? static_cast<long double>(A(i, j)) : static_cast<long double>(A(i, j)) - A(i, k);
      const long double p = j == k ? static_cast<long double>(P(i, column + j))
                                   : static_cast<long double>(P(i, column + j)) - P(i, column + k);
      sum += a * p;
      sizes += std::abs(a * p);
    }
    // Rounding of the sum in long double; of the product; and errors of the entries.
    const UpperBound of_sum = UpperBound(std::max(sum, 0.0L)) + UpperBound(sizes * 0x1p-34L);
    const UpperBound gamma = gamma_of(tile_pass_additions(A.rows())) * (1 + 4 * u);
    const UpperBound of_product =
        length * (gamma * UpperBound(pass_.norm) * both +
                  UpperBound(kTiny) * as_double(A.rows()) * (both + 8 * as_double(A.rows()) + 32));
    return sqrt(of_sum + of_product + UpperBound(pass_.entry_error) * length * length);
  }

 private:
  const GivenCoefficients& given_;
  const TilePass& pass_;
};

/// sup |v . (f - f_hat)| over ||W^1/2 R v|| and over ||Psi A^-1 R v||.
struct Reach {
  UpperBound residual, energy;
};

Reach reach_of(const GivenCoefficients& given, const Kernel& kernel) {
  const UpperBound root_k = sqrt(UpperBound(std::abs(kernel(1))) + kernel.error());
  if (given.ridge > 0) return {root_k * 0.5 * sqrt(inverse(given.ridge)), root_k};
  if (given.lambda_min > 0) return {root_k * sqrt(inverse(given.lambda_min)), root_k};
  return {UpperBound(std::numeric_limits<double>::infinity()), root_k};
}

}  // namespace

// Theory 5, "Beyond memory". With D = ridge W^-1 and R = Y - (K + D) C exactly, v a unit column or a
// difference of two,
//   |v . (f - f_hat)(x)| <= sqrt(k(1)) (sqrt(v^T Z^T K Z v) + ||W^1/2 (R - (K + D) Z) v||/(2 sqrt(ridge)))
// for every Z; for ridge 0 with 1/sqrt(lambda_min) in place of 1/(2 sqrt(ridge)).
PredictorBound predictor_bound(const GivenCoefficients& given, const Kernel& kernel, Progress& progress) {
  check_given(given);
  const Matrix &Y = given.Y, &C = given.C;
  const Index n = given.X.rows(), c = Y.cols();
  const bool sharper = given.correction != nullptr;
  Matrix V(n, sharper ? 2 * c : c);
  V.leftCols(c) = C;
  if (sharper) V.rightCols(c) = *given.correction;
  const TilePass pass = given.tiles != nullptr ? given.tiles->pass(V, progress)
                                               : kernel_tiles(given.X, kernel)->pass(V, progress);
  const Residuals residuals(given, pass);
  PredictorBound bound;
  bound.verified = kernel.verified();
  bound.residual = residuals.computed(Y, C, 0);
  Matrix left;  // of the residual, less the correction's part
  std::vector<UpperBound> rounding, more;
  for (Index j = 0; j < c; ++j) rounding.push_back(residuals.rounding(Y, C, j));
  if (sharper) left = residuals.computed(bound.residual, *given.correction, c);
  for (Index j = 0; sharper && j < c; ++j)
    more.push_back(rounding[static_cast<std::size_t>(j)] +
                   residuals.rounding(bound.residual, *given.correction, j));
  const UpperBound root_weight = residuals.root_of_heaviest(), entry = pass.entry_error;
  const Reach reach = reach_of(given, kernel);
  const auto of_both = [](const std::vector<UpperBound>& each, Index j, Index k) {
    const UpperBound one = each[static_cast<std::size_t>(j)];
    return j == k ? one : one + each[static_cast<std::size_t>(k)];
  };
  bound.error.resize(c, c);
  for (Index j = 0; j < c; ++j)
    for (Index k = 0; k <= j; ++k) {
      progress.check();
      const UpperBound of_C = entry * apart(C, j, k), off = of_C + of_both(rounding, j, k);
      UpperBound error = reach.residual * (residuals.length(bound.residual, j, k) + root_weight * off);
      if (sharper) {
        const Matrix& Z = *given.correction;
        const UpperBound left_off = of_C + entry * apart(Z, j, k) + of_both(more, j, k);
        const UpperBound sharp = reach.energy * residuals.energy(Z, c, j, k) +
                                 reach.residual * (residuals.length(left, j, k) + root_weight * left_off);
        error = min(error, sharp);
      }
      bound.error(j, k) = bound.error(k, j) = static_cast<double>(error);
      const double target = j == k ? static_cast<double>(length_of_column(Y, j)) : 0;
      if (!(target > 0)) continue;
      bound.relative = std::max(bound.relative, bound.residual.col(j).stableNorm() / target);
      bound.entries = std::max(bound.entries, static_cast<double>(off) / target);
    }
  return bound;
}

namespace {

/// Rows of new points against all others, block by block.
void bounded_rows(const RowMatrix& Z, Index begin, Index rows, const RowMatrix& X, const Kernel& kernel,
                  const Matrix& C, BoundedValues& result, Vector& spread) {
  const Index n = X.rows(), d = X.cols(), c = C.cols();
  RowMatrix K(rows, std::min(kTile, n));
  Matrix part(rows, c), sum = Matrix::Zero(rows, c);
  Vector squares = Vector::Zero(rows), singular = Vector::Zero(rows), near = Vector::Zero(rows);
  const bool edged = std::isinf(kernel.slope());
  for (Index j = 0; j < n; j += kTile) {
    const Index columns = std::min(kTile, n - j);
    cross_entries(Z.data() + begin * d, rows, X.data() + j * d, columns, d, kernel, K.data(), columns,
                  edged ? CrossSeen{singular.data(), near.data()} : CrossSeen{});
    lapack::gemm('T', 'N', rows, c, columns, 1.0, K.data(), columns, C.data() + j, n, 0.0, part.data(), rows);
    sum += part;
    for (Index i = 0; i < rows; ++i) {
      const double* run = K.data() + i * columns;
      double of_run = 0;
      for (Index q = 0; q < columns; ++q) of_run += run[q] * run[q];
      squares(i) += of_run;
    }
  }
  result.values.middleRows(begin, rows) = sum;
  const double gamma = gamma_of(as_double(kTile + (n + kTile - 1) / kTile + 1));
  for (Index i = 0; i < rows; ++i) {
    const double entries = entry_error(kernel, std::sqrt(as_double(n)) * (1 + 4 * u), as_double(d),
                                       near(i) / 2, singular(i) / 2);
    spread(begin + i) = (entries + gamma * std::sqrt(squares(i)) * kUp) * kUp;
  }
}

}  // namespace

BoundedValues bounded_values(const RowMatrix& Z, const RowMatrix& X, const Kernel& kernel, const Matrix& C,
                             Progress& progress) {
  const Index m = Z.rows(), n = X.rows(), d = X.cols(), c = C.cols();
  if (n < 1 || d < 1 || Z.cols() != d || C.rows() != n)
    throw std::invalid_argument(fmt::format(
        "bounded_values: points {} x {} and {} x {}, coefficients {} x {}", m, Z.cols(), n, d, C.rows(), c));
  if (!Z.allFinite() || !X.allFinite() || !C.allFinite())
    throw std::invalid_argument("bounded_values: a number is not finite");
  require_memory(16.0 * as_double(m) * as_double(c), "the values", "ask about fewer points at once");
  BoundedValues result{Matrix(m, c), Matrix(m, c)};
  Vector spread(m);
  const Index strips = (m + kRowsAtOnce - 1) / kRowsAtOnce;
  const Threads threads(strips > 1 ? kernel_work(m, n, d) : 0);
  const SerialBlas serial;
  progress.stage("kernel " + kernel.name, as_double(strips));
  parallel_for(strips, progress, [&](Index s) {
    const Index begin = s * kRowsAtOnce;
    bounded_rows(Z, begin, std::min(kRowsAtOnce, m - begin), X, kernel, C, result, spread);
  });
  progress.finish();
  // Underflow: a product, or an entry that is read as 0, and the sums of them.
  const UpperBound lost = UpperBound(kTiny) * as_double(4 * n + 16);
  for (Index j = 0; j < c; ++j) {
    const UpperBound length = length_of_column(C, j);
    for (Index i = 0; i < m; ++i)
      result.error(i, j) = static_cast<double>(UpperBound(spread(i)) * length + lost * (length + 1.0));
  }
  return result;
}

std::vector<bool> decided_classes(const BoundedValues& v, const Matrix& error) {
  const Index m = v.values.rows(), c = v.values.cols();
  if (error.rows() != c || error.cols() != c)
    throw std::invalid_argument(
        fmt::format("decided_classes: {} outputs, errors {} x {}", c, error.rows(), error.cols()));
  std::vector<bool> decided(static_cast<std::size_t>(m));
  for (Index i = 0; i < m; ++i) {
    bool all = true;
    Index best = 0;
    if (c == 1) {
      all = std::abs(v.values(i, 0)) > static_cast<double>(UpperBound(error(0, 0)) + v.error(i, 0));
    } else {
      v.values.row(i).maxCoeff(&best);
      for (Index k = 0; k < c && all; ++k) {
        if (k == best) continue;
        // The difference of two doubles, in 64 bits, is off by 2^-64 of itself, which kDown covers.
        const long double ahead = static_cast<long double>(v.values(i, best)) - v.values(i, k);
        const double needed =
            static_cast<double>(UpperBound(error(best, k)) + v.error(i, best) + v.error(i, k));
        all = ahead * static_cast<long double>(kDown) > static_cast<long double>(needed);
      }
    }
    decided[static_cast<std::size_t>(i)] = all;
  }
  return decided;
}

}  // namespace zeroloss
