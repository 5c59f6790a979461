#pragma once
#include "train/fit_options.hpp"

/// fit() of networks with many layers.
namespace zeroloss::internal {

/// Throws std::invalid_argument for options that are for two-layer networks only.
void check_deep(const CheckedOptions& options);

FitResult fit_deep(const Dataset& data, CheckedOptions options, Progress& progress);

}  // namespace zeroloss::internal
