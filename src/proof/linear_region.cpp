#include "proof/linear_region.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "linalg/parallel.hpp"
#include "linalg/tiled.hpp"

// Proven bounds are computed here: compiled with IEEE rules, never with -ffast-math. Comparisons are written
// so that NaN fails them.
namespace zeroloss::internal::verified {
namespace {

constexpr double kFew = 1 + 8 * u;  // covers the roundings of one formula of terms >= 0

// |<x_i, x_k>|^2 for the exact points, rounded up, in units of `unit`^2 (both triangles).
Matrix squared_products(const CertifiedPoints& points, const Matrix& G, const Vector& length, double unit) {
  const Index n = G.rows();
  const double wrong =
      (gamma_of(static_cast<double>(points.X().cols()) + 3) + 2.1 * points.row_error()) * kFew;
  const double lost = 4 * static_cast<double>(points.X().cols()) * kTiny;
  Matrix squares(n, n);
#pragma omp parallel for schedule(dynamic, 16)
  for (Index k = 0; k < n; ++k)
    for (Index i = k; i < n; ++i) {
      const double entry = (std::abs(G(i, k)) + wrong * length(i) * length(k) + lost) / unit * kFew;
      squares(i, k) = squares(k, i) = entry * entry;
    }
  return squares;
}

}  // namespace

Reach reach_of_any(double norm, double lambda) {
  return {norm / lambda * kFew, norm / std::sqrt(lambda) * kFew};
}

Reach reach(const Evaluation& e, const Matrix& K, double error, double lambda, Matrix& work,
            Progress& progress) {
  const Reach any = reach_of_any(e.misfit, lambda);
  work = K;
  if (!tiled::factor(work, progress)) return any;
  Matrix c = e.residual;
  tiled::solve(work, c);
  // r = J J^T c + rest, where |K_ij| <= sqrt(K_ii K_jj) and so || |K| ||_F <= trace(K).
  const auto n = static_cast<double>(K.rows());
  const double size = length(c), misfit = length(e.residual);
  const double rounding = gamma_of(n + 4) * (K.diagonal().sum() * kUp * size + misfit) + 4 * n * n * kTiny;
  const double rest =
      (length(e.residual - tiled::product(K, c)) + rounding + error * size + e.residual_error) * kFew;
  const double known = size + rest / lambda;
  const double square = c.col(0).dot(e.residual) + gamma_of(n + 2) * size * misfit + size * e.residual_error +
                        rest * (e.misfit / lambda) + 4 * n * kTiny;
  const double distance = square > 0 ? std::sqrt(square * kFew) * kFew : any.distance;
  return {known * kFew < any.coefficients ? known * kFew : any.coefficients,
          distance < any.distance ? distance : any.distance};
}

// <x_i, w_j> moves by sum_k S_kj <x_i, x_k> c_k, at most the length of the first two factors times ||c||; and
// by ||x_i|| ||W_t - W|| at most. Rows with a root of counts move by as much more.
std::vector<double> sign_margins(const Evaluation& e, const Vector& v, const CertifiedPoints& points,
                                 const Matrix& G, const std::vector<Reach>& reaches) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const Index n = G.rows(), m = v.size();
  const Vector length = row_lengths(points.weighted()) * ((1 + 2 * points.row_error()) * kFew);
  const double longest = length.maxCoeff(), unit = longest * longest, largest = v.lpNorm<Eigen::Infinity>();
  if (!(largest > 0)) return std::vector<double>(reaches.size(), kNone);
  const Matrix squares = squared_products(points, G, length, unit);
  const Matrix patterns = (e.S.array() / largest).square() * kFew;
  Matrix sums(n, m);
  parallel::gemm('N', 'N', n, m, n, 1.0, squares.data(), n, patterns.data(), n, 0.0, sums.data(), n);
  const double lost = 8 * static_cast<double>(n) * kTiny;
  Vector root = Vector::Ones(n);
  if (points.counts().size() > 0) root = points.counts().cwiseSqrt() * (1 - 2 * u);
  Matrix least = Matrix::Constant(m, std::ssize(reaches), kNone);
#pragma omp parallel for schedule(static)
  for (Index j = 0; j < m; ++j) {
    if (v(j) == 0) continue;
    for (Index i = 0; i < n; ++i) {
      const double known = e.z.least(i, j);
      const double moved = std::sqrt(sums(i, j) * kUp + lost) * kFew * unit * largest / root(i) * kFew;
      for (Index k = 0; k < least.cols(); ++k) {
        const Reach& reach = reaches[static_cast<std::size_t>(k)];
        const double by_coefficients = moved * reach.coefficients, by_distance = e.z.row(i) * reach.distance;
        const double moves = (by_coefficients < by_distance ? by_coefficients : by_distance) * kFew;
        const double ratio = known / moves;
        least(j, k) = ratio >= 0 ? std::min(least(j, k), ratio) : 0;
      }
    }
  }
  const Vector margins = least.colwise().minCoeff() * (1 - 8 * u);
  return {margins.data(), margins.data() + margins.size()};
}

}  // namespace zeroloss::internal::verified
