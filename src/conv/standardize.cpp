#include "conv/standardize.hpp"

#include <torch/utils.h>

namespace zeroloss::internal {
namespace {

torch::Tensor centred(const torch::Tensor& rows) { return rows - rows.mean(1, true); }

torch::Tensor length(const torch::Tensor& rows) {
  return rows.norm(2, 1, true).clamp_min(1e-12);  // drawn ones are never constant
}

}  // namespace

torch::Tensor with_gains(const torch::Tensor& weights, const std::vector<ConvLayer>& layers) {
  const torch::NoGradGuard no_gradients;
  std::vector<torch::Tensor> all{weights};
  std::int64_t at = layers.front().weights();
  for (std::size_t j = 1; j < layers.size(); ++j) {
    const std::int64_t count = layers[j].weights();
    all.push_back(length(centred(weights.narrow(0, at, count).view({layers[j].out, -1}))).view(-1));
    at += count;
  }
  return torch::cat(all);
}

std::vector<torch::Tensor> parts(const torch::Tensor& flat, const std::vector<ConvLayer>& layers) {
  std::vector<torch::Tensor> all;
  std::int64_t at = 0;
  const auto next = [&](std::int64_t rows, std::int64_t columns) {
    all.push_back(flat.narrow(0, at, rows * columns).view({rows, columns}));
    at += rows * columns;
  };
  for (const ConvLayer& layer : layers) next(layer.out, layer.weights() / layer.out);
  for (std::size_t j = 1; j < layers.size(); ++j) next(layers[j].out, 1);
  return all;
}

std::vector<torch::Tensor> standardized(const std::vector<torch::Tensor>& parts,
                                        const std::vector<ConvLayer>& layers, torch::ScalarType type) {
  std::vector<torch::Tensor> kernels;
  for (std::size_t j = 0; j < layers.size(); ++j) {
    torch::Tensor rows = parts[j];
    if (j > 0) {
      const torch::Tensor direction = centred(rows);
      rows = direction * (parts[layers.size() + j - 1] / length(direction));
    }
    const std::int64_t k = layers[j].kernel;
    kernels.push_back(rows.to(type).view({layers[j].out, k, k, layers[j].in}).permute({0, 3, 1, 2}));
  }
  return kernels;
}

}  // namespace zeroloss::internal
