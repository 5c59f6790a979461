#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "conv/group-inl.hpp"

namespace zeroloss::internal {

std::unique_ptr<Group> join_nccl(const ConvProcess& process) {
  using Nccl = c10d::ProcessGroupNCCL;
  return std::make_unique<Processes<Nccl>>(process, "NCCL", [&](const auto& store) {
    const auto options = Nccl::Options::create();
    options->timeout = kTogether;
    return c10::make_intrusive<Nccl>(store, process.rank, process.world, options);
  });
}

}  // namespace zeroloss::internal
