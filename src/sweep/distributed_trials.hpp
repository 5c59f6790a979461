#pragma once
#include <functional>
#include <optional>

#include "sweep/store.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/processes/process_group.hpp"

/// Trials handed out to the processes of a Group, one by one, to whoever has done with his.
namespace zeroloss::internal {

constexpr const char* kTrialService = "trials";

/// A trial with all it takes to compute it elsewhere. `row` has what is known before.
struct TrialTask {
  TrialRow row;
  Dataset data;
  FitOptions fit;
  bool certify = false;
};

/// An error about its data, and which trial it was.
std::string in_words(const char* error, const TrialRow& row);

/// What it takes to compute one, here as elsewhere: row.trial and the sizes. Throws what fit throws;
/// DataError says which trial it was.
TrialRow compute(TrialTask task, Progress& progress);

/// Process 0, on a thread of its own, as run_tasks() of processes/task_queue.hpp.
void deal_trials(const Group& group, const std::function<std::optional<TrialTask>()>& next,
                 const std::function<void(const TrialRow&)>& done);

/// The other processes, a trial a thread.
void serve_trials(const Group& group);

}  // namespace zeroloss::internal
