#include "group.hpp"

#include <fmt/format.h>

#include "address_space.hpp"
#include "command.hpp"
#include "zeroloss/audit/audit.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/threads.hpp"
#include "zeroloss/cluster/cluster.hpp"
#include "zeroloss/sweep/sweep.hpp"
#include "zeroloss/train/fit.hpp"

namespace zeroloss::app {

Services all_services() {
  Services services = cluster_services();
  services.merge(audit_services());
  services.merge(fit_services());
  services.merge(sweep_services());
  return services;
}

int run_in_group(const std::vector<std::string>& arguments, const std::string& cache) {
  // `conv` has processes of its own, which begin it themselves.
  const bool alone = arguments.size() > 1 && arguments[1] == "conv";
  Group group;
  try {
    if (!alone) group = Group::world(launched_processes());
  } catch (const BackendError& error) {
    tell(fmt::format("zeroloss: {}\n", error.what()));
    return kMissing;
  }
  if (group.size() > 1) {
    // MPI takes of a limited address space too, and what holds a part of a matrix must leave BLAS its
    // buffers.
    const Room room = room_for_threads();
    if (room == Room::none) group.abort(kMissing, no_room());
    if (room == Room::one) set_thread_count(1);
    reserve_buffers(thread_count());
  }
  if (!group.leads()) return serve(group, all_services());
  const int code = run(arguments, cache, group);
  group.dismiss(code);
  return code;
}

}  // namespace zeroloss::app
