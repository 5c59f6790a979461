#include "zeroloss/kernel/predictor_bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "base/parallel_for.hpp"
#include "kernel/cross.hpp"
#include "kernel/entries.hpp"
#include "kernel/entry_run.hpp"
#include "kernel/tile_pass.hpp"
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

double real_of(Index k) { return static_cast<double>(k); }

void check_given(const GivenCoefficients& g) {
  const auto require = [](bool met, const std::string& what) {
    if (!met) throw std::invalid_argument("predictor_bound: " + what);
  };
  const Index n = g.X.rows();
  require(n >= 1 && g.X.cols() >= 1, "there are no points");
  require(g.Y.rows() == n && g.C.rows() == n && g.Y.cols() == g.C.cols() && g.Y.cols() >= 1,
          fmt::format("{} points, targets {} x {}, coefficients {} x {}", n, g.Y.rows(), g.Y.cols(),
                      g.C.rows(), g.C.cols()));
  require(g.weights.size() == 0 || g.weights.size() == n,
          fmt::format("{} points, {} weights", n, g.weights.size()));
  require(g.X.allFinite() && g.Y.allFinite() && g.C.allFinite(), "a number is not finite");
  require(g.weights.allFinite() && (g.weights.array() > 0).all(), "weights must be positive and finite");
  require(g.ridge >= 0 && std::isfinite(g.ridge), fmt::format("ridge must be >= 0; got {}", g.ridge));
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

/// 1/a, rounded up; a > 0.
UpperBound inverse(double a) { return UpperBound((1 / static_cast<long double>(a)) * (1 + 0x1p-62L)); }

}  // namespace

// Theory 5, "Beyond memory". With D = ridge W^-1 and R = Y - (K + D) C exactly, v a unit column or a
// difference of two,
//   |v . (f - f_hat)(x)| <= sqrt(k(1)) ||W^1/2 R v||/(2 sqrt(ridge)),
// for ridge 0: sqrt(k(1)) ||R v||/sqrt(lambda_min).
PredictorBound predictor_bound(const GivenCoefficients& given, const Kernel& kernel, Progress& progress) {
  check_given(given);
  const auto& [X, weights, ridge, Y, C, lambda_min] = given;
  const Index n = X.rows(), c = Y.cols();
  const bool weighted = weights.size() > 0 && ridge > 0;
  TilePass pass = tile_pass(X, kernel, C, progress);
  PredictorBound bound;
  bound.verified = kernel.verified();
  bound.residual.resize(n, c);
  // |D C|, column by column, in long double.
  std::vector<UpperBound> of_y, of_C, of_D, rounding;
  const double k = tile_pass_additions(n) + 5;  // D is rounded, and times C; the two differences; Y itself
  const UpperBound gamma = gamma_of(k) * (1 + 4 * u);
  const UpperBound tiny = kTiny * real_of(n);  // of an entry a thousandth of it; of n entries in length
  for (Index j = 0; j < c; ++j) {
    for (Index i = 0; i < n; ++i) {
      const double D = weighted ? ridge / weights(i) : ridge;
      bound.residual(i, j) = (Y(i, j) - D * C(i, j)) - pass.product(i, j);
    }
    of_y.push_back(length_of_column(Y, j));
    of_C.push_back(length_of_column(C, j));
    of_D.push_back(root_of_squares(n, [&](Index i) {
      const long double a = static_cast<long double>(C(i, j)) * (weighted ? ridge / weights(i) : ridge);
      return a * a;
    }));
    rounding.push_back(gamma *
                           (of_y.back() + of_D.back() * (1 + 8 * u) + UpperBound(pass.norm) * of_C.back()) +
                       tiny * (of_C.back() + 4 * real_of(n) + 16));
  }
  const double heaviest = weighted ? weights.maxCoeff() : 1;
  const UpperBound root_weight = sqrt(UpperBound(heaviest));
  UpperBound reach(std::numeric_limits<double>::infinity());  // sup |v . (f - f_hat)| over ||W^1/2 R v||
  const UpperBound root_k = sqrt(UpperBound(std::abs(kernel(1))) + kernel.error());
  if (ridge > 0)
    reach = root_k * 0.5 * sqrt(inverse(ridge));
  else if (lambda_min > 0)
    reach = root_k * sqrt(inverse(lambda_min));
  bound.error.resize(c, c);
  for (Index j = 0; j < c; ++j)
    for (Index l = 0; l <= j; ++l) {
      progress.check();
      const bool alone = j == l;
      const UpperBound length = root_of_squares(n, [&](Index i) {
        const long double r = alone ? static_cast<long double>(bound.residual(i, j))
                                    : static_cast<long double>(bound.residual(i, j)) - bound.residual(i, l);
        return (weighted ? weights(i) : 1.0L) * r * r;
      });
      const UpperBound of_entries =
          UpperBound(pass.entry_error) * (alone ? of_C[j] : distance_of_columns(C, j, l));
      const UpperBound of_rounding = alone ? rounding[j] : rounding[j] + rounding[l];
      const UpperBound error = reach * (length + root_weight * (of_entries + of_rounding));
      bound.error(j, l) = bound.error(l, j) = static_cast<double>(error);
      if (!alone || !(static_cast<double>(of_y[j]) > 0)) continue;
      const double target = static_cast<double>(of_y[j]);
      bound.relative = std::max(bound.relative, bound.residual.col(j).stableNorm() / target);
      bound.entries = std::max(bound.entries, static_cast<double>(of_entries + of_rounding) / target);
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
  const double gamma = gamma_of(real_of(kTile + (n + kTile - 1) / kTile + 1));
  for (Index i = 0; i < rows; ++i) {
    const double entries =
        entry_error(kernel, std::sqrt(real_of(n)) * (1 + 4 * u), real_of(d), near(i) / 2, singular(i) / 2);
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
  require_memory(16.0 * real_of(m) * real_of(c), "the values", "ask about fewer points at once");
  BoundedValues result{Matrix(m, c), Matrix(m, c)};
  Vector spread(m);
  const Index strips = (m + kRowsAtOnce - 1) / kRowsAtOnce;
  const Threads threads(strips > 1 ? kernel_work(m, n, d) : 0);
  const SerialBlas serial;
  progress.stage("kernel " + kernel.name, real_of(strips));
  parallel_for(strips, progress, [&](Index s) {
    const Index begin = s * kRowsAtOnce;
    bounded_rows(Z, begin, std::min(kRowsAtOnce, m - begin), X, kernel, C, result, spread);
  });
  progress.finish();
  // Underflow: a product, or an entry that is read as 0, and the sums of them.
  const UpperBound lost = UpperBound(kTiny) * real_of(4 * n + 16);
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
