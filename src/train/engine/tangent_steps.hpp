#pragma once
#include <memory>

#include "train/engine/trainer.hpp"
#include "zeroloss/network/tangent_steps.hpp"

namespace zeroloss::internal {

/// What tangent_steps() keeps beside a Trainer's own, and what a step takes while it is solved.
struct StepBytes {
  double kept = 0, at_work = 0;
};
StepBytes tangent_step_bytes(Index n, Index d, Index m, Space space);

/// The steps of this process, by a Trainer: X are the points as doubles. X and points must outlive it.
std::unique_ptr<TangentSteps> tangent_steps(const RowMatrix& X, const Points<double>& points,
                                            const TwoLayer& start, const Activation& activation, Space space);

}  // namespace zeroloss::internal
