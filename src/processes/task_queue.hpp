#pragma once
#include <functional>
#include <optional>
#include <string>

#include "zeroloss/processes/process_group.hpp"

/// Work handed out to the processes of a Group, one piece after the other, to whoever has done with his last.
/// Tasks and answers are bytes (processes/binary_archive.hpp).
/// Both throw BackendError where MPI was begun so that it does not let several threads send.
namespace zeroloss::internal {

/// Process 0, on one thread: until no task is left and every thread of the others has heard so. `next` and
/// `done` are called on this thread. What one of them throws, or a task elsewhere (DataError and
/// std::invalid_argument as such), is thrown here once all have heard.
void run_tasks(const Group& group, const std::function<std::optional<std::string>()>& next,
               const std::function<void(const std::string&)>& done);

/// The other processes, so many tasks at a time.
void take_dealt(const Group& group, int threads,
                const std::function<std::string(const std::string&)>& compute);

}  // namespace zeroloss::internal
