#pragma once
#include <cstdint>

#include "zeroloss/deep/network.hpp"

/// Networks of layers as they begin.
namespace zeroloss {

/// Every entry of W, U and V is N(0, 1), biases are 0, and the scales s make the numbers of every layer of
/// the order of those before it: of a point of length 1 plain layers have length 1 in the mean, whatever
/// their width (E phi(g)^2 = 1/(s^2 width)), and residual branches `branch`. A residual network begins with a
/// layer of `identity` units, which takes the points to its width.
struct DeepDraw {
  Index d = 1, outputs = 1;
  std::vector<Index> widths = {256, 256};  ///< of the hidden layers, from the first
  std::string activation = "relu";
  bool residual = false;  ///< then all widths are equal, and each is a layer h + s U phi(W h + b)
  bool biases = true;     ///< b of every layer and c
  double branch = 0;      ///< residual; 0: 1/sqrt(depth), for which lengths grow by sqrt(e) at most
  std::uint64_t seed = 0;
  std::uint64_t index = 0;  ///< which of the networks of one seed
};

/// Throws std::invalid_argument for sizes below 1, unequal widths of residual layers, an unknown activation,
/// a negative branch.
DeepNetwork draw(const DeepDraw& start);

}  // namespace zeroloss
