#include "zeroloss/graph/network.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include "base/json.hpp"
#include "graph/attributes.hpp"
#include "graph/evaluate.hpp"
#include "graph/last_layer.hpp"
#include "graph/outputs.hpp"
#include "graph/steps.hpp"
#include "graph/trial.hpp"
#include "linalg/rounding.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr std::array kExecutions{
    std::pair{"exact", graph::Execution::exact}, std::pair{"float32", graph::Execution::float32},
    std::pair{"tf32", graph::Execution::tf32}, std::pair{"bfloat16", graph::Execution::bfloat16},
    std::pair{"float16", graph::Execution::float16}};

graph::Execution execution_called(const std::string& name) {
  for (const auto& [known, execution] : kExecutions)
    if (name == known) return execution;
  throw std::invalid_argument(
      fmt::format("`execution` must be one of {}; got '{}'", fmt::join(executions(), ", "), excerpt(name)));
}

// "Conv, Relu, .."
std::string operators_of(const OnnxGraph& graph) {
  constexpr std::size_t kShown = 6;
  std::vector<std::string> seen;
  for (const OnnxNode& node : graph.nodes)
    if (std::ranges::find(seen, node.op) == seen.end()) seen.push_back(node.op);
  const bool more = seen.size() > kShown;
  if (more) seen.resize(kShown);
  return excerpt(fmt::format("{}{}", fmt::join(seen, ", "), more ? ", .." : ""));
}

// Sizes of one sample with its batch of one.
graph::Shape sizes_of(const GraphNetwork& network, Index d) {
  const OnnxInput& input = network.graph->inputs.front();
  graph::Shape declared = input.shape, sizes{1};
  const auto fits = [&](const graph::Shape& some) { return graph::count_of(some) == d; };
  const auto misfit = [&](const std::string& what) {
    return DataError(fmt::format("points have {} features, {}", d, what));
  };
  if (const graph::Shape asked = graph::sizes_asked(network.options.shape, input); !asked.empty()) {
    sizes.insert(sizes.end(), asked.begin(), asked.end());
    if (!fits(sizes))
      throw misfit(fmt::format("`shape` is {}, and the file says {}", fmt::join(asked, " x "),
                               graph::sizes_of_sample(input)));
    for (std::size_t a = 1; a < std::min(declared.size(), sizes.size()); ++a)
      if (declared.size() != sizes.size() || (declared[a] != 0 && declared[a] != sizes[a]))
        throw std::invalid_argument(fmt::format("`shape` is {}, and {} says {}", fmt::join(asked, " x "),
                                                network.name, graph::sizes_of_sample(input)));
    return sizes;
  }
  if (declared.empty()) return {1, d};
  if (declared.size() == 1)
    return declared.front() == d || declared.front() == 0 ? graph::Shape{d} : graph::Shape{1, d};
  sizes.insert(sizes.end(), declared.begin() + 1, declared.end());
  const auto open = std::ranges::count(sizes, Index{0});
  if (open == 0) {
    if (!fits(sizes))
      throw misfit(fmt::format("the network takes {}", fmt::join(sizes.begin() + 1, sizes.end(), " x ")));
    return sizes;
  }
  graph::Shape given = sizes;
  std::erase(given, Index{0});
  const Index known = graph::count_of(given);
  if (open > 1)
    throw misfit(
        fmt::format("and the file leaves sizes of its input open ({}): say `shape`, such as "
                    "`shape=3,32,32`",
                    graph::sizes_of_sample(input)));
  if (d % known != 0) throw misfit(fmt::format("the network takes {}", graph::sizes_of_sample(input)));
  *std::ranges::find(sizes, Index{0}) = d / known;
  return sizes;
}

