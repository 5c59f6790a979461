#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "conv/group-inl.hpp"

namespace zeroloss::internal {

std::unique_ptr<Group> join_gloo(const ConvProcess& process) {
  using Gloo = c10d::ProcessGroupGloo;
  return std::make_unique<Processes<Gloo>>(process, "gloo", [&](const auto& store) {
    const auto options = Gloo::Options::create(kTogether);
    options->devices.push_back(Gloo::createDefaultDevice());
    return c10::make_intrusive<Gloo>(store, process.rank, process.world, options);
  });
}

}  // namespace zeroloss::internal
