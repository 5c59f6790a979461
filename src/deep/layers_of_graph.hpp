#pragma once
#include "zeroloss/deep/onnx.hpp"
#include "zeroloss/graph/network.hpp"

/// Networks of layers, recognised in the graphs that ONNX files are.
namespace zeroloss::internal {

/// The layers that a graph is: what stands between activations and sums is affine in what came before, and is
/// gathered as such (affine.hpp), however it is written; the chain of layers is then read from the outputs
/// back. Scales, shifts and batch normalisation beside a linear map are folded into it. Throws DataError with
/// the node that is no part of such a network.
OnnxNetwork layers_of_graph(const GraphNetwork& graph);

}  // namespace zeroloss::internal
