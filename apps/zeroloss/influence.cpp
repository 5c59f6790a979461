#include "zeroloss/audit/influence.hpp"

#include <optional>

#include "command.hpp"
#include "data_options.hpp"
#include "predictor_options.hpp"
#include "zeroloss/present/audit.hpp"

namespace zeroloss::app {
namespace {

struct InfluenceArguments {
  std::string source, out, test;
  ReadOptions read;
  InfluenceOptions influence;
  bool json = false;
};

void run_influence(const InfluenceArguments& options, Session& session) {
  InfluenceOptions settings = options.influence;
  settings.predictor = with_scale(settings.predictor, options.read);
  auto progress = session.progress();
  std::optional<RunFolder> folder;
  if (!options.out.empty())
    folder.emplace(options.out, false, RunFolder::Writers::one, RunFolder::Rest::removed);
  progress.stage("reading " + options.source);
  const Dataset data = read_dataset(options.source, options.read);
  const Dataset test = read_test(options.test, data, options.read, progress);
  InfluenceResult result = influence(data, test, settings, progress, session.group);
  result.seconds = session.seconds();

  const Next next = options.out.empty() ? after_figures(session.arguments, options.out) : Next{};
  if (folder) write_influence(*folder, data, test, options.read, settings, result, session.arguments, next);
  answer(options.json ? influence_json(data, test, settings, result, next) + "\n"
                      : in_flags(influence_text(data, test, settings, result)) + next_text(next));
}

}  // namespace

void add_influence(Command& command, Session& session) {
  command.about("Which training samples make a prediction what it is, and what each of them is worth");
  auto& o = command.runs(run_influence, session);
  o.read.cache = session.cache;
  add_source(command, o.source);
  add_read_options(command, o.read);
  add_fields(command, o.influence, any_field, with_auto);
  command.group("Data")
      .option("--test", o.test, "The points whose predictions are explained, with their labels")
      .type_name("DATA")
      .required();
  command.option("--out", o.out, "Write a run folder: every prediction, the value of every sample [none]");
  command.flag("--json", o.json, "Print one JSON object [off]");
  command.examples(
      {"zeroloss influence train.csv --target species --test new.csv",
       "zeroloss influence train.csv --target price --test new.csv --top 10 --out runs/influence"});
}

}  // namespace zeroloss::app
