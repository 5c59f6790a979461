#pragma once
#include <torch/types.h>

#include <vector>

#include "zeroloss/conv/resnet.hpp"

/// Kernels of blocks written as a gain times a direction, for training alone [Salimans & Kingma 2016; Qiao et
/// al. 2019]: w = g (v - mean v) / ||v - mean v|| for each output channel. The stem stays as it is.
namespace zeroloss::internal {

/// Weights as ConvNetwork has them, and after them the gains of each block's convolutions, out numbers a
/// layer, with which they stand for the kernels less their means. Float32.
torch::Tensor with_gains(const torch::Tensor& weights, const std::vector<ConvLayer>& layers);

/// What with_gains() made, in parts that share its numbers: the kernels v of all layers as matrices, out x
/// (kernel kernel in), then the gains of all but the stem, out x 1.
std::vector<torch::Tensor> parts(const torch::Tensor& flat, const std::vector<ConvLayer>& layers);

/// The kernels w of such parts, and what their gradient takes.
struct StandardizedKernels {
  std::vector<torch::Tensor> w;                 ///< each as views() in forward.hpp has them
  std::vector<torch::Tensor> z, mean, inverse;  ///< of layers but the stem: z = (v - mean v) / deviation
};
StandardizedKernels standardized(const std::vector<torch::Tensor>& parts,
                                 const std::vector<ConvLayer>& layers, torch::ScalarType type);

/// The gradient by the parts, of that by the kernels w as they lie; of the stem or without it, as `gradient`.
std::vector<torch::Tensor> gradient_by_parts(const StandardizedKernels& kernels,
                                             const std::vector<torch::Tensor>& parts,
                                             const std::vector<torch::Tensor>& gradient);

}  // namespace zeroloss::internal
