#include "conv/group.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss::internal {

std::unique_ptr<Group> join_gloo(const ConvProcess&) {
  throw BackendError(
      "conv: several processes on CPUs need gloo, whose headers were not there when this was built (Debian: "
      "libgloo-dev)");
}

}  // namespace zeroloss::internal
