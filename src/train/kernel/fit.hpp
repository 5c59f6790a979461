#pragma once
#include "train/fit_options.hpp"

/// fit() of the infinitely wide network: kernel ridge regression, solved at once.
namespace zeroloss::internal {

/// Throws std::invalid_argument for options that are for networks with weights, and for a ridge that is none.
void check_kernel_ridge(const CheckedOptions& options);

/// Conjugate gradients have the kernel's tiles on all processes of the group.
FitResult fit_kernel(const Dataset& data, const CheckedOptions& options, Progress& progress,
                     const Group& group = {});

}  // namespace zeroloss::internal
