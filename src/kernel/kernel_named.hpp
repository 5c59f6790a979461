#pragma once
#include <string>

#include "zeroloss/kernel/gram.hpp"

namespace zeroloss::internal {

/// The kernel whose `name` this is, of the library's activations: so that one process can tell another which
/// one is meant. Throws std::invalid_argument for others.
Kernel kernel_named(const std::string& name);

}  // namespace zeroloss::internal
