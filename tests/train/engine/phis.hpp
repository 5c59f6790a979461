#pragma once
#include <cstddef>

#include "kernel/activations/list.hpp"

/// Every activation that passes know.
namespace zeroloss::test {

#define ZEROLOSS_ROW(name, Description) internal::Phi::name,
inline constexpr internal::Phi kAll[] = {ZEROLOSS_ACTIVATIONS(ZEROLOSS_ROW)};
#undef ZEROLOSS_ROW

inline const char* name(internal::Phi phi) {
#define ZEROLOSS_ROW(name, Description) #name,
  static constexpr const char* kNames[] = {ZEROLOSS_ACTIVATIONS(ZEROLOSS_ROW)};
#undef ZEROLOSS_ROW
  return kNames[static_cast<std::size_t>(phi)];
}

}  // namespace zeroloss::test
