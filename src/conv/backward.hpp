#pragma once
#include <torch/types.h>

#include <vector>

#include "zeroloss/conv/resnet.hpp"

/// The network's gradient, written out: what lies between the convolutions is done in place, or while the two
/// paths of a block are added.
namespace zeroloss::internal {

/// The sum of cross-entropies over images, labels smoothed, and its gradient by the outputs.
struct CrossEntropy {
  torch::Tensor loss, gradient;  ///< a number; images x classes
};
CrossEntropy cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels, double smoothing);

/// The gradient by the weights of each layer, of the stem or without it, as they lie: out x kernel x kernel x
/// in, contiguous. `inputs`: of forward() with these weights, each let go of once it was needed; `gradient`:
/// by its outputs.
std::vector<torch::Tensor> backward(const std::vector<ConvLayer>& layers,
                                    const std::vector<torch::Tensor>& weights,
                                    std::vector<torch::Tensor> inputs, const torch::Tensor& projection,
                                    const torch::Tensor& gradient, bool stem);

}  // namespace zeroloss::internal
