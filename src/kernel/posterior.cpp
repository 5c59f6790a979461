#include "zeroloss/kernel/posterior.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "kernel/weights.hpp"

namespace zeroloss {
namespace {

constexpr Index kPointsAtOnce = 512;

}  // namespace

Posterior::Posterior(RowMatrix X, Kernel kernel, const Vector& weights, double ridge, Progress& progress)
    : X_(std::move(X)), kernel_(std::move(kernel)), L_(X_.rows()) {
  const Index n = X_.rows();
  internal::check_weights("Posterior", weights, n);
  if (!(ridge >= 0) || !std::isfinite(ridge))
    throw std::invalid_argument(fmt::format("Posterior: ridge must be >= 0; got {}", ridge));
  Gram<double> made{std::move(L_)};
  gram_into(made, X_, kernel_, progress);
  for (Index i = 0; i < n; ++i) made.K(i, i) += weights.size() > 0 ? ridge / weights(i) : ridge;
  progress.stage("Cholesky factorisation");
  if (!factor(made.K, progress))
    throw std::invalid_argument("Posterior: the kernel with this ridge is numerically singular");
  progress.finish();
  L_ = std::move(made.K);
}

Vector Posterior::variance(const RowMatrix& Z, Progress& progress) const {
  Vector variance(Z.rows());
  progress.stage("posterior", static_cast<double>(Z.rows()));
  Progress silent = progress.silent();
  for (Index begin = 0; begin < Z.rows(); begin += kPointsAtOnce) {
    const Index count = std::min(kPointsAtOnce, Z.rows() - begin);
    Matrix K = cross_gram(X_, Z.middleRows(begin, count), kernel_, silent);
    solve_forward(L_, K);
    variance.segment(begin, count) = (kernel_(1) - K.colwise().squaredNorm().transpose().array()).max(0.0);
    progress.advance(static_cast<double>(count));
  }
  progress.finish();
  return variance;
}

}  // namespace zeroloss
