#include "kernel/kernel_named.hpp"

#include <fmt/format.h>

#include <regex>
#include <stdexcept>

#include "zeroloss/base/parse.hpp"
#include "zeroloss/kernel/activation.hpp"
#include "zeroloss/kernel/deep.hpp"

namespace zeroloss::internal {

Kernel kernel_named(const std::string& name) {
  std::smatch found;
  if (std::regex_match(name, found, std::regex(R"(G\^([1-9]\d{0,3}))")))
    return power(leading_integer(found[1].str()));
  if (std::regex_match(name, found, std::regex(R"(Sigma(~?)\(([^,()]+)\))"))) {
    const Activation& phi = activation(found[2].str());
    return found[1].length() > 0 ? sigma_features(phi) : sigma(phi);
  }
  if (std::regex_match(name, found,
                       std::regex(R"((Theta_L|rho_L)\(([^,()]+), (\d{1,4}) (layers|blocks, a = 1)\))"))) {
    const Activation& phi = activation(found[2].str());
    const Depth depth{.layers = leading_integer(found[3].str()), .residual = found[4] != "layers"};
    return found[1] == "rho_L" ? deep_features(phi, depth) : deep_tangent(phi, depth);
  }
  throw std::invalid_argument(fmt::format("the kernel {} is none that other processes know", name));
}

}  // namespace zeroloss::internal
