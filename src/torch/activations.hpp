#pragma once
#include <torch/types.h>

#include "zeroloss/kernel/activation.hpp"

namespace zeroloss::internal {

/// An activation of the library, a tensor of pre-activations at a time, to a few roundings of LibTorch's
/// functions; phi'(0) as in kernel/activation.hpp.
struct TorchActivation {
  torch::Tensor (*phi)(const torch::Tensor& z);
  torch::Tensor (*dphi)(const torch::Tensor& z);
};

/// Throws std::invalid_argument for one that is not the library's.
TorchActivation torch_activation(const Activation& activation);

}  // namespace zeroloss::internal
