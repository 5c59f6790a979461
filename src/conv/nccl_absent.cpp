#include "conv/group.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss::internal {

std::unique_ptr<Group> join_nccl(const ConvProcess&) {
  throw BackendError(
      "conv: several processes on GPUs need NCCL, whose header was not there when this was built (nccl.h)");
}

}  // namespace zeroloss::internal