GraphOutputs enclosed(const GraphNetwork& network, const OnnxGraph& graph,
                      const Eigen::Ref<const RowMatrix>& X, graph::Execution execution, Progress& progress) {
  if (graph.version < 7)
    throw DataError(fmt::format(
        "its operator set is {}: of graphs that are no layers those from 7 on are read", graph.version));
  const graph::Outputs outputs = graph::outputs_of(graph, network.options.output_name);
  const graph::Shape sizes = sizes_of(network, X.cols());
  graph::Enclosures found =
      graph::enclosures(graph, outputs.scores, sizes, X, execution, *network.memory, progress);
  outputs.require_all(found.shape, [&](const std::string& name) {
    Progress silent = progress.silent();
    return graph::enclosures(graph, name, sizes, X.topRows(1), graph::Execution::exact, *network.memory,
                             silent)
        .shape;
  });
  return {std::move(found.f), std::move(found.error), std::move(found.shape)};
}

// By the engine of the network, in exact arithmetic. The first sample is enclosed here too.
GraphOutputs enclosed_by_engine(const GraphNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                                Progress& progress) {
  Progress silent = progress.silent();
  const GraphOutputs first = enclosed(network, *network.graph, X.topRows(1), graph::Execution::exact, silent);
  graph::require_type_of(network.graph->inputs.front(), X);
  GraphOutputs all = network.engine->outputs(graph::steps_of(network, X.cols(), 0), X, progress);
  all.shape = first.shape;
  for (Index k = 0; k < all.f.cols(); ++k) {
    const double off = (all.error(0, k) + first.error(0, k)) * kUp;
    if (!(std::abs(all.f(0, k) - first.f(0, k)) > off)) continue;  // or one is not known
    throw BackendError(fmt::format("{}: {} computes other outputs of the first sample than this process",
                                   network.name, network.engine->name()));
  }
  return all;
}

// What f gives, with the file named in what it throws.
template <class F>
auto named(const GraphNetwork& network, const F& f) {
  try {
    return f();
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", network.name, error.what()));
  }
}

bool same_numbers(const OnnxNumbers& a, const OnnxNumbers& b) {
  const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  return a.type == b.type && a.shape == b.shape && std::ranges::equal(a.values, b.values, {}, bits, bits);
}

// Whether something of the file is of a type, as far as it says.
bool has_type(const OnnxGraph& graph, OnnxType type) {
  const auto cast_to = [&](const OnnxNode& node) {
    // Of ai.onnx.ml those that compute do so in float32.
    static constexpr std::array kInSingle{"Imputer", "LinearClassifier", "LinearRegressor", "Normalizer",
                                          "Scaler"};
    return (node.op == "Cast" && node.integer("to", 0) == static_cast<std::int64_t>(type)) ||
           (type == OnnxType::float32 && std::ranges::find(kInSingle, node.op) != kInSingle.end());
  };
  return graph.inputs.front().type == type || std::ranges::any_of(graph.nodes, cast_to) ||
         std::ranges::any_of(graph.numbers, [&](const auto& one) { return one.second.type == type; });
}

GraphNetwork network_of(OnnxGraph read, const std::string& name, const GraphOptions& options) {
  const auto graph = std::make_shared<const OnnxGraph>(std::move(read));
  const auto refuse = [&](const std::string& why) { return DataError(fmt::format("{}: {}", name, why)); };
  if (graph->inputs.size() != 1)
    throw refuse(fmt::format("a network has one input; this graph asks for {}", graph->inputs.size()));
  if (const std::string problem = version_problem(graph->version); !problem.empty()) throw refuse(problem);
  GraphNetwork network;
  network.name = name;
  network.options = options;
  network.graph = graph;
  network.memory = std::make_shared<graph::Memory>();
  graph::sizes_asked(options.shape, graph->inputs.front());
  graph::Outputs outputs;
  try {
    outputs = graph::outputs_of(*graph, options.output_name);
  } catch (const DataError& error) {
    throw refuse(error.what());
  }
  network.notes = outputs.notes;
  network.behind = outputs.behind;
  network.labels = outputs.labels;
  for (const OnnxType type : {OnnxType::float32, OnnxType::float16, OnnxType::bfloat16})
    if (has_type(*graph, type)) network.numbers = name_of(type);
  network.single = network.numbers != "float64";
  network.notes.emplace_back("each sample goes through the graph alone, as a batch of one");
  if (const auto& shape = graph->inputs.front().shape; shape.size() > 1 && shape.front() > 1)
    network.notes.push_back(
        fmt::format("the file asks for batches of {}, and is read as for batches of one", shape.front()));
  // Files of zeroloss say what their classes are called.
  if (const auto names = graph->metadata.find("class_names");
      graph->producer == "zeroloss" && names != graph->metadata.end())
    try {
      network.class_names = Json::parse(names->second).list<std::string>();
    } catch (const std::exception&) {
      throw refuse("its class_names are not a JSON list of texts");
    }
  for (const auto& [constant, numbers] : graph->numbers)
    if (graph::is_real(numbers.type)) {
      network.parameters += std::ssize(numbers.values);
    }
  network.description = fmt::format("a graph of {} ({})", count(std::ssize(graph->nodes), "node", "nodes"),
                                    operators_of(*graph));
  if (network.parameters > 0)  // operators of ai.onnx.ml have theirs within them
    network.description += fmt::format(", {} numbers in its file", with_commas(network.parameters));
  return network;
}

