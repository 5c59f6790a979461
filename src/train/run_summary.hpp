#pragma once
#include "train/checkpoint.hpp"
#include "train/fit_options.hpp"

/// What the trainings of a run amount to together.
namespace zeroloss::internal {

/// What decides the course of a run: a checkpoint of another one is refused.
Checkpoint::Identity run_identity(const CheckedOptions& options, const RowMatrix& X,
                                  const Standardization& standardization, const Matrix& Y);

/// Status, steps, misfit and certificate of all that is finished, whose results it takes. Y are all targets,
/// a column an output, of which each training has one, or a single training all.
void gather_results(RunState& state, const Matrix& Y, bool together, FitResult& result);

/// The conclusion, of so many trainings.
void conclude(FitResult& result, std::size_t expected);

}  // namespace zeroloss::internal
