#include "zeroloss/present/predict.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "command.hpp"
#include "data_options.hpp"
#include "field_options.hpp"
#include "model_options.hpp"
#include "output_file.hpp"
#include "zeroloss/base/run.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::app {
namespace {

struct PredictArguments {
  std::string model, source, out;
  ModelArguments reading;
  PredictOptions options;
  ReadOptions read;
  bool json = false;
};

bool is_run(const std::string& path) { return std::filesystem::exists(path + "/model.safetensors"); }

void run_predict(const PredictArguments& options, Session& session) {
  const bool csv_is_answer = is_standard_output(options.out);
  if (csv_is_answer && options.json)
    throw std::invalid_argument("--json and --out -: both are for standard output; give one of them");
  if (!options.out.empty() && !csv_is_answer)
    check_output(options.out, {model_file(options.model), options.source});
  if (!is_run(options.model) && is_run(options.source))
    throw std::invalid_argument(fmt::format("MODEL comes before DATA: zeroloss predict {}",
                                            shell_command({options.source, options.model})));
  auto progress = session.progress();
  progress.stage("reading " + options.model);
  const Model in_file = open_model(options.model, layout_of(options.reading), options.reading.graph);
  progress.stage("reading " + options.source);
  const Dataset data = select_for(in_file, open_source(options.source, options.read), options.read);
  progress.stage("predicting");
  const Model model = with_task_of(in_file, data, options.options);
  const Prediction prediction = predict(model, data, progress);
  if (csv_is_answer) {
    write_answer(predict_csv(model, data, prediction));
  } else if (!options.out.empty()) {
    make_folders_of(options.out);
    write_file(options.out, predict_csv(model, data, prediction));
  }
  const Next next = after_predict(options.model, data, options.read, options.out);
  const std::string text =
      options.json ? predict_json(options.model, model, data, prediction, next) + "\n"
                   : in_flags(predict_text(options.model, model, data, prediction, !options.out.empty())) +
                         "\n" + next_text(next);
  csv_is_answer ? tell(text) : answer(text);
}

}  // namespace

void add_predict(Command& command, Session& session) {
  command.about("What a trained network says about data, and how often it is right");
  auto& o = command.runs(run_predict, session);
  o.read.cache = session.cache;
  command
      .option(
          "model", o.model,
          "A run folder that holds model.safetensors, a .safetensors file (a network, or a state_dict), or "
          "an .onnx file")
      .required();
  command
      .option("data", o.source,
              "A file, a folder, - (standard input), or a name such as digits; labels are compared if there")
      .required();
  add_read_options_of_model(command, o.read);
  add_model_options(command, o.reading);
  add_fields(command, o.options);
  command
      .option(
          "--out", o.out,
          "Write sample, label, prediction and outputs of every point as csv; - is standard output, and what "
          "else would be there goes to standard error [none]")
      .type_name("FILE.csv");
  command.flag("--json", o.json, "Print one JSON object [off]");
  command.examples({"zeroloss predict runs/first digits --classes 3,8", "zeroloss predict net.onnx digits",
                    "zeroloss predict runs/exact table.csv --target price --out predicted.csv",
                    "zeroloss predict runs/exact table.csv --target price --out - | head -3"});
}

}  // namespace zeroloss::app
