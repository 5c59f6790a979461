#include "zeroloss/kernel/activation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "kernel/activations/list.hpp"

namespace zeroloss {
using namespace internal;
namespace {

template <class Description>
Activation described(const char* name, Description) {
  Activation a;
  a.name = name;
  a.phi = [](double z) { return Description::phi(z); };
  a.dphi = &Description::dphi;
  if constexpr (requires { &Description::d2phi; }) a.d2phi = &Description::d2phi;
  a.B = Description::B;
  a.M = Description::M;
  a.dphi_parity = Description::parity;
  a.tabulated = true;
  if constexpr (requires { Description::kLeak; }) a.leak = Description::kLeak;
  return a;
}

const auto& all() {
#define ZEROLOSS_ROW(name, Description) described(#name, activations::Description()),
  static const std::array activations{ZEROLOSS_ACTIVATIONS(ZEROLOSS_ROW)};
#undef ZEROLOSS_ROW
  return activations;
}

}  // namespace

Phi internal::phi_of(const Activation& activation) {
  const auto found = std::find_if(all().begin(), all().end(),
                                  [&](const Activation& a) { return a.name == activation.name; });
  if (!activation.tabulated || found == all().end())
    throw std::invalid_argument("phi_of: the library has no activation \"" + activation.name + "\"");
  return static_cast<Phi>(found - all().begin());
}

const Activation& activation(std::string_view name) {
  for (const Activation& a : all())
    if (a.name == name) return a;
  throw std::invalid_argument(fmt::format("activation: name must be one of {}; got \"{}\"",
                                          fmt::join(activation_names(), ", "), name));
}

std::vector<std::string> activation_names() {
  std::vector<std::string> names;
  for (const Activation& a : all()) names.push_back(a.name);
  return names;
}

}  // namespace zeroloss
