#pragma once
#include <memory>
#include <string>

#include "zeroloss/graph/engine.hpp"

/// Graphs of operators as tensors of LibTorch: convolutions as products of matrices, many samples at once.
namespace zeroloss {

/// Of "cpu", "cuda", "cuda:N", or "auto": a GPU where there is one. Knows linear maps, relu, leaky relu,
/// largest numbers, sums, products and quotients of numbers, and square roots. Products are in float64, and
/// are probed as those of torch_engine(). Throws std::invalid_argument for another name, BackendError for a
/// GPU that is not there, or where LibTorch is not.
std::shared_ptr<const GraphEngine> torch_graphs(const std::string& device = "auto");

}  // namespace zeroloss
