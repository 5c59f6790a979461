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

std::optional<LastLayer> product(const OnnxGraph& graph, const OnnxNode& node) {
  if (node.inputs.size() < 2 || graph.numbers.contains(node.inputs[0]) || !own(graph, node.inputs[1]))
    return {};
  if (node.op == "MatMul") return LastLayer{node.inputs[0]};
  if (node.op != "Gemm" || node.number("alpha", 1) != 1 || node.integer("transA", 0) != 0) return {};
  if (node.inputs.size() == 2 || node.inputs[2].empty()) return LastLayer{node.inputs[0]};
  return LastLayer{node.inputs[0], node.number("beta", 1) == 1 && own(graph, node.inputs[2])};
}

}  // namespace

std::optional<LastLayer> last_layer_of(const OnnxGraph& graph, const std::string& scores) {
  const OnnxNode* node = maker_of(graph, scores);
  if (node == nullptr) return {};
  if (node->op != "Add") return product(graph, *node);
  const bool first = graph.numbers.contains(node->inputs[0]);
  const OnnxNode* before = maker_of(graph, node->inputs[first ? 1 : 0]);
  if (before == nullptr) return {};
  std::optional<LastLayer> layer = product(graph, *before);
  if (layer && !layer->bias) layer->bias = own(graph, node->inputs[first ? 0 : 1]);
  return layer;
}

}  // namespace zeroloss::internal::graph
