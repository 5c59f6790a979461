#include "zeroloss/present/predict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>

#include "command.hpp"
#include "data_options.hpp"
#include "zeroloss/core/error.hpp"
#include "zeroloss/core/run.hpp"
#include "zeroloss/core/text.hpp"
#include "zeroloss/memorize/memorizer.hpp"
#include "zeroloss/network/model.hpp"

namespace zeroloss::app {
namespace {

struct Options {
  std::string model, source, out;
  ReadOptions read;
  bool json = false;
};

/// A model of any kind, as far as predictions go.
struct Model {
  std::string kind, description;
  Task task;
  std::vector<std::string> class_names;
  std::function<Matrix(const RowMatrix&, const Progress&)> outputs;
  std::function<std::vector<Index>(const Matrix& outputs)> classes;  ///< that outputs stand for
};

Model load(const std::string& path) {
  const Metadata metadata = read_metadata(path);
  const auto found = metadata.find("kind");
  const std::string kind = found == metadata.end() ? "" : found->second;
  if (kind == "two_layer") {
    const auto network = std::make_shared<const Network>(load_model(path));
    return {kind,
            fmt::format("two-layer {} network of width {}, {}", network->activation,
                        with_commas(network->width()), network->precision),
            network->task,
            network->class_names,
            [network](const RowMatrix& X, const Progress& p) { return predict(*network, X, p); },
            predicted_classes};
  }
  if (kind == "memorizer") {
    const auto network = std::make_shared<const Memorizer>(load_memorizer(path));
    return {kind,
            fmt::format("memoriser of {} residual blocks of width {}, {}", with_commas(network->blocks()),
                        network->hidden(), network->precision),
            network->task,
            network->class_names,
            [network](const RowMatrix& X, const Progress& p) { return predict(*network, X, p); },
            largest_outputs};
  }
  if (kind == "conv_resnet")
    throw DataError(
        path +
        ": a convolutional network; it predicts with: zeroloss conv predict (files), zeroloss conv eval");
  throw DataError(fmt::format("{}: {}; this version predicts with kinds two_layer and memorizer", path,
                              kind.empty() ? "not a model of zeroloss (no 'kind' in its metadata)"
                                           : fmt::format("a model of kind '{}'", kind)));
}

/// The data, with targets of the model's task if it has any: what looks like classes may be a regression
/// target.
Dataset read_for(const Model& model, const std::string& source, ReadOptions options) {
  const std::string task = name(model.task);
  if (model.task == Task::none) return read_dataset(source, options);
  if (options.task != "auto" && options.task != task)
    throw std::invalid_argument(fmt::format("--task {}: the model was trained for {}", options.task, task));
  Dataset data = read_dataset(source, options);
  if (data.task == Task::none || data.task == model.task) return data;
  options.task = task;
  return read_dataset(source, options);
}

/// Classes are matched by name: those of the data may be others, fewer, or in another order.
void compare_classes(const Dataset& data, Prediction& answer) {
  std::vector<std::string> names;
  for (const std::string& name : data.class_names) names.push_back(utf8(name));
  if (std::ranges::find_first_of(names, answer.class_names) == names.end())
    throw DataError(fmt::format("{}: none of its classes ({}) is one of the model's ({})", data.name,
                                fmt::join(names, ", "), fmt::join(answer.class_names, ", ")));
  for (Index i = 0; i < data.n(); ++i) {
    answer.labels.push_back(names[static_cast<std::size_t>(data.y(i))]);
    if (answer.labels.back() != answer.predicted[static_cast<std::size_t>(i)]) answer.wrong.push_back(i);
  }
  answer.error = static_cast<double>(answer.wrong.size()) / static_cast<double>(data.n());
}

Prediction ask(const std::string& file, const Model& model, const Dataset& data, const Progress& progress) {
  Prediction answer{.model = file,
                    .kind = model.kind,
                    .description = model.description,
                    .task = model.task,
                    .class_names = model.class_names};
  answer.outputs = model.outputs(data.X, progress);
  if (model.task == Task::classification)
    for (const Index k : model.classes(answer.outputs))
      answer.predicted.push_back(model.class_names[static_cast<std::size_t>(k)]);
  if (data.task == Task::none || model.task == Task::none) return answer;
  if (model.task == Task::classification) {
    compare_classes(data, answer);
  } else {
    const double norm_y = data.y.norm(), misfit = (answer.outputs.col(0) - data.y).norm();
    answer.error = norm_y > 0 ? misfit / norm_y : misfit;
  }
  return answer;
}

void run(const Options& options, Session& session) {
  auto progress = session.progress();
  std::string file = options.model;
  if (std::filesystem::is_directory(file)) file = std::filesystem::path(file) / "model.safetensors";
  progress.stage("reading " + file);
  const Model model = load(file);
  progress.stage("reading " + options.source);
  const Dataset data = read_for(model, options.source, options.read);
  progress.stage("predicting");
  const Prediction answer = ask(options.model, model, data, progress);
  if (!options.out.empty()) write_file(options.out, predict_csv(data, answer));
  fmt::print("{}", options.json ? predict_json(data, answer) + "\n" : predict_text(data, answer));
}

}  // namespace

void add_predict(Command& command, Session& session) {
  command.about("What a trained network says about data, and how often it is right");
  auto& o = command.runs(run, session);
  o.read.cache = session.cache;
  command.option("model", o.model, "A .safetensors file, or a run folder that holds model.safetensors")
      .required();
  command.option("data", o.source, "A file, a folder, or a name such as digits; labels are compared if there")
      .required();
  add_read_options(command, o.read);
  command.option("--out", o.out, "Write record, label, prediction and outputs of every point as csv [none]")
      .type_name("FILE.csv");
  command.flag("--json", o.json, "Print one JSON object [off]");
}

}  // namespace zeroloss::app
