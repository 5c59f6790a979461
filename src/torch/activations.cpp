#include "torch/activations.hpp"

#include <fmt/format.h>
#include <torch/utils.h>

#include <map>
#include <numbers>
#include <stdexcept>

#include "kernel/activations/leaky_relu.hpp"

namespace zeroloss::internal {
namespace {

using torch::Tensor;

// Not LibTorch's ndtr, which loses the left tail.
Tensor normal_cdf(const Tensor& z) { return z.mul(-std::numbers::sqrt2 / 2).erfc_().mul_(0.5); }

Tensor normal_density(const Tensor& z) {
  return z.square().mul_(-0.5).exp_().mul_(std::numbers::inv_sqrtpi / std::numbers::sqrt2);
}

// Of an exponential that cannot overflow: 0.25 at 0, and tanh'(z) = 4 of it at 2 z.
Tensor dlogistic(const Tensor& z) {
  const Tensor decay = z.abs().neg_().exp_();
  return decay / (1 + decay).square_();
}

const std::map<std::string_view, TorchActivation>& known() {
  constexpr double kLeak = activations::LeakyRelu::kLeak;
  static const std::map<std::string_view, TorchActivation> all{
      {"relu",
       {[](const Tensor& z) { return z.clamp_min(0); },
        [](const Tensor& z) { return z.ge(0).to(z.scalar_type()); }}},
      {"softplus",
       {[](const Tensor& z) { return z.abs().neg_().exp_().log1p_().add_(z.clamp_min(0)); },
        [](const Tensor& z) { return z.sigmoid(); }}},
      {"tanh",
       {[](const Tensor& z) { return z.tanh(); }, [](const Tensor& z) { return dlogistic(2 * z).mul_(4); }}},
      {"sigmoid", {[](const Tensor& z) { return z.sigmoid(); }, dlogistic}},
      {"erf",
       {[](const Tensor& z) { return z.erf(); },
        [](const Tensor& z) { return z.square().neg_().exp_().mul_(2 * std::numbers::inv_sqrtpi); }}},
      {"gelu",
       {[](const Tensor& z) { return normal_cdf(z).mul_(z); },
        [](const Tensor& z) { return normal_cdf(z).addcmul_(normal_density(z), z); }}},
      {"silu",
       {[](const Tensor& z) { return z.sigmoid().mul_(z); },
        [](const Tensor& z) { return dlogistic(z).mul_(z).add_(z.sigmoid()); }}},
      {"quadratic",
       {[](const Tensor& z) { return z.square().mul_(0.5); }, [](const Tensor& z) { return z.clone(); }}},
      {"leaky_relu",
       {[](const Tensor& z) { return at::where(z.lt(0), kLeak * z, z); },
        [](const Tensor& z) { return z.ge(0).to(z.scalar_type()).clamp_min_(kLeak); }}},
      {"sin", {[](const Tensor& z) { return z.sin(); }, [](const Tensor& z) { return z.cos(); }}}};
  return all;
}

}  // namespace

TorchActivation torch_activation(const Activation& activation) {
  const auto found = known().find(activation.name);
  if (!activation.tabulated || found == known().end())
    throw std::invalid_argument(fmt::format("fit: a device has no activation {}", activation.name));
  return found->second;
}

}  // namespace zeroloss::internal
