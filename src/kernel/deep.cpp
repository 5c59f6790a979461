#include "zeroloss/kernel/deep.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "kernel/deep_kernel.hpp"

namespace zeroloss {
using namespace internal;

void internal::check(const Depth& depth) {
  if (depth.layers < 1 || depth.layers > 1000)
    throw std::invalid_argument(fmt::format("depth must be from 1 to 1000 layers; got {}", depth.layers));
  if (!(depth.scale > 0 && std::isfinite(depth.scale * depth.scale)))
    throw std::invalid_argument(fmt::format("a residual branch's scale must be > 0; got {}", depth.scale));
}

namespace {

Kernel deep_kernel(const Activation& activation, const Depth& depth, bool features) {
  check(depth);
  const std::string what = depth.residual ? fmt::format("{} blocks, a = {:g}", depth.layers, depth.scale)
                                          : fmt::format("{} layers", depth.layers);
  return {.name = fmt::format("{}({}, {})", features ? "rho_L" : "Theta_L", activation.name, what),
          .deep = std::make_shared<const DeepKernel>(activation, depth, features)};
}

}  // namespace

Kernel deep_features(const Activation& activation, const Depth& depth) {
  return deep_kernel(activation, depth, true);
}

Kernel deep_tangent(const Activation& activation, const Depth& depth) {
  return deep_kernel(activation, depth, false);
}

Kernel tangent(const Activation& activation, const Depth& depth) {
  return depth.deep() ? deep_tangent(activation, depth) : sigma(activation);
}

}  // namespace zeroloss
