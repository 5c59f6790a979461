#include "graph/outputs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "graph/operators.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal::graph {
namespace {

// What a value is, seen from the end.
enum class What {
  scores,         // numbers
  probabilities,  // numbers between 0 and 1 that keep the largest the largest, or of one output its sign
  rest,           // 1 - p of a single output
  two,            // 1 - p and p of it
  label
};

struct Meaning {
  What what = What::scores;
  std::string scores;
  std::string behind = {};
  std::vector<const OnnxNode*> names = {};
  bool named = false;
  bool halved = false;    // the label of a single output is 1 where p exceeds 1/2
  bool positive = false;  // no number is below 0
  bool one = false;       // it is that of a single output
  bool hidden = false;    // numbers that a classifier transforms inside
  std::vector<Along> along = {};
  std::string decided = {};
  double threshold = 0;
  std::vector<std::string> notes = {};
};

class Follower {
 public:
  explicit Follower(const OnnxGraph& graph) : graph_(graph) {
    for (const OnnxNode& node : graph.nodes)
      for (const std::string& out : node.outputs)
        if (!out.empty()) makers_[out] = &node;
  }

  // What `name` is; numbers where nothing is known of them, as far behind as no file that is meant to be read
  // has its labels.
  Meaning follow(const std::string& name) const {
    constexpr int kDeep = 100;
    if (const auto known = known_.find(name); known != known_.end()) return known->second;
    if (depth_ > kDeep) return {.scores = name};
    ++depth_;
    Meaning made = followed(name);
    --depth_;
    return known_[name] = std::move(made);
  }

 private:
  Meaning followed(const std::string& name) const {
    const auto found = makers_.find(name);
    if (found == makers_.end()) return {.scores = name};
    const OnnxNode& node = *found->second;
    if (!node.domain.empty() && node.domain != "ai.onnx.ml") return {.scores = name};
    std::optional<Meaning> made = read(node, name);
    return made ? *made : Meaning{.scores = name};
  }

  double number(const std::string& name) const {
    const auto found = graph_.numbers.find(name);
    const bool one = found != graph_.numbers.end() && found->second.values.size() == 1;
    return one ? found->second.values.front() : std::numeric_limits<double>::quiet_NaN();
  }
  // How many numbers TopK takes; an attribute before set 10.
  double taken(const OnnxNode& node) const {
    return node.inputs.size() > 1 ? number(node.inputs[1]) : static_cast<double>(node.integer("k", 0));
  }
  bool constant(const std::string& name) const {
    return graph_.numbers.contains(name) || graph_.texts.contains(name);
  }

  static Meaning with(Meaning inner, What what, const OnnxNode& node, bool changes = true) {
    inner.what = what;
    if (changes && inner.behind.empty()) inner.behind = called(node);
    const std::string note = fmt::format("left out behind the outputs: {}", node.op);
    if (std::ranges::find(inner.notes, note) == inner.notes.end()) inner.notes.push_back(note);
    return inner;
  }
  Meaning along(Meaning inner, const OnnxNode& node, std::int64_t otherwise) const {
    inner.along.push_back({&node, node.inputs.front(), node.integer("axis", otherwise)});
    return inner;
  }

  // Dropout as in training.
  bool may_drop(const OnnxNode& node) const {
    return node.op == "Dropout" && node.inputs.size() > 2 && !node.inputs[2].empty() &&
           number(node.inputs[2]) != 0;
  }