// Of the last linear maps whose outputs are those of the graph at samples of these sizes, one with the most
// features.
std::optional<graph::LastLayer> last_layer(const GraphNetwork& network, const graph::Shape& sizes) {
  const std::string scores = graph::outputs_of(*network.graph, network.options.output_name).scores;
  const auto shape_of = [&](const std::string& value) -> graph::Shape {
    try {
      const graph::Trial trial = graph::values_at_zero(*network.graph, value, sizes, *network.memory);
      const auto found = trial.values.find(value);
      return found != trial.values.end() ? found->second.shape : graph::Shape{};
    } catch (const DataError&) {  // it does not depend on the input
      return {};
    }
  };
  const Index outputs = graph::count_of(shape_of(scores));
  std::optional<graph::LastLayer> best;
  Index most = 0;
  for (graph::LastLayer& layer : graph::last_layers_of(*network.graph, scores)) {
    const graph::Shape shape = shape_of(layer.features);
    if (shape.size() != 2 || shape.front() != 1 || layer.weights != shape.back() * outputs ||
        shape.back() <= most)
      continue;
    most = shape.back();
    best = std::move(layer);
  }
  return best;
}

}  // namespace

graph::Trial internal::graph::trial_of_points(const GraphNetwork& network, const std::string& name, Index d) {
  return values_at_zero(*network.graph, name, sizes_of(network, d), *network.memory);
}

std::vector<std::string> executions() {
  std::vector<std::string> names;
  names.reserve(kExecutions.size());
  for (const auto& [name, execution] : kExecutions) names.emplace_back(name);
  return names;
}

GraphNetwork read_graph(const std::filesystem::path& path, const GraphOptions& options) {
  return network_of(read_onnx_graph(path), path.string(), options);
}

GraphNetwork graph_of_bytes(const std::string& bytes, const std::string& name, bool planes,
                            const GraphOptions& options) {
  OnnxGraph graph = onnx_graph_of(bytes, name);
  if (graph.inputs.size() != 1) return network_of(std::move(graph), name, options);  // which says so
  OnnxInput& input = graph.inputs.front();
  if (planes && input.shape.size() == 4) {
    OnnxNode turn;
    turn.op = "Transpose";
    turn.name = "planes to pixels";
    turn.inputs = {input.name + " planes"};
    turn.outputs = {input.name};
    turn.attributes["perm"] = std::vector<std::int64_t>{0, 2, 3, 1};
    input.name = turn.inputs.front();
    input.shape = {input.shape[0], input.shape[3], input.shape[1], input.shape[2]};
    graph.nodes.insert(graph.nodes.begin(), std::move(turn));
  }
  return network_of(std::move(graph), name, options);
}

Index features_of(const GraphNetwork& network) {
  if (network.enclosure) return network.enclosure->features();
  const OnnxInput& input = network.graph->inputs.front();
  graph::Shape sizes = graph::sizes_asked(network.options.shape, input);
  if (sizes.empty() && input.shape.size() > 1) sizes.assign(input.shape.begin() + 1, input.shape.end());
  return sizes.empty() ? 0 : graph::count_of(sizes);
}

