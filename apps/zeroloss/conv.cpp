#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "command.hpp"
#include "zeroloss/core/error.hpp"

namespace zeroloss::app {

// A program of its own: LibTorch takes half a second to load, which nobody should wait for who does not use
// it.
void add_conv(Command& command, Session& session) {
  command.about("Train an all-convolutional residual network on images; evaluate it");
  command.leave_arguments(/*help_too=*/true);
  command.runs([&session] {
    const std::string program =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "zeroloss-conv";
    const auto& all = session.arguments;
    std::vector<std::string> arguments(std::ranges::find(all, "conv"), all.end());
    arguments.front() = program;
    if (session.quiet) arguments.emplace_back("--quiet");
    if (session.threads > 0) arguments.push_back(fmt::format("--threads={}", session.threads));
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    // Threads that wait for each other do not spin: beside other programs that made training ten times
    // slower.
    setenv("OMP_WAIT_POLICY", "passive", /*replace=*/0);
    execv(program.c_str(), argv.data());
    throw BackendError(program + ": cannot be started: " + std::strerror(errno) +
                       "; a build of the C++ project has it (the Python package does not)");
  });
}

}  // namespace zeroloss::app
