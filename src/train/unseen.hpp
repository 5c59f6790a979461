#pragma once
#include <optional>

#include "network/prepare.hpp"
#include "train/fit_options.hpp"
#include "zeroloss/kernel/gram.hpp"

/// What to expect of a trained network on points that it has not seen.
namespace zeroloss::internal {

/// Of predictions without each point, whose residuals these are: LabelVerdict::error.
double left_out_error(const Dataset& points, const Matrix& Y, const Matrix& residuals);

/// FitResult::leave_one_out_error and guessing_error: of the infinitely wide network with this kernel that
/// fits the distinct points. Nothing above 3,000 points, where labels of equal points differ, and of a trial.
void expect_of_unseen(const TrainingSet& set, const CheckedOptions& options, const Kernel& kernel,
                      FitResult& result, Progress& progress);

}  // namespace zeroloss::internal
