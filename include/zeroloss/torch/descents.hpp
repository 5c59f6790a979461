#pragma once
#include <memory>
#include <string>

#include "zeroloss/network/descents.hpp"

/// Many small networks as tensors of LibTorch: a batched product for all of them at once.
namespace zeroloss {

/// Of "cpu", "cuda", "cuda:N", or "auto": a GPU where there is one. Products are those of the precision: TF32
/// stays off. On a GPU a step is recorded once and started again as one graph. Throws std::invalid_argument
/// for another name, BackendError for a GPU that is not there, or where LibTorch is not.
std::unique_ptr<DescentEngine> torch_descents(const std::string& device = "auto");

}  // namespace zeroloss
