#pragma once
#include <string>
#include <vector>

#include "zeroloss/base/random.hpp"
#include "zeroloss/deep/network.hpp"

/// Networks of layers of every kind, for tests.
namespace zeroloss::test {

inline RowMatrix random_rows(Index n, Index d, unsigned seed) {
  std::srand(seed);
  return RowMatrix::Random(n, d);
}

struct RandomNetwork {
  Index features = 3, width = 4, outputs = 2;
  std::vector<std::string> activations = {"tanh",       "relu",     "gelu", "softplus",
                                          "leaky_relu", "identity", "sin"};
};

/// One to four layers, each plain or residual (with and without U and biases), of widths width .. width + 3.
inline DeepNetwork random_network(unsigned seed, const RandomNetwork& options) {
  std::srand(1000 + seed);
  const auto random = [](Index rows, Index columns) { return RowMatrix(RowMatrix::Random(rows, columns)); };
  const auto vector = [](Index size) {
    return std::rand() % 2 == 0 ? Vector() : Vector(Vector::Random(size));
  };
  DeepNetwork network;
  const Index d = options.features;
  if (std::rand() % 3 == 0) network.shift = Vector::Random(d);
  if (std::rand() % 3 == 0) network.factor = Vector::Random(d);
  Index width = d;
  for (int l = 0, depth = 1 + std::rand() % 4; l < depth; ++l) {
    Layer layer;
    layer.activation =
        options.activations[static_cast<std::size_t>(std::rand()) % options.activations.size()];
    layer.leak = 0.125;
    layer.residual = std::rand() % 2 == 0;
    const bool identity = layer.residual && std::rand() % 2 == 0;
    const Index units = identity ? width : options.width + std::rand() % 4;
    layer.W = random(units, width);
    layer.b = vector(units);
    layer.scale = std::rand() % 2 == 0 ? 1 : 0.75;
    if (layer.residual) {
      if (!identity) layer.U = random(width, units);
      layer.bU = vector(width);
    }
    width = layer.outputs();
    network.layers.push_back(layer);
  }
  network.V = random(options.outputs, width);
  network.c = vector(options.outputs);
  return network;
}
inline DeepNetwork random_network(unsigned seed) {
  return random_network(seed, {3 + static_cast<Index>(seed % 3), 4, 1 + static_cast<Index>(seed % 3)});
}

}  // namespace zeroloss::test
