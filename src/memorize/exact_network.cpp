#include "memorize/exact_network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "linalg/rounding.hpp"
#include "memorize/construct.hpp"

namespace zeroloss::internal {
namespace {

constexpr double kNowhere = std::numeric_limits<double>::infinity();

}  // namespace

ExactNetwork::ExactNetwork(const Memorizer& network, const RowMatrix& X, const Matrix& Y,
                           const std::vector<Index>& points, std::vector<Index> neurons)
    : network_(network),
      Y_(Y),
      points_(points),
      neurons_(std::move(neurons)),
      scale_(1 / network.V_out(0, 0)),
      moved_(neurons_.size(), 0) {
  const Index k = network.hidden(), count = std::ssize(points);
  activations_ = errors_ = missing_ = RowMatrix::Zero(count, k);
  const bool single = network.precision == "float32";
  for (std::size_t i = 0; i < neurons_.size(); ++i) {
    const Index same = points[static_cast<std::size_t>(neurons_[i])];
    for (Index j = 0; j < X.cols(); ++j)
      if (stored(X(static_cast<Index>(i), j), single) != stored(X(same, j), single)) one_image_ = true;
  }
}

void ExactNetwork::take(const OutputBalls& balls) {
  const Index k = network_.hidden(), r = network_.outputs();
  for (Index i = 0; i < balls.centers.rows(); ++i) {
    const auto point = static_cast<std::size_t>(balls.first + i);
    const Index neuron = neurons_[point];
    moved_[point] = balls.moved_by[static_cast<std::size_t>(i)] == neuron / k;
    if (points_[static_cast<std::size_t>(neuron)] != balls.first + i) continue;  // of an equal point
    activations_.row(neuron) = balls.activations.row(i);
    errors_.row(neuron) = balls.activation_errors.row(i);
    for (Index j = 0; j < k; ++j) {
      const double code = j < r ? scale_ * Y_(balls.first + i, j) : 0;
      missing_(neuron, j) = (std::abs(code - balls.states(i, j)) + balls.reach(i)) * kUp + kTiny;
    }
  }
}

double ExactNetwork::distance() const {
  const Index k = network_.hidden(), count = std::ssize(points_);
  if (one_image_ || std::ranges::find(moved_, 0) != moved_.end()) return kNowhere;
  double longest = 0;
  for (Index i = 0; i < Y_.rows(); ++i)
    longest = std::max(longest, length_up(scale_ * Y_.row(i).transpose()) * kUp + kTiny);
  for (Index a = 0; a < count; ++a)  // silent at all codes
    if (!(length_up(network_.U.row(a).transpose()) * longest * kUp + kTiny <= -network_.s(a)))
      return kNowhere;
  double sum = 0;
  for (Index first = 0; first < count; first += k) sum += block_distance(first, std::min(k, count - first));
  return std::sqrt(sum * kUp) * kUp;
}

// Delta T = R with T lower triangular, T_ai the activation of neuron a at the block's point i, from the last
// column on: |Delta_ji| <= (|R_ji| + sum_(a > i) |Delta_ja| T_ai)/T_ii.
double ExactNetwork::block_distance(Index first, Index size) const {
  const Index k = network_.hidden();
  Matrix delta = Matrix::Zero(k, size);
  for (Index i = size; i-- > 0;) {
    const auto activation = activations_.row(first + i), error = errors_.row(first + i);
    for (Index a = 0; a < i; ++a)
      if (activation(a) != 0 || error(a) != 0) return kNowhere;  // a later point wakes it
    const double least = (activation(i) - error(i)) * kDown - kTiny;
    if (!(least > 0)) return kNowhere;
    for (Index j = 0; j < k; ++j) {
      double bound = missing_(first + i, j);
      for (Index a = i + 1; a < size; ++a) bound += delta(j, a) * (activation(a) + error(a));
      delta(j, i) = (bound / least) * kUp + kTiny;
    }
  }
  return delta.squaredNorm() * kUp;
}

}  // namespace zeroloss::internal
