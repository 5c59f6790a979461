#pragma once
#include <functional>

#include "train/checkpoint.hpp"
#include "train/fit_options.hpp"
#include "zeroloss/base/progress.hpp"
#include "zeroloss/processes/process_group.hpp"

/// Who trains the outputs of a run: one after the other here, or each wherever a process of a Group is free.
namespace zeroloss::internal {

constexpr const char* kOutputService = "outputs";

/// Trains one output: appends it to the state's finished ones, or leaves it in state.current once cancelled.
using TrainOutput = std::function<void(Index output, RunState& state, Checkpoint& checkpoint)>;

class Outputs {
 public:
  Outputs() = default;
  virtual ~Outputs() = default;
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;

  /// All `count` outputs that are not in state.finished yet, in their order there at the end. Cancelled, what
  /// is finished without a gap, and maybe the next one as state.current.
  virtual void train(Index count, RunState& state, Checkpoint& checkpoint, const TrainOutput& one);
};

/// Of process 0. The others have the data and the options from it and keep no checkpoint; here one is written
/// as outputs are finished. What they refer to must outlive it.
std::unique_ptr<Outputs> dealt_outputs(const Group& group, const Dataset& data, const FitOptions& options);

/// Of the others.
void serve_outputs(const Group& group);

/// Whether another process can be told: weights that training begins from cannot.
bool can_be_dealt(const FitOptions& options);

}  // namespace zeroloss::internal
