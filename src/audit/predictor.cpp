#include "audit/predictor.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "linalg/parallel.hpp"
#include "linalg/rounding.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/kernel/ridge.hpp"

namespace zeroloss::internal {
namespace {

constexpr Index kRowsAtOnce = 1024;

std::vector<Index> range(Index begin, Index end) {
  std::vector<Index> list(static_cast<std::size_t>(end - begin));
  std::iota(list.begin(), list.end(), begin);
  return list;
}

/// K_mm + jitter, times the ridge.
Packed<double> scaled_kernel(const Similarity& similarity, const Features& Z, double ridge,
                             Progress& progress) {
  Progress silent = progress.silent();
  Packed<double> K = similarities(similarity, Z, nullptr, silent);
  for (Index i = 0; i < K.n(); ++i)
    for (Index j = 0; j <= i; ++j) K(i, j) *= ridge;
  return K;
}

/// Of rows from `begin` on the nearest inducing point, unless it is the row itself.
void others(const Nearest& here, const std::vector<Index>& inducing, Index begin, Nearest& all) {
  for (std::size_t i = 0; i < here.index.size(); ++i) {
    const Index other = inducing[static_cast<std::size_t>(here.index[i])];
    const std::size_t at = static_cast<std::size_t>(begin) + i;
    if (other == static_cast<Index>(at)) continue;
    all.index[at] = other;
    all.distance[at] = here.distance[i];
  }
}

}  // namespace

Predictor::Predictor(const Similarity& similarity, const Features& X, std::unique_ptr<RidgeFactor> all,
                     double ridge, const Matrix& Y, Progress& progress)
    : similarity_(similarity),
      X_(X),
      ridge_(ridge),
      all_(std::move(all)),
      L_(0),
      coefficients_(all_->solve(Y)) {
  G_ = ridge * all_->inverse_diagonal(progress);
  R_ = ridge * coefficients_;
}

Predictor::Predictor(const Similarity& similarity, const Features& X, const std::vector<Index>& inducing,
                     double ridge, const Matrix& Y, Nearest* nearest, Progress& progress)
    : similarity_(similarity),
      X_(X),
      which_(inducing),
      inducing_(X.rows(inducing)),
      ridge_(ridge),
      L_(scaled_kernel(similarity, inducing_, ridge, progress)),
      coefficients_(Matrix::Zero(static_cast<Index>(inducing.size()), Y.cols())),
      R_(Y.rows(), Y.cols()),
      G_(Y.rows()) {
  const Index n = Y.rows(), m = inducing_.n();
  progress.stage("equations of the inducing points", static_cast<double>(2 * n));
  Matrix squares = Matrix::Zero(m, m);
  if (nearest != nullptr)
    *nearest = {std::vector<Index>(static_cast<std::size_t>(n), n),
                std::vector<double>(static_cast<std::size_t>(n), INFINITY)};
  for (Index begin = 0; begin < n; begin += kRowsAtOnce) {
    const Index end = std::min(n, begin + kRowsAtOnce);
    Nearest here;
    const Matrix K =
        similarities(similarity, X.rows(range(begin, end)), inducing_, nearest ? &here : nullptr).transpose();
    if (nearest != nullptr) others(here, inducing, begin, *nearest);
    parallel::syrk('L', 'N', m, end - begin, 1, K.data(), m, 1, squares.data(), m);
    coefficients_ += K * Y.middleRows(begin, end - begin);
    progress.advance(static_cast<double>(end - begin));
  }
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j <= i; ++j) L_(i, j) += squares(i, j);
  squares.resize(0, 0);
  double largest = 0;
  for (Index i = 0; i < m; ++i) largest = std::max(largest, L_(i, i));
  shift_diagonal(L_, 8 * static_cast<double>(m) * u * largest);
  Progress silent = progress.silent();
  if (!factor(L_, silent)) not_definite(ridge);
  solve(L_, coefficients_);
  for (Index begin = 0; begin < n; begin += kRowsAtOnce) {
    const Index end = std::min(n, begin + kRowsAtOnce);
    Matrix K = similarities(similarity, X.rows(range(begin, end)), inducing_, nullptr).transpose();
    R_.middleRows(begin, end - begin) = Y.middleRows(begin, end - begin) - K.transpose() * coefficients_;
    solve_forward(L_, K);
    G_.segment(begin, end - begin) = 1 - K.colwise().squaredNorm().array();
    progress.advance(static_cast<double>(end - begin));
  }
}

Matrix Predictor::columns(const std::vector<Index>& which) const {
  const auto k = static_cast<Index>(which.size());
  Matrix columns = Matrix::Zero(n(), k);
  if (inducing_.n() > 0) columns = -weights(X_.rows(which));
  for (Index q = 0; q < k; ++q) columns(which[static_cast<std::size_t>(q)], q) += 1;
  if (inducing_.n() > 0) return columns;
  return ridge_ * all_->solve(columns);
}

Matrix Predictor::predict(const Features& points, Nearest* nearest) const {
  const Matrix outputs =
      similarities(similarity_, points, inducing_.n() > 0 ? inducing_ : X_, nearest) * coefficients_;
  for (std::size_t i = 0; nearest != nullptr && inducing_.n() > 0 && i < nearest->index.size(); ++i)
    nearest->index[i] = which_[static_cast<std::size_t>(nearest->index[i])];
  return outputs;
}

Matrix Predictor::weights(const Features& points) const {
  if (inducing_.n() == 0) return all_->solve(similarities(similarity_, X_, points, nullptr));
  Matrix K = similarities(similarity_, inducing_, points, nullptr);
  solve(L_, K);
  Matrix result(n(), points.n());
  for (Index begin = 0; begin < n(); begin += kRowsAtOnce) {
    const Index end = std::min(n(), begin + kRowsAtOnce);
    result.middleRows(begin, end - begin) =
        similarities(similarity_, X_.rows(range(begin, end)), inducing_, nullptr) * K;
  }
  return result;
}

Choice choose_ridge(const Packed<double>& K, const Matrix& Y, const std::vector<double>& ridges,
                    Progress& progress) {
  const RidgePath path(K, {}, progress);
  Choice best{0, INFINITY};
  for (double ridge : ridges) {
    const auto solution = path.solve(ridge, Y);
    if (!solution) continue;
    const double error = solution->residuals.squaredNorm() / Y.squaredNorm();
    if (error < best.error) best = {ridge, error};
  }
  return best;
}

}  // namespace zeroloss::internal
