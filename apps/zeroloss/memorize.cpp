#include "zeroloss/present/memorize.hpp"

#include <fmt/format.h>

#include <optional>

#include "command.hpp"
#include "data_options.hpp"
#include "field_options.hpp"

namespace zeroloss::app {
namespace {

struct MemorizeArguments {
  std::string source, out;
  ReadOptions read;
  MemorizeOptions memorize;
  std::vector<std::string> require;
  bool json = false, copy_points = false;
};

void run_memorize(const MemorizeArguments& options, Session& session) {
  MemorizeOptions settings = options.memorize;
  settings.seed = options.read.seed;
  auto progress = session.progress();
  std::optional<RunFolder> folder;
  if (!options.out.empty()) {
    folder.emplace(options.out, false, RunFolder::Writers::one, RunFolder::Rest::removed);
    folder->copy_points(options.copy_points);
  }
  progress.stage("reading " + options.source);
  const Dataset data = read_dataset(options.source, options.read);
  MemorizeResult result = memorize(data, settings, progress);
  result.seconds = session.seconds();

  const Next next = after_memorize(data, options.read, settings, result, options.out);
  if (folder && result.network)
    write_memorize(*folder, data, options.read, settings, result, session.arguments, next);
  answer(options.json ? memorize_json(data, settings, result, next) + "\n"
                      : in_flags(memorize_text(data, settings, result)) + next_text(next));
  if (result.status != MemorizeStatus::memorized) session.exit_code = kRequirementFailed;
  require(options.require, session,
          [&](const std::string&) { return result.status == MemorizeStatus::memorized; });
}

}  // namespace

void add_memorize(Command& command, Session& session) {
  command.about("Write down a residual network that is right at every point, without training, and check it");
  auto& o = command.runs(run_memorize, session);
  o.read.cache = session.cache;
  add_source(command, o.source);
  add_read_options(command, o.read);

  add_fields(command, o.memorize);
  command.option("--require", o.require, "Exit with 1 unless this holds: memorized [none]")
      .one_of({"memorized"})
      .repeated();
  command.option("--out", o.out, "Write a run folder: model, margins, result, manifest [none]");
  add_copy_points(command, o.copy_points);
  command.flag("--json", o.json, "Print one JSON object [off]");
  command.examples({"zeroloss memorize digits", "zeroloss memorize table.csv --target price --out runs/exact",
                    "zeroloss memorize digits --labels random --precision float32"});
}

}  // namespace zeroloss::app
