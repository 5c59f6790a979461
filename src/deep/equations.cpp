#include "deep/equations.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace zeroloss::internal {

void check_equations(const DeepNetwork& network, const DeepEquations& equations) {
  const auto require = [](bool met, const std::string& what) {
    if (!met) throw std::invalid_argument("certificate: " + what);
  };
  check(network);
  const auto& [X, Y, counts, moving, records] = equations;
  require(X.rows() >= 1, "there are no points");
  require(X.cols() == network.features(),
          fmt::format("points have {} features, the network takes {}", X.cols(), network.features()));
  require(
      Y.rows() == X.rows() && Y.cols() == network.outputs(),
      fmt::format("targets are {} x {}, outputs {} x {}", Y.rows(), Y.cols(), X.rows(), network.outputs()));
  require(X.allFinite() && Y.allFinite(), "a point or a target is not finite");
  require(
      counts.size() == 0 || (counts.size() == X.rows() && (counts.array() >= 1).all() && counts.allFinite()),
      "counts must be one number >= 1 a point");
  require(records.empty() || std::ssize(records) == X.rows(), "records must be one number a point");
  require(moving.empty() || moving.size() == network.layers.size() + 1, "moving must be one flag a layer");
}

Index moving_parameters(const DeepNetwork& network, const Moving& moving) {
  Index count = moving.back() ? network.V.size() + network.c.size() : 0;
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    if (moving[l]) count += network.layers[l].parameters();
  }
  return count;
}

Moving moving_layers(const DeepNetwork& network, const DeepEquations& equations) {
  return equations.moving.empty() ? Moving(network.layers.size() + 1, true) : equations.moving;
}

Vector root_counts(const DeepEquations& equations) {
  if (equations.counts.size() == 0) return Vector::Ones(equations.X.rows());
  return equations.counts.cwiseSqrt();
}

}  // namespace zeroloss::internal