  std::optional<Meaning> read(const OnnxNode& node, const std::string& name) const {
    if (node.inputs.empty() || may_drop(node)) return {};
    const std::string& first = node.inputs.front();
    const std::string& op = node.op;
    if (op == "LinearClassifier") return classifier(node, name);
    const bool names_by_list =
        (op == "ArrayFeatureExtractor" || op == "Gather") && node.inputs.size() == 2 && constant(first);
    if (names_by_list || op == "LabelEncoder" || op == "Cast" || keeps_numbers(op)) {
      Meaning inner = follow(node.inputs[names_by_list ? 1 : 0]);
      if (inner.what == What::label) {
        if (!keeps_numbers(op)) inner.names.push_back(&node);
        inner.named = inner.named || names_by_list || op == "LabelEncoder";
        return with(inner, What::label, node);
      }
      const bool kept =
          keeps_numbers(op) || (op == "Cast" && is_float(static_cast<OnnxType>(node.integer("to", 0))));
      if (!kept || inner.scores == first) return {};  // nothing behind it: these are the numbers
      return inner;
    }
    if (op == "Softmax" || op == "LogSoftmax") {
      const Meaning inner = follow(first);
      if (inner.what != What::scores) return {};
      Meaning made = with(along(inner, node, graph_.version < 13 ? 1 : -1), What::probabilities, node);
      made.positive = op == "Softmax";
      return made;
    }
    if (op == "Sigmoid") {
      const Meaning inner = follow(first);
      if (inner.what != What::scores) return {};
      Meaning made = with(inner, What::probabilities, node);
      made.halved = made.positive = true;
      return made;
    }
    if (op == "Normalizer") {
      const Meaning inner = follow(first);
      if (inner.what != What::probabilities || !inner.positive) return {};
      Meaning made = with(inner, What::probabilities, node);
      made.halved = false;
      made.along.push_back({&node, first, -1});
      return made;
    }
    if (op == "ArgMax" || op == "TopK") {
      if (op == "TopK" && (node.integer("largest", 1) != 1 || node.outputs.size() != 2 ||
                           node.outputs[1] != name || taken(node) != 1))
        return {};
      if (node.integer("select_last_index", 0) != 0) return {};
      const Meaning inner = follow(first);
      if (inner.what == What::label || inner.what == What::rest) return {};
      Meaning made = along(inner, node, op == "ArgMax" ? 0 : -1);
      made.decided = first;
      return with(made, What::label, node);
    }
    if (op == "ZipMap") {
      Meaning inner = follow(first);
      if (inner.what == What::label || inner.what == What::rest) return {};
      inner.names.push_back(&node);
      inner.named = true;
      return with(inner, What::label, node);
    }
    if (op == "Sub" && node.inputs.size() == 2 && number(first) == 1) {
      const Meaning inner = follow(node.inputs[1]);
      if (inner.what != What::probabilities || !inner.halved) return {};
      return with(inner, What::rest, node);
    }
    if (op == "Concat" && node.inputs.size() == 2) {
      const Meaning one = follow(first), other = follow(node.inputs[1]);
      if (one.what != What::rest || other.what != What::probabilities || one.scores != other.scores)
        return {};
      Meaning made = with(along(other, node, 1), What::two, node);
      made.one = true;
      return made;
    }
    if ((op == "Greater" || op == "GreaterOrEqual") && node.inputs.size() == 2) {
      const Meaning inner = follow(first);
      const bool at = inner.what == What::scores ? number(node.inputs[1]) == 0
                                                 : inner.what == What::probabilities && inner.halved &&
                                                       number(node.inputs[1]) == 0.5;
      if (!at) return {};
      Meaning made = inner;
      made.decided = first;
      made.threshold = number(node.inputs[1]);
      made.one = true;
      return with(made, What::label, node);
    }
    return {};
  }

  std::optional<Meaning> classifier(const OnnxNode& node, const std::string& name) const {
    if (node.outputs.size() != 2) return {};
    const auto* said = node.find<std::string>("post_transform");
    const std::string post = said == nullptr ? "NONE" : *said;
    if (post != "NONE" && post != "SOFTMAX" && post != "LOGISTIC") return {};
    Meaning made{.scores = node.outputs[1]};
    if (name == node.outputs[0]) {
      made.names = {&node};
      made.named = true;
      made.decided = made.scores;
      return with(made, What::label, node);
    }
    if (post == "NONE") return {};
    made.hidden = made.positive = true;
    return with(made, What::probabilities, node);
  }

  const OnnxGraph& graph_;
  std::map<std::string, const OnnxNode*> makers_;
  mutable std::map<std::string, Meaning> known_;
  mutable int depth_ = 0;
};

}  // namespace

LabelNames Outputs::class_names(const OnnxGraph& graph, Index count) const {
  const Index classes = std::max<Index>(count, 2);
  LabelNames all = numbered(classes);
  for (const OnnxNode* node : names) {
    std::string problem;
    all = node->op == "ZipMap" || node->op == "LinearClassifier" ? zipped(*node, classes, problem)
                                                                 : renamed(*node, graph, all, problem);
    if (!problem.empty()) throw DataError(called(*node) + ": " + problem);
  }
  return all;
}

