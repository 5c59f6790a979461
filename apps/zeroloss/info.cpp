#include "zeroloss/present/info.hpp"

#include <fmt/format.h>

#include "command.hpp"

namespace zeroloss::app {
namespace {

struct InfoArguments {
  bool json = false;
};

void run_info(const InfoArguments& options, Session&) {
  answer(options.json ? info_json() + "\n" : in_flags(info_text()));
}

}  // namespace

void add_info(Command& command, Session& session) {
  command.about("Version, processor features and BLAS in use, and what is slow about them");
  auto& o = command.runs(run_info, session);
  command.flag("--json", o.json, "Print one JSON object [off]");
  command.examples({"zeroloss info", "zeroloss info --json", "OPENBLAS_CORETYPE=Haswell zeroloss info"});
}

}  // namespace zeroloss::app
