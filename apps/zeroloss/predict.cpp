#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
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

using Json = nlohmann::ordered_json;

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

/// What the model says about every point, and how that compares with the labels if there are any.
struct Answer {
  Matrix outputs;
  std::vector<std::string> predicted;  ///< class names; empty unless classification
  std::vector<std::string> labels;     ///< of the points; empty unless classification with labels
  std::vector<Index> wrong;            ///< points, ascending
  std::optional<double> error;         ///< fraction wrong, or relative misfit; nothing without labels
};

std::string points(Index n) { return fmt::format("{} {}", with_commas(n), n == 1 ? "point" : "points"); }

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
void compare_classes(const Model& model, const Dataset& data, Answer& answer) {
  std::vector<std::string> names;
  for (const std::string& name : data.class_names) names.push_back(utf8(name));
  if (std::ranges::find_first_of(names, model.class_names) == names.end())
    throw DataError(fmt::format("{}: none of its classes ({}) is one of the model's ({})", data.name,
                                fmt::join(names, ", "), fmt::join(model.class_names, ", ")));
  for (Index i = 0; i < data.n(); ++i) {
    answer.labels.push_back(names[static_cast<std::size_t>(data.y(i))]);
    if (answer.labels.back() != answer.predicted[static_cast<std::size_t>(i)]) answer.wrong.push_back(i);
  }
  answer.error = static_cast<double>(answer.wrong.size()) / static_cast<double>(data.n());
}

Answer ask(const Model& model, const Dataset& data, const Progress& progress) {
  Answer answer;
  answer.outputs = model.outputs(data.X, progress);
  if (model.task == Task::classification)
    for (const Index k : model.classes(answer.outputs))
      answer.predicted.push_back(model.class_names[static_cast<std::size_t>(k)]);
  if (data.task == Task::none || model.task == Task::none) return answer;
  if (model.task == Task::classification) {
    compare_classes(model, data, answer);
  } else {
    const double norm_y = data.y.norm(), misfit = (answer.outputs.col(0) - data.y).norm();
    answer.error = norm_y > 0 ? misfit / norm_y : misfit;
  }
  return answer;
}

// ---- text ----

std::string conclusion(const Dataset& data, const Answer& answer) {
  const Index n = data.n(), right = n - std::ssize(answer.wrong);
  if (!answer.error) return fmt::format("{}, no labels to compare with", points(n));
  if (answer.labels.empty()) return fmt::format("relative misfit {:.3g} on {}", *answer.error, points(n));
  if (right == n) return n == 1 ? "the point is right" : fmt::format("all {} are right", points(n));
  const Index permille = right * 1000 / n;  // rounded down: 100 % is said of all only
  return fmt::format("{}.{} % of {} right", permille / 10, permille % 10, points(n));
}

struct ClassCount {
  std::string name;
  Index n = 0, wrong = 0;
  std::map<std::string, Index> taken_for;

  double error() const { return static_cast<double>(wrong) / static_cast<double>(n); }
};

std::string class_table(const Model& model, const Dataset& data, const Answer& answer) {
  constexpr std::size_t kShown = 12;
  std::vector<ClassCount> counts;
  for (const std::string& name : data.class_names) counts.push_back({utf8(name), 0, 0, {}});
  for (Index i = 0; i < data.n(); ++i) {
    ClassCount& count = counts[static_cast<std::size_t>(data.y(i))];
    const std::string& predicted = answer.predicted[static_cast<std::size_t>(i)];
    ++count.n;
    if (predicted != count.name) ++count.wrong, ++count.taken_for[predicted];
  }
  const std::size_t all = counts.size();
  if (all > kShown) std::ranges::stable_sort(counts, std::ranges::greater{}, &ClassCount::error);
  counts.resize(std::min(all, kShown));
  Table table({"class", "points", "wrong", "error", "mostly taken for"});
  for (const ClassCount& count : counts) {
    const auto most = std::ranges::max_element(count.taken_for, {}, [](const auto& e) { return e.second; });
    const bool known = std::ranges::find(model.class_names, count.name) != model.class_names.end();
    table.add({count.name, with_commas(count.n), with_commas(count.wrong),
               fmt::format("{:.1f} %", 100 * count.error()),
               (count.wrong > 0 ? most->first : "") + (known ? "" : " (a class the model does not know)")});
  }
  return table.text() + (all > kShown ? fmt::format("and {} more with smaller errors\n", all - kShown) : "");
}

