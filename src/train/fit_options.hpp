#pragma once
#include "zeroloss/train/fit.hpp"

namespace zeroloss::internal {

/// The options with the default tolerance filled in. Throws std::invalid_argument naming one that is out of
/// range or does not go with another.
FitOptions checked(FitOptions options);

/// Optimizers that have no form in Gram space.
bool weights_only(const FitOptions& options);

/// Gradient descent on this many points is taken by SmallTrainer: quicker there, and the same bits in fit and
/// sweep.
bool trains_small(const FitOptions& options, Index n, Index d);

}  // namespace zeroloss::internal
