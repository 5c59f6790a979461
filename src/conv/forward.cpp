#include "conv/forward.hpp"

#include <ATen/Context.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "torch/cuda.hpp"
#include "torch/device.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/conv/augment.hpp"
#include "zeroloss/conv/batches.hpp"
#include "zeroloss/conv/train.hpp"

namespace zeroloss::internal {
namespace {

/// Whether LibTorch multiplies bfloat16 by the processor's own instructions, at twice the rate of float32.
bool processor_has_bfloat16() {
#if defined(__x86_64__)
  return at::globalContext().hasMKLDNN() && __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

}  // namespace

Compute compute_of(const ConvDevice& options, int local_rank, bool deterministic) {
  if (options.precision != "auto" && options.precision != "float32" && options.precision != "bfloat16")
    throw std::invalid_argument(
        fmt::format("conv: precision must be float32, bfloat16 or auto; got '{}'", options.precision));
  if (options.threads < 0)
    throw std::invalid_argument(fmt::format("conv: threads must be >= 0; got {}", options.threads));
  const torch::Device device = device_of("conv", options.device, local_rank);
  const bool half = options.precision == "bfloat16" ||
                    (options.precision == "auto" && (device.is_cuda() || processor_has_bfloat16()));
  if (device.is_cuda()) {
    cuda::use(device.index());
    cuda::configure(deterministic);
  }
  // Of convolutions on a processor, and of decoding: launchers of several processes set OpenMP's to 1.
  at::set_num_threads(options.threads > 0
                          ? options.threads
                          : static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  return {device, half ? torch::kBFloat16 : torch::kFloat32, options.mirror};
}

std::string device_name(const Compute& compute) { return device_name(compute.device); }

std::string precision_name(const Compute& compute) {
  return compute.type == torch::kBFloat16 ? "bfloat16" : "float32";
}

torch::Tensor to_device(const std::vector<float>& numbers, const torch::Device& device) {
  // from_blob() asks for a pointer to what it may change; the clone is what is kept.
  return torch::from_blob(const_cast<float*>(numbers.data()), {static_cast<std::int64_t>(numbers.size())})
      .to(device, torch::kFloat32, /*non_blocking=*/false, /*copy=*/true);
}

std::vector<float> to_host(const torch::Tensor& numbers) {
  const torch::Tensor host = numbers.to(torch::kCPU, torch::kFloat32).contiguous();
  return {host.data_ptr<float>(), host.data_ptr<float>() + host.numel()};
}

std::vector<torch::Tensor> views(const torch::Tensor& flat, const std::vector<ConvLayer>& layers) {
  std::vector<torch::Tensor> all;
  std::int64_t at = 0;
  for (const ConvLayer& layer : layers) {
    all.push_back(flat.narrow(0, at, layer.weights())
                      .view({layer.out, layer.kernel, layer.kernel, layer.in})
                      .permute({0, 3, 1, 2}));
    at += layer.weights();
  }
  return all;
}

torch::Tensor forward(const std::vector<ConvLayer>& layers, const std::vector<torch::Tensor>& weights,
                      const torch::Tensor& projection, const torch::Tensor& images,
                      std::vector<torch::Tensor>* inputs) {
  const auto convolve = [&](const torch::Tensor& x, std::size_t j) {
    if (inputs != nullptr) inputs->push_back(x);
    return torch::conv2d(x, weights[j], {}, layers[j].stride, layers[j].kernel / 2);
  };
  torch::Tensor h = convolve(images.permute({0, 3, 1, 2}).to(weights.front().scalar_type()), 0);
  for (std::size_t j = 1; j < layers.size(); j += 2) {
    const torch::Tensor inner = convolve(h, j).relu_();
    torch::Tensor next = convolve(inner, j + 1);
    if (layers[j].stride > 1) h = torch::avg_pool2d(h, layers[j].stride);
    next.narrow(1, 0, layers[j].in).add_(h);  // as with zero channels appended to h
    h = next;
  }
  return h.to(torch::kFloat32).mean({2, 3}).mm(projection);
}

void predict_rows(const std::vector<ConvLayer>& layers, const std::vector<torch::Tensor>& weights,
                  const torch::Tensor& projection, const ImageSet& images, Index first, Index last,
                  const Compute& compute, Progress& progress, Index batch, const UseRows& use) {
  const Index size = layers.front().size * layers.front().stride;
  Augment whole;
  whole.size = size;
  whole.crop = "resized";
  std::vector<Index> indices(static_cast<std::size_t>(batch));
  // A GPU computes one batch while the next is prepared: asking for its outputs is what waits.
  torch::Tensor pending;
  Index pending_first = first;
  const auto collect = [&] {
    if (!pending.defined()) return;
    const torch::Tensor rows = pending.to(torch::kCPU).contiguous();
    use(pending_first, Eigen::Map<const Logits>(rows.data_ptr<float>(), rows.size(0), rows.size(1)));
    progress.advance(static_cast<double>(rows.size(0)));
  };
  for (Index at = first; at < last; at += batch) {
    progress.check();
    const Index count = std::min(batch, last - at);
    indices.resize(static_cast<std::size_t>(count));
    std::iota(indices.begin(), indices.end(), at);
    torch::Tensor x = torch::empty({count, size, size, 3});
    fill_evaluation(images, whole, indices, x.data_ptr<float>());
    collect();
    x = x.to(compute.device);
    pending = forward(layers, weights, projection, x);
    if (compute.mirror) pending.add_(forward(layers, weights, projection, x.flip(2))).div_(2);
    pending_first = at;
  }
  collect();
}

}  // namespace zeroloss::internal
