#include "graph/last_layer.hpp"

#include <algorithm>

namespace zeroloss::internal::graph {
namespace {

const OnnxNode* maker_of(const OnnxGraph& graph, const std::string& name) {
  for (const OnnxNode& node : graph.nodes)
    if (node.domain.empty() && std::ranges::find(node.outputs, name) != node.outputs.end()) return &node;
  return nullptr;
}

// A constant of real numbers that one node alone takes.
bool own(const OnnxGraph& graph, const std::string& name) {
  const auto uses = graph.uses.find(name);
  return graph.numbers.contains(name) && uses != graph.uses.end() && uses->second == 1;
}

Index count_of_own(const OnnxGraph& graph, const std::string& name) {
  return own(graph, name) ? std::ssize(graph.numbers.at(name).values) : 0;
}

void add_bias(const OnnxGraph& graph, const std::string& name, LastLayer& layer) {
  layer.biases = count_of_own(graph, name);
  if (layer.biases > 0) layer.bias = name;
}

std::optional<LastLayer> product(const OnnxGraph& graph, const OnnxNode& node) {
  if (node.inputs.size() < 2 || graph.numbers.contains(node.inputs[0]) || !own(graph, node.inputs[1]))
    return {};
  LastLayer layer{.features = node.inputs[0],
                  .matrix = node.inputs[1],
                  .turned = node.op == "Gemm" && node.integer("transB", 0) != 0,
                  .weights = count_of_own(graph, node.inputs[1])};
  layer.whole = true;
  if (node.op == "MatMul") return layer;
  if (node.op != "Gemm" || node.number("alpha", 1) != 1 || node.integer("transA", 0) != 0) return {};
  if (node.inputs.size() > 2 && !node.inputs[2].empty()) {
    if (node.number("beta", 1) == 1) add_bias(graph, node.inputs[2], layer);
    layer.whole = layer.biases > 0;
  }
  return layer;
}

}  // namespace

std::optional<LastLayer> last_layer_of(const OnnxGraph& graph, const std::string& scores) {
  const OnnxNode* node = maker_of(graph, scores);
  if (node == nullptr) return {};
  if (node->op != "Add") return product(graph, *node);
  if (node->inputs.size() != 2) return {};
  const bool first = graph.numbers.contains(node->inputs[0]);
  const std::string& sum = node->inputs[first ? 1 : 0];
  const OnnxNode* before = maker_of(graph, sum);
  // What else takes the product would make the outputs depend on the weights in another way.
  if (before == nullptr || graph.uses.at(sum) != 1) return {};
  std::optional<LastLayer> layer = product(graph, *before);
  if (!layer) return layer;
  const bool bare = layer->whole && layer->biases == 0;
  if (layer->biases == 0) add_bias(graph, node->inputs[first ? 0 : 1], *layer);
  layer->whole = bare && layer->biases > 0;
  return layer;
}

}  // namespace zeroloss::internal::graph
