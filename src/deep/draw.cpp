#include "zeroloss/deep/draw.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "zeroloss/base/random.hpp"
#include "zeroloss/kernel/dual.hpp"

namespace zeroloss {
namespace {

RowMatrix normal(Index rows, Index columns, Random& random) {
  RowMatrix A(rows, columns);
  for (double& entry : A.reshaped<Eigen::RowMajor>()) entry = random.normal();
  return A;
}

}  // namespace

DeepNetwork draw(const DeepDraw& start) {
  const auto require = [](bool met, const std::string& what) {
    if (!met) throw std::invalid_argument(what);
  };
  require(start.d >= 1 && start.outputs >= 1,
          fmt::format("a network needs inputs and outputs; got {} and {}", start.d, start.outputs));
  require(!start.widths.empty(), "widths must name one hidden layer at least");
  for (const Index width : start.widths)
    require(width >= 1, fmt::format("widths must be >= 1; got {}", width));
  require(!start.residual || std::all_of(start.widths.begin(), start.widths.end(),
                                         [&](Index width) { return width == start.widths.front(); }),
          "widths of residual layers must be equal");
  require(start.branch >= 0 && std::isfinite(start.branch),
          fmt::format("branch must be >= 0; got {}", start.branch));
  const double power = dual_activation(activation(start.activation), false)(1);  // E phi(g)^2
  Random random(start.seed, Stream::weights, start.index);
  DeepNetwork network;
  Index before = start.d;
  if (start.residual) {
    before = start.widths.front();
    network.layers.push_back({.activation = "identity",
                              .W = normal(before, start.d, random),
                              .scale = 1 / std::sqrt(static_cast<double>(before))});
  }
  const double branch =
      start.branch > 0 ? start.branch : 1 / std::sqrt(static_cast<double>(start.widths.size()));
  for (const Index width : start.widths) {
    const auto m = static_cast<double>(width);
    Layer layer{.activation = start.activation, .W = normal(width, before, random)};
    if (start.biases) layer.b = Vector::Zero(width);
    layer.scale = 1 / std::sqrt(m * power);
    if (start.residual) {
      layer.residual = true;
      layer.U = normal(before, width, random);
      layer.scale *= branch / std::sqrt(static_cast<double>(before));
    }
    before = layer.outputs();
    network.layers.push_back(std::move(layer));
  }
  network.V = normal(start.outputs, before, random);
  if (start.biases) network.c = Vector::Zero(start.outputs);
  return network;
}

}  // namespace zeroloss
