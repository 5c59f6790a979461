#pragma once
#include "proof/certified_points.hpp"
#include "train/checkpoint.hpp"
#include "train/fit_options.hpp"
#include "train/test_points.hpp"
#include "train/theory_curve.hpp"

/// The outputs of a two-layer network, one after the other.
namespace zeroloss::internal {

/// What all outputs of a run share.
struct Run {
  const CheckedOptions& options;
  const Activation& activation;
  const TrainingSet& set;
  const CertifiedPoints& distinct;  ///< points, which certificates are about
  const RowMatrix& X;               ///< unit rows of all samples
  const Matrix& Y;                  ///< a column an output
  Space space;
  PointTheory theory;
  std::optional<TestPoints> test = {};
  Points<double> points64 = {};  ///< one of the two, by precision
  Points<float> points32 = {};
};

/// Trains output `index`, from `state.current` if there is one, and appends it to state.finished. Leaves it
/// in state.current, with status interrupted, once `progress` is cancelled.
void train_output(const Run& run, Index index, const std::string& label, RunState& state,
                  Checkpoint& checkpoint, Progress& progress);

}  // namespace zeroloss::internal
