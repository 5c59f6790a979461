#include <algorithm>

#include "command.hpp"

namespace zeroloss::app {

void add_check(Command& command, Session& session) {
  command.about(
      "Decide again what a run folder says is proved, by a program that shares nothing with this one");
  command.leave_arguments(/*help_too=*/true);  // they are the other program's
  command.runs([&session] {
    // The word "check" stands where the name of a program does, behind global options.
    auto arguments = session.arguments;
    arguments.erase(arguments.begin(), std::ranges::find(arguments, "check"));
    become("zeroloss-check", std::move(arguments), "what was built where FLINT is has it");
  });
  command.examples({"zeroloss check runs/first", "zeroloss check --all --json runs/first",
                    "zeroloss check --kind lambda_min --precision 512 runs/first"});
}

}  // namespace zeroloss::app