std::string sizes_text(const GraphNetwork& network) {
  if (network.enclosure) return fmt::to_string(network.enclosure->features());
  return graph::sizes_of_sample(network.graph->inputs.front());
}

std::vector<std::string> class_names_of(const GraphNetwork& network, Index outputs) {
  if (!network.class_names.empty() || network.enclosure) return network.class_names;
  return named(network, [&] {
    const graph::Outputs found = graph::outputs_of(*network.graph, network.options.output_name);
    std::vector<std::string> names;
    if (found.labels) names = found.class_names(*network.graph, outputs);
    return found.named ? names : std::vector<std::string>{};
  });
}

GraphOutputs enclosed_outputs(const GraphNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                              const std::string& execution, Progress& progress) {
  if (network.enclosure) return network.enclosure->outputs(X, execution, progress);
  const graph::Execution as = execution_called(execution);
  return named(network, [&] {
    if (network.engine && as == graph::Execution::exact && X.rows() > 0)
      return enclosed_by_engine(network, X, progress);
    return enclosed(network, *network.graph, X, as, progress);
  });
}

GraphFeatures last_features(const GraphNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                            Progress& progress) {
  if (network.enclosure) return {};
  return named(network, [&] {
    const graph::Shape sizes = sizes_of(network, X.cols());
    const auto layer = last_layer(network, sizes);
    if (!layer) return GraphFeatures{};
    graph::Enclosures found = graph::enclosures(*network.graph, layer->features, sizes, X,
                                                graph::Execution::exact, *network.memory, progress);
    const Index outputs = layer->weights / found.f.cols();
    GraphFeatures features{.p = found.f.cols(),
                           .outputs = outputs,
                           .matrix = layer->matrix,
                           .turned = layer->turned,
                           .Z = std::move(found.f),
                           .error = std::move(found.error)};
    const graph::Multiple& times = layer->multiple;
    if (times.by != 1 || times.roundings > 0) {
      features.Z *= times.by;
      features.error =
          ((std::abs(times.by) * features.error + (u + gamma_of(times.roundings)) * features.Z.cwiseAbs()) *
           kUp)
              .array() +
          kTiny;
    }
    const auto bias = std::ranges::find(layer->added, outputs, &graph::AddedConstant::count);
    features.whole = layer->whole && layer->added.size() == (bias != layer->added.end() ? 1 : 0);
    if (bias != layer->added.end()) {
      ++features.p;
      features.bias = bias->name;
      features.Z.conservativeResize(Eigen::NoChange, features.p);
      features.error.conservativeResize(Eigen::NoChange, features.p);
      features.Z.col(features.p - 1).setConstant(bias->multiple.by);
      features.error.col(features.p - 1)
          .setConstant(gamma_of(bias->multiple.roundings) * std::abs(bias->multiple.by) * kUp);
    }
    return features;
  });
}

MovedGraph with_last_map_moved(const GraphNetwork& network, const GraphFeatures& features,
                               const Matrix& change) {
  if (features.p == 0)
    throw std::invalid_argument(network.name + ": its outputs are no linear map of features");
  auto graph = std::make_shared<OnnxGraph>(*network.graph);
  const Index outputs = change.rows(), p = features.p - (features.bias.empty() ? 0 : 1);
  double moved = 0, length = 0;
  const auto move = [&](const std::string& name, const auto& by) {
    OnnxNumbers& numbers = graph->numbers.at(name);
    if (!is_float(numbers.type))
      throw std::invalid_argument(
          fmt::format("{}: weights of the last layer are {}: those of float32 and float64 "
                      "are moved",
                      network.name, name_of(numbers.type)));
    for (std::size_t i = 0; i < numbers.values.size(); ++i) {
      const double before = numbers.values[i], after = before + by(static_cast<Index>(i));
      numbers.values[i] = numbers.type == OnnxType::float32 ? static_cast<float>(after) : after;
      moved = std::hypot(moved, numbers.values[i] - before);  // squares may overflow
      length = std::hypot(length, before);
    }
  };
  move(features.matrix,
       [&](Index i) { return features.turned ? change(i / p, i % p) : change(i % outputs, i / outputs); });
  if (!features.bias.empty()) move(features.bias, [&](Index i) { return change(i, p); });
  MovedGraph result{network, moved * kUp, length};
  result.network.moved = true;
  result.network.graph = std::move(graph);
  result.network.memory = std::make_shared<graph::Memory>();
  return result;
}

