#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "command.hpp"

namespace zeroloss::app {

void add_conv(Command& command, Session& session) {
  command.about("Train an all-convolutional residual network on images; evaluate it");
  command.leave_arguments(/*help_too=*/true);
  command.runs([&session] {
    const auto& all = session.arguments;
    std::vector<std::string> arguments{all.front()};
    arguments.insert(arguments.end(), std::ranges::find(all, "conv"), all.end());
    if (session.quiet) arguments.emplace_back("--quiet");
    if (session.threads > 0) arguments.push_back(fmt::format("--threads={}", session.threads));
    // Threads that wait for each other do not spin: beside other programs that made training ten times
    // slower.
    setenv("OMP_WAIT_POLICY", "passive", /*replace=*/0);
    become_torch(std::move(arguments));
  });
}

}  // namespace zeroloss::app
