#include "kernel/pair_measure.hpp"

#include <algorithm>
#include <cmath>

#include "linalg/rounding.hpp"

// This file computes bounds: it relies on IEEE arithmetic and must not be compiled with -ffast-math.

namespace zeroloss::internal {

PairMeasure::PairMeasure(Index d, float error)
    : d_(d), error_(error), refined_(1 - std::min(32 * static_cast<double>(error), 0.02)) {}

double PairMeasure::least(const Closest& closest) const {
  return std::min(refined_, closest.bar() - static_cast<double>(error_));
}

void PairMeasure::measure(float& product, const double* x, const double* y, Index i, Index j,
                          Closest& closest) const {
  const double size = std::abs(static_cast<double>(product));
  const bool refine = size >= refined_;
  if (!refine && size < closest.bar() - static_cast<double>(error_)) return;
  const auto d = static_cast<double>(d_);
  const double closeness = std::abs(Eigen::Map<const Vector>(x, d_).dot(Eigen::Map<const Vector>(y, d_)));
  double apart = 0;  // 1 - |rho| is at least this
  if (closeness < 1 - kNear) {
    closest.offer(std::sqrt(2 - 2 * closeness), i, j);
    apart = 1 - closeness - product_error(d);
  } else {
    const auto [beside, across] = distances(x, y, d_);
    const double distance = std::min(beside, across);
    closest.offer_near(distance, i, j);
    const double least = distance_bound(distance, d);
    apart = least * least / 2;
  }
  if (!refine) return;
  // What is left after the powers have put the error on is 1 - apart, rounded up.
  const auto value = static_cast<float>(1 - apart * kDown - static_cast<double>(error_) + 0x1p-22);
  if (value < std::abs(product)) product = std::copysign(value, product);
}

}  // namespace zeroloss::internal
