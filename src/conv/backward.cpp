#include "conv/backward.hpp"

#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/threshold_backward.h>
#include <torch/utils.h>

#include <cstddef>
#include <cstdint>

namespace zeroloss::internal {
namespace {

/// batch x channels x height x width as batch x height x width x channels, as it lies.
torch::Tensor channels_last(const torch::Tensor& x) {
  return x.permute({0, 2, 3, 1}).contiguous();  // which it is, wherever LibTorch convolves channels-last
}

}  // namespace

CrossEntropy cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels, double smoothing) {
  const torch::Tensor log_p = logits.log_softmax(1),
                      classes = torch::arange(logits.size(1), labels.options());
  const torch::Tensor targets = labels.unsqueeze(1)
                                    .eq(classes)
                                    .to(torch::kFloat32)
                                    .mul_(1 - smoothing)
                                    .add_(smoothing / static_cast<double>(logits.size(1)));
  return {(targets * log_p).sum().neg_(), log_p.exp().sub_(targets)};
}

std::vector<torch::Tensor> backward(const std::vector<ConvLayer>& layers,
                                    const std::vector<torch::Tensor>& weights,
                                    std::vector<torch::Tensor> inputs, const torch::Tensor& projection,
                                    const torch::Tensor& gradient, bool stem) {
  std::vector<torch::Tensor> all(layers.size());
  // Keeps the gradient by the weights of layer j, of that by its output; returns that by its input.
  const auto convolve = [&](const torch::Tensor& g, std::size_t j) {
    const std::int64_t stride = layers[j].stride, pad = layers[j].kernel / 2;
    const bool more = j > (stem ? 0 : 1);
    auto [by_input, by_weights, _] = at::convolution_backward(
        g, inputs[j], weights[j], at::OptionalIntArrayRef{}, {stride, stride}, {pad, pad}, {1, 1},
        /*transposed=*/false, {0, 0}, /*groups=*/1, {more, true, false});
    all[j] = channels_last(by_weights);
    return by_input;
  };

  const torch::Tensor& last = inputs.back();  // which has the size of the features
  torch::Tensor g = gradient.mm(projection.t())
                        .div_(static_cast<double>(last.size(2) * last.size(3)))
                        .to(last.scalar_type())
                        .view({last.size(0), layers.back().out, 1, 1})
                        .expand({-1, -1, last.size(2), last.size(3)})
                        .contiguous(at::MemoryFormat::ChannelsLast);
  for (std::size_t block = layers.size() / 2; block-- > 0;) {
    const std::size_t j = 2 * block + 1;
    torch::Tensor by_relu = convolve(g, j + 1);
    at::threshold_backward_out(by_relu, by_relu, inputs[j + 1], 0);
    torch::Tensor by_input = convolve(by_relu, j);
    if (!by_input.defined()) break;
    // Each pixel of a window gets its share of the gradient of the mean; appended channels send none.
    const std::int64_t s = layers[j].stride;
    by_input = channels_last(by_input);
    by_input.unflatten(2, {g.size(3), s})
        .unflatten(1, {g.size(2), s})
        .add_(channels_last(g).narrow(3, 0, layers[j].in).unsqueeze(3).unsqueeze(2),
              1 / static_cast<double>(s * s));
    g = by_input.permute({0, 3, 1, 2});
    inputs.resize(j);
  }
  if (stem)
    convolve(g, 0);
  else
    all.erase(all.begin());
  return all;
}

}  // namespace zeroloss::internal