void Outputs::require_all(const Shape& shape,
                          const std::function<Shape(const std::string&)>& shape_of) const {
  for (const Along& one : along) {
    if (one.node->op == "Concat") continue;  // of 1 - p and p
    const Shape all = one.value == scores ? shape : shape_of(one.value);
    if (count_of(all) < 2)
      throw DataError(fmt::format("{}: it takes the largest of a single number: every label is the same",
                                  called(*one.node)));
    const auto rank = std::ssize(all);
    const auto axis = one.axis < 0 ? one.axis + rank : one.axis;
    if (axis < 0 || axis >= rank || all[static_cast<std::size_t>(axis)] != count_of(all))
      throw DataError(fmt::format("{}: it goes along axis {} of {}: not over all outputs of a sample",
                                  called(*one.node), one.axis, fmt::join(all, " x ")));
  }
  if (this->one && count_of(shape) != 1)
    throw DataError(fmt::format("its labels are those of a single output, and it has {}", count_of(shape)));
}

Outputs outputs_of(const OnnxGraph& graph, const std::string& asked) {
  const Follower follower(graph);
  std::vector<std::string> names;
  for (const std::string& name : graph.outputs)
    if (asked.empty() || name == asked) names.push_back(name);
  if (names.empty())
    throw DataError(
        asked.empty() ? "it has no outputs"
                      : fmt::format("it has no output '{}', but {}", excerpt(asked), excerpt(graph.outputs)));
  Outputs outputs;
  bool bare = false;
  std::set<std::string> roots;
  std::optional<Meaning> label;
  const auto disagree = [&](const std::string& what) {
    return DataError(fmt::format("{}: name one of {}, `output_name={}`", what, excerpt(graph.outputs),
                                 excerpt(graph.outputs.front())));
  };
  Meaning last;
  for (const std::string& name : names) {
    Meaning one = follower.follow(name);
    if (one.what == What::rest) one = {.scores = name};
    const bool zipped = !one.names.empty() && one.names.back()->op == "ZipMap";
    if (one.decided.empty()) {  // what whoever runs the file sees
      one.decided = one.behind.empty() ? one.scores : zipped ? one.names.back()->inputs.front() : name;
      if (one.what == What::probabilities && one.halved) one.threshold = 0.5;
    }
    roots.insert(one.scores);
    bare = bare || one.behind.empty();
    if (outputs.behind.empty()) outputs.behind = one.behind;
    outputs.one = outputs.one || one.one;
    outputs.along.insert(outputs.along.end(), one.along.begin(), one.along.end());
    for (const std::string& note : one.notes)
      if (std::ranges::find(outputs.notes, note) == outputs.notes.end()) outputs.notes.push_back(note);
    if (one.what == What::label && !zipped) {
      if (label &&
          (label->decided != one.decided || label->threshold != one.threshold || label->names != one.names))
        throw disagree("its labels are made in different ways");
      label = one;
    }
    if (zipped && !outputs.named) {
      outputs.names = one.names;
      outputs.named = outputs.labels = true;
    }
    last = std::move(one);
  }
  outputs.scores = last.scores;
  if (label) {
    outputs.labels = true;
    if (label->named || !outputs.named) {
      outputs.names = label->names;
      outputs.named = label->named;
    }
  }
  const Meaning& deciding = label ? *label : last;
  outputs.decided = bare && !label ? outputs.scores : deciding.decided;
  outputs.threshold = bare && !label ? 0 : deciding.threshold;
  if (deciding.hidden) outputs.decided.clear();
  if (roots.size() > 1) {
    for (const OnnxNode& node : graph.nodes)  // no name would help
      if (operator_called(node.op) == nullptr &&
          std::ranges::any_of(node.outputs, [&](const std::string& name) { return roots.contains(name); }))
        throw DataError(called(node) + ": this operator is not known");
    throw disagree(fmt::format("its outputs are of {} sets of numbers", roots.size()));
  }
  if (bare) outputs.behind.clear();
  if (graph.inputs.front().type == OnnxType::float64)
    for (const OnnxNode& node : graph.nodes) {
      const auto to = static_cast<OnnxType>(node.integer("to", 0));
      if (node.op != "Cast" || to == OnnxType::float64 || !is_real(to)) continue;
      outputs.notes.push_back(fmt::format(
          "a Cast to {} is exact here, as all arithmetic is: `execution=float32` rounds", name_of(to)));
      break;
    }
  return outputs;
}

}  // namespace zeroloss::internal::graph
