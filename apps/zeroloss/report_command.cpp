#include "command.hpp"
#include "zeroloss/core/error.hpp"

namespace zeroloss::app {

void add_report(CLI::App& app, Session&) {
  auto* command = app.add_subcommand(
      "report", "Write one page with the answer, tables and figures of a run folder (Python package)");
  command->allow_extras()->fallthrough(false);  // its arguments are the Python package's business
  command->callback([] {
    throw BackendError("report is written by the Python package; install it: pip install zeroloss");
  });
}

}  // namespace zeroloss::app
