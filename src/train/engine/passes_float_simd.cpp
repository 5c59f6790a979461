// The passes in single precision.
#define ZEROLOSS_NUMBER float

// foreach_target includes this file once for each instruction set, before anything of Highway's.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "train/engine/passes_float_simd.cpp"
#include <hwy/foreach_target.h>
#include "train/engine/passes-inl.hpp"
// clang-format on

#if HWY_ONCE
#include <algorithm>
#include <array>
#include <stdexcept>

namespace zeroloss::internal::passes {

Phi kind(const Activation& activation) {
  constexpr std::array<const char*, 8> kNames{"relu", "softplus", "tanh", "sigmoid",
                                              "erf",  "gelu",     "silu", "quadratic"};
  const auto found = std::find(kNames.begin(), kNames.end(), activation.name);
  if (!activation.tabulated || found == kNames.end())
    throw std::invalid_argument("passes: \"" + activation.name + "\" is not one of the eight activations");
  return static_cast<Phi>(found - kNames.begin());
}

}  // namespace zeroloss::internal::passes
#endif
