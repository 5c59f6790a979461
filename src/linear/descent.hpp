#pragma once
#include "zeroloss/linear/linear_resnet.hpp"

namespace zeroloss::internal {

/// What descend() throws std::invalid_argument for, before any work.
void check_descent(Index layers, const DescentOptions& options);

}  // namespace zeroloss::internal
