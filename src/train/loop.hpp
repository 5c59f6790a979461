#pragma once
#include "train/checkpoint.hpp"
#include "train/expectation.hpp"
#include "train/fit_options.hpp"
#include "train/test_points.hpp"

/// The training loop: steps, records, certificates, stops and checkpoints of one output.
namespace zeroloss::internal {

/// What all outputs of a run share.
struct Run {
  const CheckedOptions& options;
  const Activation& activation;
  const TrainingSet& set;
  const RowMatrix& X;  ///< unit rows of all samples
  const Matrix& Y;     ///< a column an output
  Space space;
  PointTheory theory;
  std::optional<TestPoints> test = {};
  Points<double> points64 = {};  ///< one of the two, by precision
  Points<float> points32 = {};
};

/// Whether a misfit ends a run: at most the tolerance, or not finite or above 1000 times the start's.
enum class Ending { none, converged, diverged };
constexpr double kDiverged = 1000;
Ending ended(double misfit, double start, double tolerance);

/// Trains output `index`, from `state.current` if there is one, and appends it to state.finished. Leaves it
/// in state.current, with status interrupted, once `progress` is cancelled.
void train_output(const Run& run, Index index, const std::string& label, RunState& state,
                  Checkpoint& checkpoint, Progress& progress);

}  // namespace zeroloss::internal
