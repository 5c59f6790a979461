#include "zeroloss/models/models.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "models/kind.hpp"
#include "sources/table_source.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/deep/output_classes.hpp"
#include "zeroloss/graph/network.hpp"

namespace zeroloss {
namespace internal {

ModelKind two_layer(), kernel(), memorizer(), deep(), conv_resnet();

std::string label_of(Task task) { return task == Task::classification ? ", label [batch] int64" : ""; }

}  // namespace internal
using namespace internal;
namespace {

const std::vector<ModelKind>& kinds() {
  static const std::vector<ModelKind> all{two_layer(), kernel(), memorizer(), deep(), conv_resnet()};
  return all;
}

Prediction answer(const Model& model, const Dataset& points, const Progress& progress) {
  Prediction answer;
  if (model.decided) {
    auto [outputs, decided] = model.decided(points.X, progress);
    answer.outputs = std::move(outputs);
    answer.decided = std::move(decided);
  } else {
    answer.outputs = model.outputs(points.X, progress);
  }
  for (Index i = 0; i < answer.outputs.rows(); ++i)
    if (!answer.outputs.row(i).allFinite())
      throw DataError(
          fmt::format("{}: the model's outputs for sample {} are beyond the range of numbers: its "
                      "training diverged, or its points are of another scale",
                      points.name, points.records.empty() ? i : points.records[static_cast<std::size_t>(i)]));
  if (model.task == Task::classification)
    for (const Index k : model.classes(answer.outputs))
      answer.predicted.push_back(model.class_names[static_cast<std::size_t>(k)]);
  return answer;
}

/// With answer.labels, of which `names` are the different ones.
void compare(const Model& model, const std::string& data, const std::vector<std::string>& names,
             Prediction& answer) {
  if (std::ranges::find_first_of(names, model.class_names) == names.end())
    throw DataError(fmt::format("{}: none of its classes ({}) is one of the model's ({}){}", data,
                                excerpt(names), excerpt(model.class_names),
                                hint_of_names(model.class_names)));
  for (std::size_t i = 0; i < answer.labels.size(); ++i)
    if (answer.labels[i] != answer.predicted[i]) answer.wrong.push_back(static_cast<Index>(i));
  answer.error = static_cast<double>(answer.wrong.size()) / static_cast<double>(answer.labels.size());
}

}  // namespace

Model open_model(const std::filesystem::path& path, const StateLayout& layout, const GraphOptions& graph) {
  const std::filesystem::path place = is_directory(path) ? path / "model.safetensors" : path;
  const std::string file = place.string();
  const auto as_read = [&] {
    const ReadNetwork read = read_network(place, layout, graph);
    Model model = read.layers() ? model_of(std::make_shared<const DeepNetwork>(read.network))
                                : model_of(*read.graph, true);
    model.notes = read.notes;
    return model;
  };
  const bool said = !layout.activation.empty() || !layout.description.empty() || !graph.shape.empty() ||
                    !graph.output_name.empty();
  if (said || is_of_others(place)) return as_read();
  const Metadata metadata = read_metadata(file);
  const auto found = metadata.find("kind");
  if (found != metadata.end())
    for (const ModelKind& kind : kinds())
      if (found->second == kind.name) return kind.open(file, metadata);
  std::vector<std::string> known;
  for (const ModelKind& kind : kinds()) known.emplace_back(kind.name);
  throw DataError(fmt::format("{}: {}; those that can be opened are {}", file,
                              found == metadata.end()
                                  ? "not a model of zeroloss (no 'kind' in its metadata; of a state_dict say "
                                    "what is between its layers, `activation`, or all of them, `layout`)"
                                  : fmt::format("a model of kind '{}'", excerpt(found->second)),
                              fmt::join(known, ", ")));
}

Dataset select_for(const Model& model, Source source, ReadOptions options) {
  source = widened(std::move(source), model.inputs);
  const bool columns_known = source.table && !model.encoding.empty();
  const auto refuse = [](const char* option) {
    throw std::invalid_argument(
        fmt::format("`{}` is for training: a model takes its points as it was trained on them, and its file "
                    "says how or they "
                    "are taken as they are; leave it out",
                    option));
  };
  if (columns_known && !options.features.empty()) refuse("features");
  if (columns_known && !options.drop.empty()) refuse("drop");
  if (columns_known && !options.one_hot.empty()) refuse("one_hot");
  if (options.standardize != "auto") refuse("standardize");
  if (options.bias) refuse("bias");
  if (columns_known && !model.encoding.na_values.empty()) {
    DataTable table = *source.table;
    take_as_missing(table, model.encoding.na_values);
    read_cells(table);
    source.table = std::make_shared<const DataTable>(std::move(table));
    if (source.target) take_target(source, *source.table, source.target, options.task);
  }
  const std::string& target = model.encoding.target;
  if (source.table && options.target.empty() && !target.empty())
    if (const auto& columns = source.table->columns; std::ranges::count(columns, target, &Column::name) == 1)
      take_target(source, *source.table, std::ranges::find(columns, target, &Column::name) - columns.begin(),
                  model.task == Task::none ? options.task : name(model.task));
  if (model.task != Task::none) {
    const std::string task = name(model.task);
    if (options.task != "auto" && options.task != task)
      throw std::invalid_argument(fmt::format("`task={}`: the model was trained for {}", options.task, task));
    options.task = source.numbers.empty() && source.texts.empty() ? "auto" : task;
  }
  return select(
      source, options,
      {.encoding = columns_known ? &model.encoding : nullptr,
       .class_names = model.its_classes && !model.class_names.empty() ? &model.class_names : nullptr,
       .one_class = model.its_classes || !model.class_names.empty()});
}

Model with_task_of(Model model, const Dataset& data, const PredictOptions& options) {
  const auto refuse = [&](const std::string& why) {
    if (!options.class_names.empty()) throw std::invalid_argument(fmt::format("`class_names`: {}", why));
    return model;
  };
  const bool classes = model.task == Task::classification, asked = !options.class_names.empty();
  if (model.task == Task::regression) return refuse("the model was trained for numbers");
  if ((classes || data.task == Task::none) && !asked) return model;
  if (data.n() == 0) return refuse("there are no points");
  NetworkOutputs its{.count = model.outputs(data.X.topRows(1), {}).cols()};
  if (classes) {
    its.class_names = model.class_names;
  } else if (const auto* deep = std::any_cast<std::shared_ptr<const DeepNetwork>>(&model.network)) {
    its = outputs_of(**deep);
  } else if (const auto* graph = std::any_cast<std::shared_ptr<const GraphNetwork>>(&model.network)) {
    its.class_names = class_names_of(**graph, its.count);
    if ((*graph)->labels && its.class_names.empty())  // they are numbers
      for (Index k = 0; k < std::max<Index>(its.count, 2); ++k) its.class_names.push_back(fmt::to_string(k));
    its.behind = (*graph)->behind;
  }
  if (data.task == Task::regression) {
    if (its.count != 1) {
      model.notes.push_back(
          fmt::format("targets are not compared with: each is one number, the network has {}",
                      count(its.count, "output", "outputs")));
    } else if (!its.behind.empty()) {
      model.notes.push_back("targets are not compared with: the output is what stands before " + its.behind);
    } else {
      model.task = Task::regression;
      model.notes.emplace_back("the output is compared with the targets");
    }
    return refuse("targets are numbers");
  }
  try {
    const auto [names, remark] = output_classes(its, data, options.class_names);
    model.task = Task::classification;
    model.class_names.clear();
    for (const std::string& name : names) model.class_names.push_back(utf8(name));
    if (!remark.empty()) model.notes.push_back(remark);
  } catch (const DataError& error) {
    model.notes.push_back(fmt::format("labels are not compared with: {}", error.what()));
  }
  return model;
}

Prediction predict(const Model& model, const Dataset& data, const Progress& progress) {
  if (model.task != Task::none && data.task != Task::none && data.task != model.task)
    throw std::invalid_argument(fmt::format(
        "predict: the Dataset has targets of {0}; the model was trained for {1}: read it with `task={1}`",
        name(data.task), name(model.task)));
  Prediction said = answer(model, data, progress);
  if (data.task == Task::none || model.task == Task::none) return said;
  if (model.task == Task::classification) {
    std::vector<std::string> names;
    names.reserve(data.class_names.size());
    for (const std::string& name : data.class_names) names.push_back(utf8(name));
    said.labels.reserve(static_cast<std::size_t>(data.y.size()));
    for (const double y : data.y) said.labels.push_back(names[static_cast<std::size_t>(y)]);
    compare(model, data.name, names, said);
  } else {
    const double norm_y = data.y.norm(), misfit = (said.outputs.col(0) - data.y).norm();
    said.error = norm_y > 0 ? misfit / norm_y : misfit;
  }
  return said;
}

}  // namespace zeroloss
