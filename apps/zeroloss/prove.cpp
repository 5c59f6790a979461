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
  std::string model, source, out;
  ModelArguments reading;
  ReadOptions read;
  ProveOptions prove;
  std::vector<std::string> require;
  bool json = false;
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

void run_prove(const ProveArguments& options, Session& session) {
  auto progress = session.progress();
  std::optional<RunFolder> folder;
  if (!options.out.empty())
    folder.emplace(options.out, false, RunFolder::Writers::one, RunFolder::Rest::removed);
  progress.stage("reading " + options.model);
  const ReadNetwork read = read_any_network(options.model, layout_of(options.reading), options.reading.graph);
  progress.stage("reading " + options.source);
  Model model =
      read.layers() ? model_of(std::make_shared<const DeepNetwork>(read.network)) : model_of(*read.graph);
  model.its_classes = true;
  const Dataset data = select_for(model, open_source(options.source, options.read), options.read);
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
  add_fields(command, o.prove);
  add_model_options(command, o.reading);
  command
      .option("--require", o.require,
              "Exit with 1 unless this is proved, of the polished network where there is one: "
              "right (all labels, also as --execution asks), exact (a network of zero loss nearby) or "
              "descent [none]")
      .check(check_prove_property, "PROPERTY")
      .repeated();
  command.option("--out", o.out, "Write a run folder: result, polished network, manifest [none]");
  command.flag("--json", o.json, "Print one JSON object [off]");
  command.examples({"zeroloss prove digits.onnx digits --divide 16",
                    "zeroloss prove digits.onnx digits --divide 16 --polish --out runs/proved",
                    "zeroloss prove net.onnx digits --classes 3,8 --class-names 0..9",
                    "zeroloss prove state.safetensors table.csv --target price --activation tanh --polish"});
}

}  // namespace zeroloss::app
