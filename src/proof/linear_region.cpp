#include "proof/linear_region.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel_for.hpp"
#include "linalg/lapack.hpp"
#include "zeroloss/base/blas.hpp"

// Proven bounds are computed here: compiled with IEEE rules, never with -ffast-math. Comparisons are written
// so that NaN fails them.
namespace zeroloss::internal::verified {
namespace {

constexpr double kFew = 1 + 8 * u;  // covers the roundings of one formula of terms >= 0

// Sums that only have to be bounded above are taken in float32: gamma_k of theirs for k roundings, and what
// an entry loses that is flushed to zero.
constexpr double kSingleUnit = 0x1p-24, kSingleTiny = 0x1p-126;
double single_gamma(double k) { return k * kSingleUnit / (1 - k * kSingleUnit) * kFew; }

// Of `value` >= 0 as a float32, rounded up; zero stays zero.
float single_above(double value) {
  return value == 0 ? 0 : static_cast<float>(value * (1 + 2 * kSingleUnit) + 2 * kSingleTiny);
}

// Rows [first, first + rows) of |<x_i, x_k>|^2 for the exact points, rounded up, in units of `longest`^4.
// X: their rows in units of `longest`, `length` bounds of their lengths likewise.
void squared_products(const Rows<float>& X, const Vector& length, double row_error, Index first,
                      Eigen::MatrixXf& squares) {
  const Index n = X.rows(), d = X.cols(), rows = squares.rows();
  const auto terms = static_cast<double>(d);
  const double wrong = (single_gamma(terms + 4) + 2.1 * row_error) * kFew, lost = 8 * terms * kSingleTiny;
  lapack::gemm('T', 'N', rows, n, d, 1.0F, X.data() + first * d, d, X.data(), d, 0.0F, squares.data(), rows);
  for (Index k = 0; k < n; ++k)
    for (Index i = 0; i < rows; ++i) {
      const double entry =
          (std::abs(static_cast<double>(squares(i, k))) + wrong * length(first + i) * length(k) + lost) *
          kFew;
      squares(i, k) = single_above(entry * entry * kFew);
    }
}

}  // namespace

Reach reach_of_any(double norm, double lambda) {
  return {norm / lambda * kFew, norm / std::sqrt(lambda) * kFew};
}

Reach reach(const Evaluation& e, const TangentMatrix& K, const Vector& c, double error, double lambda) {
  const Reach any = reach_of_any(e.misfit, lambda);
  // r = J J^T c + rest, where |K_ij| <= sqrt(K_ii K_jj) and so || |K| ||_F <= trace(K).
  const auto n = static_cast<double>(c.size());
  const double size = length(c), misfit = length(e.residual);
  const double rounding = gamma_of(n + 4) * (K.diagonal().sum() * kUp * size + misfit) + 4 * n * n * kTiny;
  const double rest = (length(e.residual - K.product(c)) + rounding + error * size + e.residual_error) * kFew;
  const double known = size + rest / lambda;
  const double square = c.dot(e.residual) + gamma_of(n + 2) * size * misfit + size * e.residual_error +
                        rest * (e.misfit / lambda) + 4 * n * kTiny;
  const double distance = square > 0 ? std::sqrt(square * kFew) * kFew : any.distance;
  return {known * kFew < any.coefficients ? known * kFew : any.coefficients,
          distance < any.distance ? distance : any.distance};
}

// <x_i, w_j> moves by sum_k S_kj <x_i, x_k> c_k, at most the length of the first two factors times ||c||; and
// by ||x_i|| ||W_t - W|| at most. Rows with a root of counts move by as much more.
std::vector<double> sign_margins(const Evaluation& e, const Vector& v, const CertifiedPoints& points,
                                 const std::vector<Reach>& reaches) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  constexpr Index kBlock = 256;
  const Index n = e.S.rows(), m = v.size(), blocks = (n + kBlock - 1) / kBlock;
  const double row_error = points.row_error();
  const Vector length = row_lengths(points.weighted()) * ((1 + 2 * row_error) * kFew);
  const double longest = length.maxCoeff(), largest = v.lpNorm<Eigen::Infinity>();
  if (!(largest > 0)) return std::vector<double>(reaches.size(), kNone);
  const Rows<float> X = (points.weighted() / longest).cast<float>();
  const Vector relative = length / longest * kFew;
  const Eigen::MatrixXf patterns = (e.S.array() / largest).square().unaryExpr(&single_above);
  Vector root = Vector::Ones(n);
  if (points.counts().size() > 0) root = points.counts().cwiseSqrt() * (1 - 2 * u);
  const auto N = static_cast<double>(n);
  const double sums_short = 1 / (1 - single_gamma(N + 2)) * kFew, sums_lost = 2 * N * kSingleTiny;
  const double unit = longest * longest * largest * kFew;
  Matrix least = Matrix::Constant(blocks, std::ssize(reaches), kNone);
  const SerialBlas serial;
  parallel_for(blocks, [&](Index block) {
    const Index first = block * kBlock, rows = std::min(kBlock, n - first);
    Eigen::MatrixXf squares(rows, n), sums(rows, m);
    squared_products(X, relative, row_error, first, squares);
    lapack::gemm('N', 'N', rows, m, n, 1.0F, squares.data(), rows, patterns.data(), n, 0.0F, sums.data(),
                 rows);
    for (Index j = 0; j < m; ++j) {
      if (v(j) == 0) continue;
      for (Index r = 0; r < rows; ++r) {
        const Index i = first + r;
        const double known = e.z.least(i, j);
        const double sum = (static_cast<double>(sums(r, j)) + sums_lost) * sums_short;
        const double moved = std::sqrt(sum) * kFew * unit / root(i) * kFew;
        for (Index k = 0; k < least.cols(); ++k) {
          const Reach& reach = reaches[static_cast<std::size_t>(k)];
          const double by_coefficients = moved * reach.coefficients,
                       by_distance = e.z.row(i) * reach.distance;
          const double moves = (by_coefficients < by_distance ? by_coefficients : by_distance) * kFew;
          const double ratio = known / moves;
          least(block, k) = ratio >= 0 ? std::min(least(block, k), ratio) : 0;
        }
      }
    }
  });
  const Vector margins = least.colwise().minCoeff() * (1 - 8 * u);
  return {margins.data(), margins.data() + margins.size()};
}

}  // namespace zeroloss::internal::verified
