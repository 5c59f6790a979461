#include "deep/equations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "zeroloss/base/memory.hpp"

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

double bytes_of_gram(const DeepNetwork& network, const Moving& moving, Index n, double matrices) {
  constexpr int kSizes = 9;  // numbers that bounds keep of a point, or of a row of J, and a layer
  const auto points = static_cast<double>(n), rows = points * static_cast<double>(network.outputs());
  double factors = 0, at_a_time = 0, values = static_cast<double>(network.features() + network.outputs());
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    const auto units = static_cast<double>(layer.units()), inputs = static_cast<double>(layer.inputs()),
               outputs = static_cast<double>(layer.outputs());
    const bool outer = layer.U.size() > 0 || layer.bU.size() > 0;
    if (moving[l]) factors += units + (outer ? outputs : 0);
    at_a_time = std::max(at_a_time, outputs + (layer.U.size() > 0 ? 2 : 1) * units + inputs);
    values += 2 * units + outputs;
  }
  const double K = 8 * rows * rows,
               fixed = 8 * (2 * points * values +
                            kSizes * (points + rows) * static_cast<double>(network.depth()));
  return fixed + std::max({8 * rows * (factors + at_a_time), std::min(matrices, 1.0) * K + 8 * rows * factors,
                           matrices * K});
}

void require_gram_memory(const DeepNetwork& network, const Moving& moving, Index n, double matrices,
                         const std::string& what, const std::string& hint) {
  const auto available = static_cast<double>(available_memory_bytes());
  const double needed = bytes_of_gram(network, moving, n, matrices);
  if (needed <= available) return;
  Index fits = 0, too_many = n;
  while (too_many - fits > 1) {
    const Index middle = fits + (too_many - fits) / 2;
    (bytes_of_gram(network, moving, middle, matrices) <= available ? fits : too_many) = middle;
  }
  const std::string more = hint.empty() ? "" : "; " + hint;
  require_memory(
      needed, what,
      (fits > 0 ? fmt::format("as many points as `n={}` keeps fit", fits) : std::string("no point fits")) +
          more);
}

}  // namespace zeroloss::internal
