#pragma once
#include <optional>
#include <string>

#include "storage/onnx_graph.hpp"
#include "zeroloss/base/matrix.hpp"

/// The last linear map of a graph, where its outputs are affine in constants of their own.
namespace zeroloss::internal::graph {

struct LastLayer {
  std::string features;  ///< the value that it maps
  Index weights = 0;     ///< numbers of its matrix
  Index biases = 0;      ///< numbers that it adds; 0: none of its own
};

/// Nothing where `scores` are made in another way than by Gemm or MatMul (and Add) of constants that no other
/// node takes.
std::optional<LastLayer> last_layer_of(const OnnxGraph& graph, const std::string& scores);

}  // namespace zeroloss::internal::graph
