#include "zeroloss/deep/prove.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "command.hpp"
#include "data_options.hpp"
#include "field_options.hpp"
#include "model_options.hpp"
#include "output_file.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/deep/model.hpp"
#include "zeroloss/models/models.hpp"
#include "zeroloss/models/read.hpp"
#include "zeroloss/present/prove.hpp"

namespace zeroloss::app {
namespace {

struct ProveArguments {
  std::string model, source, out, device;
  ModelArguments reading;
  ReadOptions read;
  ProveOptions prove;
  std::vector<std::string> targets, require;
  bool json = false, copy_points = false;
};

std::string check_prove_property(const std::string& text) {
  return text == "right" || text == "exact" || text == "descent"
             ? ""
             : fmt::format("'{}' is not a property of a network; take right, exact or descent", text);
}

bool holds(const std::string& text, const ProveResult& result) {
  const ProvedNetwork& last = result.networks.back();
  if (text == "right")
    return last.right == result.n && (!result.executed || result.executed->right == result.n);
  return text == "exact" ? last.certificate.exists : last.certificate.descends;
}

// With the targets that options name, or those of a source.
Dataset read_for(const Model& model, const ProveArguments& options) {
  const auto read = [&](const ReadOptions& how) {
    return select_for(model, open_source(options.source, how), how);
  };
  if (options.targets.empty()) return read(options.read);
  std::vector<Dataset> of_each;
  for (ReadOptions how : reading_each(options.source, options.targets, options.read)) {
    if (how.task == "auto") how.task = "regression";
    of_each.push_back(read(how));
  }
  return joined_targets(std::move(of_each), options.read);
}

void run_prove(const ProveArguments& options, Session& session) {
  const auto engine = session.graphs(session, options.device);
  auto progress = session.progress();
  std::optional<RunFolder> folder;
  if (!options.out.empty()) {
    folder.emplace(options.out, false, RunFolder::Writers::one, RunFolder::Rest::removed);
    folder->copy_points(options.copy_points);
  }
  progress.stage("reading " + options.model);
  ReadNetwork read = read_any_network(options.model, layout_of(options.reading), options.reading.graph);
  if (engine) {
    if (!read.graph || read.layers())
      throw std::invalid_argument(fmt::format(
          "--device evaluates graphs, and {} is read as a network of layers: leave it out", options.model));
    read.graph->engine = engine;
  }
  progress.stage("reading " + options.source);
  Model model =
      read.layers() ? model_of(std::make_shared<const DeepNetwork>(read.network)) : model_of(*read.graph);
  model.its_classes = true;
  const Dataset data = read_for(model, options);
  ProveResult result = prove(read, data, options.prove, progress);
  result.seconds = session.seconds();

  const Next next = after_prove(session.arguments, options.prove, result, options.out);
  if (folder)
    write_prove(*folder, options.model, read, data, options.read, options.prove, result, session.arguments,
                next, progress);
  answer(options.json
             ? prove_json(options.model, read, data, options.prove, result, next) + "\n"
             : in_flags(prove_text(options.model, read, data, options.prove, result)) + next_text(next));
  require(options.require, session, [&](const std::string& property) { return holds(property, result); });
}

}  // namespace

void add_prove(Command& command, Session& session) {
  command.about("What can be proved of a trained network: labels, margins, an exact network beside it");
  auto& o = command.runs(run_prove, session);
  o.read.cache = session.cache;
  command
      .option("model", o.model,
              "An .onnx file, a .safetensors file (a network, or a state_dict), or a run folder")
      .required();
  command
      .option("data", o.source,
              "A file, a folder, - (standard input), or a name such as digits, with its labels")
      .required();
  add_read_options_of_model(command, o.read);
  add_targets(command, o.targets,
              "csv: columns of numbers that are targets, one for each output in their order [none]");
  add_fields(command, o.prove);
  add_model_options(command, o.reading);
  command
      .option("--require", o.require,
              "Exit with 1 unless this is proved, of the polished network where there is one: "
              "right (all labels, also as --execution asks), exact (a network of zero loss nearby) or "
              "descent [none]")
      .check(check_prove_property, "PROPERTY")
      .repeated();
  command
      .option(
          "--device", o.device,
          "Evaluate a graph, such as a convolutional network, with LibTorch on cpu, cuda, cuda:N, or auto: "
          "a GPU where there is one [none]")
      .type_name("DEVICE");
  command.option("--out", o.out, "Write a run folder: result, polished network, manifest [none]");
  add_copy_points(command, o.copy_points);
  command.flag("--json", o.json, "Print one JSON object [off]");
  command.examples({"zeroloss prove digits.onnx digits --divide 16",
                    "zeroloss prove digits.onnx digits --divide 16 --polish --out runs/proved",
                    "zeroloss prove net.onnx digits --classes 3,8 --class-names 0..9",
                    "zeroloss prove state.safetensors table.csv --target price --activation tanh --polish",
                    "zeroloss prove net.onnx table.csv --targets width,height"});
}

}  // namespace zeroloss::app
