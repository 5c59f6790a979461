#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "command.hpp"
#include "zeroloss/core/blas.hpp"
#include "zeroloss/core/run.hpp"
#include "zeroloss/version.hpp"

namespace zeroloss::app {
namespace {

struct Options {
  bool json = false;
};

void run(const Options& options, Session&) {
  const auto blas = blas_info();
  auto machine = nlohmann::ordered_json::parse(machine_json());
  if (options.json) {
    nlohmann::ordered_json all{{"version", ZEROLOSS_VERSION}};
    all.update(machine);
    all["warning"] = blas.warning.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(blas.warning);
    fmt::print("{}\n", dump(all));
    return;
  }
  fmt::print("zeroloss {}\n\n", ZEROLOSS_VERSION);
  Table table({"processor", machine["processor"].get<std::string>()});
  table.add({"vector kernels", machine["simd"].get<std::string>()});
  table.add({"threads", fmt::format("{} (OpenMP)", thread_count())});
  table.add({"BLAS", blas.library});
  table.add({"BLAS kernel", blas.kernel});
  table.add({"BLAS threading", blas.threading});
  table.add({"memory free", fmt::format("{:.1f} GB", machine["memory_available_bytes"].get<double>() / 1e9)});
  table.add({"optional parts", "conv, a program of its own: zeroloss conv --help"});
  table.add({"compiler", machine["compiler"].get<std::string>()});
  fmt::print("{}", table.text());
  if (!blas.warning.empty()) fmt::print("\nwarning: {}\n", blas.warning);
}

}  // namespace

void add_info(Command& command, Session& session) {
  command.about("Version, processor features and BLAS in use, and what is slow about them");
  auto& o = command.runs(run, session);
  command.flag("--json", o.json, "Print one JSON object [off]");
}

}  // namespace zeroloss::app
