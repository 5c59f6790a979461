#include "conv/group.hpp"

namespace zeroloss::internal {

std::unique_ptr<Group> join_group(const ConvProcess& process, const Compute& compute) {
  if (process.world == 1) return nullptr;
  return compute.device.is_cuda() ? join_nccl(process) : join_gloo(process);
}

}  // namespace zeroloss::internal
