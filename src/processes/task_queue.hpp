#pragma once
#include <functional>
#include <optional>
#include <string>

#include "zeroloss/processes/process_group.hpp"

/// A queue of tasks for the processes of a Group: process 0 leads, an idle worker asks it for the next task.
/// Tasks and answers are bytes (processes/binary_archive.hpp).
/// Both throw BackendError where MPI was begun so that it does not let several threads send.
namespace zeroloss::internal {

/// Process 0, on one thread: until no task is left and every thread of the others has heard so. `next` and
/// `done` are called on this thread. What one of them throws, or a task elsewhere (DataError and
/// std::invalid_argument as such), is thrown here once all have heard.
void run_tasks(const Group& group, const std::function<std::optional<std::string>()>& next,
               const std::function<void(const std::string&)>& done);

/// The workers, which compute so many tasks at a time.
void work_on_tasks(const Group& group, int threads,
                   const std::function<std::string(const std::string&)>& compute);

}  // namespace zeroloss::internal
