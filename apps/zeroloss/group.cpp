#include "group.hpp"

#include <fmt/format.h>

#include "command.hpp"
#include "zeroloss/cluster/cluster.hpp"
#include "zeroloss/core/error.hpp"
#include "zeroloss/sweep/sweep.hpp"
#include "zeroloss/train/fit.hpp"

namespace zeroloss::app {

Services all_services() {
  Services services = cluster_services();
  services.merge(fit_services());
  services.merge(sweep_services());
  return services;
}

int run_in_group(const std::vector<std::string>& arguments, const std::string& cache) {
  // `conv` has processes of its own, which begin it themselves.
  const bool alone = arguments.size() > 1 && arguments[1] == "conv";
  Group group;
  try {
    if (!alone) group = Group::world();
  } catch (const BackendError& error) {
    tell(fmt::format("zeroloss: {}\n", error.what()));
    return kMissing;
  }
  if (!group.leads()) return serve(group, all_services());
  const int code = run(arguments, cache, group);
  group.dismiss(code);
  return code;
}

}  // namespace zeroloss::app
