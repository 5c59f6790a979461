#include "linear/rotation.hpp"

#include <cmath>
#include <numbers>

#include "linalg/decompositions.hpp"
#include "linalg/rounding.hpp"

namespace zeroloss::internal {

Rotation::Rotation(const Matrix& Q) {
  const Index d = Q.rows();
  const auto [U, T] = real_schur(Q);
  S_ = U;
  std::vector<Index> reversed;
  for (Index i = 0; i < d; ++i) {
    if (i + 1 < d && T(i + 1, i) != 0) {
      const double theta = std::atan2(T(i + 1, i) - T(i, i + 1), T(i, i) + T(i + 1, i + 1));
      planes_.push_back({i, i + 1, theta, false});
      ++i;
    } else if (T(i, i) < 0) {
      reversed.push_back(i);
    }
  }
  eigen_assert(reversed.size() % 2 == 0);
  for (std::size_t k = 0; k + 1 < reversed.size(); k += 2)
    planes_.push_back({reversed[k], reversed[k + 1], std::numbers::pi, true});
  for (const Plane& plane : planes_) angle_ = std::max(angle_, std::abs(plane.theta));
  if (angle_ <= 16 * static_cast<double>(d) * u) angle_ = 0;
}

Matrix Rotation::root(Index q, Planes planes) const {
  Matrix turned = Matrix::Zero(S_.rows(), S_.cols());  // S (blockdiag(T(theta/q)) - I)
  for (const Plane& plane : planes_) {
    if (planes != Planes::all && plane.reversing != (planes == Planes::reversing)) continue;
    const double half = plane.theta / (2 * static_cast<double>(q));
    const double less = -2 * std::sin(half) * std::sin(half), sine = std::sin(2 * half);  // cos - 1, sin
    turned.col(plane.first) = less * S_.col(plane.first) + sine * S_.col(plane.second);
    turned.col(plane.second) = less * S_.col(plane.second) - sine * S_.col(plane.first);
  }
  return turned * S_.transpose();
}

}  // namespace zeroloss::internal
