#pragma once
#include <optional>
#include <string>

#include "storage/onnx_graph.hpp"
#include "zeroloss/base/matrix.hpp"

/// The last linear map of a graph, where its outputs are affine in constants of their own.
namespace zeroloss::internal::graph {

struct LastLayer {
  std::string features;  ///< the value that it maps
  std::string matrix;    ///< the constant that it is: p x K, or where it is `turned` K x p
  bool turned = false;
  Index weights = 0;      ///< numbers of it
  std::string bias = {};  ///< the constant that it adds; empty: none of its own
  Index biases = 0;       ///< numbers of it
  bool whole = false;     ///< outputs are the map of the features and that constant, if any, and nothing else
};

/// Nothing where `scores` are made in another way than by Gemm or MatMul (and Add) of constants that no other
/// node takes.
std::optional<LastLayer> last_layer_of(const OnnxGraph& graph, const std::string& scores);

}  // namespace zeroloss::internal::graph
