#pragma once
#include <functional>
#include <vector>

#include "sweep/distributed_trials.hpp"
#include "sweep/store.hpp"
#include "zeroloss/network/descents.hpp"
#include "zeroloss/sweep/sweep.hpp"

/// Trials whose networks a device trains side by side.
namespace zeroloss::internal {

/// Throws std::invalid_argument naming an option, or a value of an axis, that the device does not go with.
void check_together(const SweepOptions& options, const std::vector<Cell>& cells);

/// What a trial takes of a device.
struct TrialSize {
  DescentShape shape;  ///< of each of its networks
  Index networks = 1;
};
/// Throws as compute().
TrialSize size_of(const TrialTask& task);

/// How many of the first trials of the list, which have these sizes, to train at once: as many as the device
/// and the memory of this process take, unless filling up networks to the largest shape would take more than
/// twice the time that they take themselves, and much of it: at least 1. Throws ResourceError where there is
/// no place for one network.
std::size_t together(const std::vector<TrialSize>& sizes, const DescentRules& rules,
                     const DescentEngine& engine);

/// compute() of all of them: steps on the device, what comes before and after here, a
/// trial a thread. `done`, which several threads call, hears of each once it has ended.
void compute_together(std::vector<TrialTask> tasks, DescentEngine& engine,
                      const std::function<void(const TrialRow&)>& done, Progress& progress);

}  // namespace zeroloss::internal
