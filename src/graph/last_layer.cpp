#include "graph/last_layer.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/operators.hpp"

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

Index count_of(const OnnxGraph& graph, const std::string& name) {
  return std::ssize(graph.numbers.at(name).values);
}

// The number that a constant is; nothing where it is none or several.
const double* single_number(const OnnxGraph& graph, const std::string& name) {
  const auto found = graph.numbers.find(name);
  return found != graph.numbers.end() && found->second.values.size() == 1 ? &found->second.values.front()
                                                                          : nullptr;
}

// `computed`, which is not exactly what was meant where `off`, the computed error of it, is not 0. That error
// may itself be lost below 2^-960, and relative errors have no bound below 2^-1022, where it is no number
// then.
Multiple rounded(const Multiple& of, double computed, double off) {
  if (computed == 0) return {off == 0 ? 0 : std::nan(""), of.roundings};
  if (!std::isfinite(computed) || std::abs(computed) < 0x1p-1022) return {std::nan(""), 0};
  return {computed, of.roundings + (off != 0 || std::abs(computed) < 0x1p-960 ? 1 : 0)};
}

// A way from the outputs back to a value before them.
struct Path {
  std::string value;
  Multiple multiple = {};
  std::vector<AddedConstant> added = {};
  bool whole = true;

  void add(const OnnxGraph& graph, const std::string& name, const Multiple& of) {
    if (own(graph, name))
      added.push_back({name, count_of(graph, name), of});
    else
      whole = false;
  }
};

std::optional<LastLayer> product(const OnnxGraph& graph, const OnnxNode& node, Path path) {
  const bool gemm = node.op == "Gemm";
  if ((!gemm && node.op != "MatMul") || node.inputs.size() < 2 || graph.numbers.contains(node.inputs[0]) ||
      !own(graph, node.inputs[1]) || (gemm && node.integer("transA", 0) != 0))
    return {};
  const double beta = gemm ? node.number("beta", 1) : 0;
  if (beta != 0 && node.inputs.size() > 2 && !node.inputs[2].empty())
    path.add(graph, node.inputs[2], path.multiple.times(beta));
  const Multiple multiple = path.multiple.times(gemm ? node.number("alpha", 1) : 1);
  const auto unknown = [](const AddedConstant& constant) { return std::isnan(constant.multiple.by); };
  if (std::isnan(multiple.by) || std::ranges::any_of(path.added, unknown)) return {};
  return LastLayer{.features = node.inputs[0],
                   .matrix = node.inputs[1],
                   .turned = gemm && node.integer("transB", 0) != 0,
                   .weights = count_of(graph, node.inputs[1]),
                   .multiple = multiple,
                   .added = std::move(path.added),
                   .whole = path.whole};
}

// The inputs of a node that it is affine in, a path each; of a sum in each summand.
std::vector<Path> before(const OnnxGraph& graph, const OnnxNode& node, const Path& path) {
  const auto to = [&](std::size_t input, const Multiple& multiple) {
    Path further = path;
    further.value = node.inputs[input];
    further.multiple = multiple;
    return further;
  };
  const Multiple& same = path.multiple;
  if (keeps_numbers(node.op) && !node.inputs.empty()) return {to(0, same)};
  if (node.op == "Neg" && node.inputs.size() == 1) return {to(0, same.times(-1))};
  if (node.inputs.size() != 2) return {};
  if (node.op == "Div") {
    const double* divisor = single_number(graph, node.inputs[1]);
    return divisor == nullptr ? std::vector<Path>{} : std::vector<Path>{to(0, same.divided_by(*divisor))};
  }
  std::vector<Path> found;
  for (const std::size_t k : {0U, 1U}) {
    const std::string& other = node.inputs[1 - k];
    if (node.op == "Add" || node.op == "Sub") {
      const bool taken = node.op == "Sub" && k == 1, other_taken = node.op == "Sub" && k == 0;
      found.push_back(to(k, same.times(taken ? -1 : 1)));
      found.back().add(graph, other, same.times(other_taken ? -1 : 1));
    } else if (const double* factor = single_number(graph, other); node.op == "Mul" && factor != nullptr) {
      found.push_back(to(k, same.times(*factor)));
    }
  }
  return found;
}

}  // namespace

Multiple Multiple::times(double factor) const {
  if (std::abs(factor) == 1) return {by * factor, roundings};
  const double product = by * factor;
  const bool zero = by == 0 || factor == 0;
  return rounded(*this, product, zero ? 0 : product == 0 ? 1 : std::fma(by, factor, -product));
}

Multiple Multiple::divided_by(double divisor) const {
  if (std::abs(divisor) == 1) return {by * divisor, roundings};
  const double quotient = by / divisor;
  return rounded(*this, quotient,
                 by == 0                                    ? 0
                 : quotient == 0 || std::abs(by) < 0x1p-960 ? 1
                                                            : std::fma(quotient, divisor, -by));
}

std::vector<LastLayer> last_layers_of(const OnnxGraph& graph, const std::string& scores) {
  constexpr int kMostNodes = 100;  // behind the products
  std::vector<LastLayer> found;
  std::vector<Path> open{{.value = scores}};
  for (int seen = 0; seen < kMostNodes && !open.empty(); ++seen) {
    const Path path = std::move(open.back());
    open.pop_back();
    const OnnxNode* node = maker_of(graph, path.value);
    // What else takes a value would make the outputs depend on the weights in another way.
    if (node == nullptr || (path.value != scores && graph.uses.at(path.value) != 1)) continue;
    if (auto layer = product(graph, *node, path)) found.push_back(std::move(*layer));
    std::vector<Path> further = before(graph, *node, path);
    open.insert(open.end(), further.rbegin(), further.rend());  // the first is the next
  }
  return found;
}

}  // namespace zeroloss::internal::graph
