#include "command.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss::app {

void add_report(Command& command, Session&) {
  command.about("Write one page with the answer, tables and figures of a run folder (Python package)");
  command.leave_arguments(/*help_too=*/false);  // they are the Python package's business
  command.runs([] {
    throw BackendError(
        "report is written by the Python package; in the source tree: pip install \".[report]\"");
  });
  command.examples({"zeroloss report runs/first", "zeroloss report runs/first --format svg",
                    "zeroloss report runs/first --format pdf --out figures"});
}

}  // namespace zeroloss::app