std::string sample_table(const Dataset& data, const Answer& answer) {
  constexpr std::size_t kShown = 10;
  Table table({"sample", "label", "predicted"});
  for (std::size_t k = 0; k < std::min(kShown, answer.wrong.size()); ++k) {
    const auto i = static_cast<std::size_t>(answer.wrong[k]);
    table.add({fmt::format("{}", data.records[i]), answer.labels[i], answer.predicted[i]});
  }
  std::string text = "wrong\n" + table.text("  ");
  if (answer.wrong.size() > kShown)
    text += fmt::format("  and {} more (--out lists all)\n", answer.wrong.size() - kShown);
  return text;
}

std::string residual_table(const Dataset& data, const Answer& answer) {
  const Vector residual = (answer.outputs.col(0) - data.y).cwiseAbs();
  std::vector<Index> order(static_cast<std::size_t>(data.n()));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Index>(i);
  const std::size_t shown = std::min<std::size_t>(5, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(shown), std::ranges::greater{},
                            [&](Index i) { return residual(i); });
  Table table({"sample", "target", "predicted"});
  for (std::size_t k = 0; k < shown; ++k)
    table.add({fmt::format("{}", data.records[static_cast<std::size_t>(order[k])]),
               short_number(data.y(order[k])), short_number(answer.outputs(order[k], 0))});
  return "furthest off\n" + table.text("  ");
}

std::string text_of(const Options& options, const Model& model, const Dataset& data, const Answer& answer) {
  std::string text =
      fmt::format("{}: {}\n{}: {}\n", data.name, conclusion(data, answer), options.model, model.description);
  if (!answer.error) return text;
  if (answer.labels.empty()) return text + "\n" + residual_table(data, answer);
  text += "\n" + class_table(model, data, answer);
  return answer.wrong.empty() ? text : text + "\n" + sample_table(data, answer);
}

// ---- files ----

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string csv_of(const Model& model, const Dataset& data, const Answer& answer) {
  const bool numbers = model.task == Task::regression;
  std::string text = "record";
  if (answer.error) text += numbers ? ",target" : ",label";
  if (model.task != Task::none) text += ",predicted";
  if (!numbers)  // there the output is what is predicted
    for (Index k = 0; k < answer.outputs.cols(); ++k)
      text += answer.outputs.cols() == std::ssize(model.class_names)
                  ? "," + csv_field("output_" + model.class_names[static_cast<std::size_t>(k)])
                  : fmt::format(",output_{}", k);
  text += '\n';
  for (Index i = 0; i < data.n(); ++i) {
    const auto place = static_cast<std::size_t>(i);
    text += fmt::format("{}", data.records[place]);
    if (answer.error)
      text += ',' + (numbers ? fmt::format("{}", data.y(i)) : csv_field(answer.labels[place]));
    if (!answer.predicted.empty()) text += ',' + csv_field(answer.predicted[place]);
    for (const double output : answer.outputs.row(i)) text += fmt::format(",{}", output);
    text += '\n';
  }
  return text;
}

Json json_of(const Options& options, const Model& model, const Dataset& data, const Answer& answer) {
  Json predictions = answer.predicted, outputs = Json::array();
  for (const auto& row : answer.outputs.rowwise()) {
    if (model.task == Task::regression) predictions.push_back(row(0));
    outputs.push_back(std::vector<double>(row.begin(), row.end()));
  }
  return {{"model", options.model},
          {"kind", model.kind},
          {"data", data.name},
          {"n", data.n()},
          {"error", answer.error ? Json(*answer.error) : Json()},
          {"predictions", model.task == Task::none ? Json() : predictions},
          {"outputs", outputs}};
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
  const Answer answer = ask(model, data, progress);
  if (!options.out.empty()) write_file(options.out, csv_of(model, data, answer));
  if (options.json)
    fmt::print("{}\n", dump(json_of(options, model, data, answer)));
  else
    fmt::print("{}", text_of(options, model, data, answer));
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
