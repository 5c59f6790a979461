#include "train/deep/forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "theory/theorems.hpp"
#include "train/optimizers/optimizers.hpp"
#include "zeroloss/kernel/deep.hpp"
#include "zeroloss/kernel/spectrum.hpp"

namespace zeroloss::internal {
namespace {

// Why the infinitely wide network says nothing about such a run; empty if it does.
std::string obstacle(const CheckedOptions& o, const std::vector<bool>& moving, double unit, Index n) {
  if (o.method->left == nullptr)
    return fmt::format("for {} only", optimizers_with(&OptimizerFacts::forecast));
  if (!o.proved) return "not asked for";
  if (n > kEveryEigenvalue) return fmt::format("computed for at most {} points", kEveryEigenvalue);
  if (!std::all_of(moving.begin(), moving.end() - 1, [](bool moves) { return moves; }))
    return "for networks that train all hidden layers only";
  // Lengths grow along the branches; phi has to grow with them.
  if (o.residual && !activation(o.activation).leak)
    return "of residual networks for relu and leaky_relu only";
  if (o.residual && unit != 1) return "of residual networks for targets near 1 only";
  return "";
}

}  // namespace

DeepForecast::DeepForecast(const TrainingSet& set, const CheckedOptions& options,
                           const std::vector<bool>& moving, double unit, Progress& progress)
    : options_(options), missing_(obstacle(options, moving, unit, set.points.n())) {
  if (!missing_.empty()) return;
  const Activation& phi = activation(options.activation);
  const double branch = options.residual ? 1 / std::sqrt(static_cast<double>(options.depth)) : 1;
  const Depth depth{.layers = options.depth, .residual = options.residual, .scale = branch};
  Gram<double> tangent = gram(set.points.X, deep_tangent(phi, depth), progress);
  if (!moving.back()) {
    const Gram<double> last = gram(set.points.X, deep_features(phi, depth), progress);
    for (Index j = 0; j < last.K.n(); ++j)
      for (Index i = j; i < last.K.n(); ++i) tangent.K(i, j) -= last.K(i, j);
  }
  progress.stage("all eigenvalues");
  Eigensystem system = eigensystem(tangent.K);
  values_ = system.values.cwiseMax(0.0) * (unit * unit);
  // The drawn network does not divide by sqrt(1 + branch^2) behind each block.
  if (options.residual) values_ *= std::pow(1 + branch * branch, static_cast<double>(options.depth));
  vectors_ = std::move(system.vectors);
}

void DeepForecast::begin(const Matrix& r0, double step) {
  step_ = step;
  if (values_.size() > 0) squares_ = (vectors_.transpose() * r0).rowwise().squaredNorm();
}

std::optional<double> DeepForecast::at(double k) const {
  if (squares_.size() == 0) return {};
  double sum = 0;
  for (Index i = 0; i < squares_.size(); ++i)
    sum += squares_(i) * (k == 0 ? 1 : options_.method->left(values_(i), step_, options_, k));
  return std::sqrt(sum);
}

}  // namespace zeroloss::internal
