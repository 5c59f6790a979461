#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "command.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss::app {
namespace {

// A program of its own, which shares no code with this one.
[[noreturn]] void become_check(std::vector<std::string> arguments) {
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "zeroloss-check";
  arguments.erase(arguments.begin());  // "check" stands where the name of a program does
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  throw BackendError(program + ": cannot be started: " + std::strerror(errno) +
                     "; a build of the C++ project with FLINT has it (the Python package does not)");
}

}  // namespace

void add_check(Command& command, Session& session) {
  command.about(
      "Decide again what a run folder says is proved, by a program that shares nothing with this one");
  command.leave_arguments(/*help_too=*/false);  // they are the other program's
  command.runs([&session] { become_check(session.arguments); });
  command.examples({"zeroloss check runs/first", "zeroloss check --all --json runs/first",
                    "zeroloss check --kind lambda_min --precision 512 runs/first"});
}

}  // namespace zeroloss::app