void write_like(const std::filesystem::path& source, const GraphNetwork& network,
                const std::filesystem::path& path) {
  if (!network.graph)
    throw DataError(network.name + ": its graph is not there, since answers are pickled without it");
  const GraphNetwork before = read_graph(source, network.options);
  std::vector<OnnxChange> changes;
  for (const auto& [name, numbers] : network.graph->numbers) {
    const auto old = before.graph->numbers.find(name);
    if (is_float(numbers.type) && old != before.graph->numbers.end() && !same_numbers(numbers, old->second))
      changes.push_back({.constant = name, .values = numbers.values});
  }
  write_onnx_like(source, changes, path);
  // The file is that of the network, unless its source is another one by now.
  const GraphNetwork written = read_graph(path, network.options);
  if (written.graph->nodes.size() == network.graph->nodes.size() &&
      std::ranges::equal(written.graph->numbers, network.graph->numbers, [](const auto& a, const auto& b) {
        return a.first == b.first && same_numbers(a.second, b.second);
      }))
    return;
  std::error_code none;
  std::filesystem::remove(path, none);
  throw DataError(fmt::format("{} is no longer the file that was read: {} was not written", source.string(),
                              path.string()));
}

void refine(const GraphNetwork& network, const RowMatrix& X, const std::vector<Index>& rows,
            GraphOutputs& outputs, Progress& progress) {
  if (network.enclosure) return;
  const RowMatrix some = X(rows, Eigen::all);
  const GraphOutputs again = named(
      network, [&] { return enclosed(network, *network.graph, some, graph::Execution::precise, progress); });
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (Index k = 0; k < outputs.f.cols(); ++k) {
      const auto from = static_cast<Index>(i);
      if (!(again.error(from, k) < outputs.error(rows[i], k))) continue;
      outputs.f(rows[i], k) = again.f(from, k);
      outputs.error(rows[i], k) = again.error(from, k);
    }
}

bool decided_by_outputs(const GraphNetwork& network) {
  if (network.enclosure) return true;
  const graph::Outputs outputs = graph::outputs_of(*network.graph, network.options.output_name);
  return outputs.decided == outputs.scores && outputs.threshold == 0;
}

GraphOutputs deciding_outputs(const GraphNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                              const std::string& execution, Progress& progress) {
  if (decided_by_outputs(network)) return enclosed_outputs(network, X, execution, progress);
  const graph::Execution as = execution_called(execution);
  return named(network, [&] {
    const graph::Outputs outputs = graph::outputs_of(*network.graph, network.options.output_name);
    if (outputs.decided.empty())
      throw DataError("its labels are of what a LinearClassifier makes inside, which is not enclosed");
    graph::Enclosures found = graph::enclosures(*network.graph, outputs.decided, sizes_of(network, X.cols()),
                                                X, as, *network.memory, progress);
    Progress silent = progress.silent();
    const Index K = enclosed(network, *network.graph, X.topRows(1), graph::Execution::exact, silent).f.cols();
    if (K == 1 && found.f.cols() == 2) {  // 1 - p and p
      found.f = Matrix(found.f.col(1) - found.f.col(0));
      found.error = Matrix((found.error.rowwise().sum() + 2 * u * found.f.cwiseAbs()) * kUp);
    } else if (outputs.threshold != 0) {
      found.f.array() -= outputs.threshold;
      found.error = (found.error + u * found.f.cwiseAbs()) * kUp;
    }
    if (found.f.cols() != K) throw DataError("its labels are of other numbers than its outputs");
    return GraphOutputs{std::move(found.f), std::move(found.error), std::move(found.shape)};
  });
}

}  // namespace zeroloss
