#include "conv/standardize.hpp"

#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <torch/utils.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>

namespace zeroloss::internal {
namespace {

constexpr double kSmall = 1e-24;  // added to variances; those of drawn kernels are never 0

double root(std::int64_t count) { return std::sqrt(static_cast<double>(count)); }

}  // namespace

torch::Tensor with_gains(const torch::Tensor& weights, const std::vector<ConvLayer>& layers) {
  std::vector<torch::Tensor> all{weights};
  std::int64_t at = layers.front().weights();
  for (std::size_t j = 1; j < layers.size(); ++j) {
    const std::int64_t count = layers[j].weights();
    const torch::Tensor rows = weights.narrow(0, at, count).view({layers[j].out, -1});
    all.push_back((rows - rows.mean(1, true)).norm(2, 1));
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

StandardizedKernels standardized(const std::vector<torch::Tensor>& parts,
                                 const std::vector<ConvLayer>& layers, torch::ScalarType type) {
  StandardizedKernels kernels;
  for (std::size_t j = 0; j < layers.size(); ++j) {
    torch::Tensor rows = parts[j];
    if (j > 0) {
      const auto [z, mean, inverse] = at::native_layer_norm(rows, rows.size(1), {}, {}, kSmall);
      rows = z * (parts[layers.size() + j - 1] / root(rows.size(1)));
      kernels.z.push_back(z);
      kernels.mean.push_back(mean);
      kernels.inverse.push_back(inverse);
    }
    const std::int64_t k = layers[j].kernel;
    kernels.w.push_back(rows.to(type).view({layers[j].out, k, k, layers[j].in}).permute({0, 3, 1, 2}));
  }
  return kernels;
}

std::vector<torch::Tensor> gradient_by_parts(const StandardizedKernels& kernels,
                                             const std::vector<torch::Tensor>& parts,
                                             const std::vector<torch::Tensor>& gradient) {
  const std::size_t count = kernels.z.size(), stem = gradient.size() - count;
  std::vector<torch::Tensor> all(stem + 2 * count);
  if (stem == 1) all.front() = gradient.front().to(torch::kFloat32);
  for (std::size_t j = 0; j < count; ++j) {
    const torch::Tensor &v = parts[1 + j], &gain = parts[1 + count + j];
    const torch::Tensor g = gradient[stem + j].view(v.sizes()).to(torch::kFloat32);
    all[stem + count + j] = (g * kernels.z[j]).sum(1, true).div_(root(v.size(1)));
    all[stem + j] = std::get<0>(at::native_layer_norm_backward(g * (gain / root(v.size(1))), v, v.size(1),
                                                               kernels.mean[j], kernels.inverse[j], {}, {},
                                                               {true, false, false}));
  }
  return all;
}

}  // namespace zeroloss::internal
