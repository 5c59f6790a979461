#include "deep/onnx_operators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

constexpr std::int64_t kNewest = 28;

// The type of an attribute, as the index of OnnxNode's variant.
enum class Kind : std::size_t { integer, number, text, integers, numbers, texts };

const std::map<std::string, Kind>& kinds() {
  using enum Kind;
  static const std::map<std::string, Kind> all{{"allowzero", integer},
                                               {"alpha", number},
                                               {"approximate", text},
                                               {"axes", integers},
                                               {"axis", integer},
                                               {"beta", number},
                                               {"broadcast", integer},
                                               {"classes_strings", texts},
                                               {"classlabels_int64s", integers},
                                               {"classlabels_strings", texts},
                                               {"consumed_inputs", integers},
                                               {"default_float", number},
                                               {"default_int64", integer},
                                               {"default_string", text},
                                               {"end", integer},
                                               {"is_test", integer},
                                               {"k", integer},
                                               {"keepdims", integer},
                                               {"keys_floats", numbers},
                                               {"keys_int64s", integers},
                                               {"keys_strings", texts},
                                               {"largest", integer},
                                               {"offset", numbers},
                                               {"perm", integers},
                                               {"ratio", number},
                                               {"round_mode", text},
                                               {"saturate", integer},
                                               {"scale", numbers},
                                               {"seed", integer},
                                               {"select_last_index", integer},
                                               {"sorted", integer},
                                               {"start", integer},
                                               {"to", integer},
                                               {"transA", integer},
                                               {"transB", integer},
                                               {"values_floats", numbers},
                                               {"values_int64s", integers},
                                               {"values_strings", texts}};
  return all;
}

// The attributes of an operator and how many inputs it takes, in any operator set.
using Names = std::set<std::string>;
struct Operator {
  Names attributes;
  std::size_t least = 1, most = 1;
};
const std::map<std::string, Operator>& operators() {
  constexpr std::size_t kAny = 1 << 30;
  static const Operator none{}, consumed{{"consumed_inputs"}}, axis{{"axis"}},
      binary{{"axis", "broadcast", "consumed_inputs"}, 2, 2}, two{{}, 2, 2}, axes{{"axes"}, 1, 2};
  static const std::map<std::string, Operator> all{
      {"Add", binary},
      {"ArgMax", {{"axis", "keepdims", "select_last_index"}}},
      {"ArrayFeatureExtractor", two},
      {"Cast", {{"to", "saturate", "round_mode"}}},
      {"Concat", {{"axis"}, 1, kAny}},
      {"Div", binary},
      {"Dropout", {{"ratio", "seed", "is_test", "consumed_inputs"}, 1, 3}},
      {"Erf", none},
      {"Flatten", axis},
      {"Gather", {{"axis"}, 2, 2}},
      {"Gelu", {{"approximate"}}},
      {"Gemm", {{"alpha", "beta", "transA", "transB", "broadcast"}, 2, 3}},
      {"Greater", binary},
      {"GreaterOrEqual", two},
      {"Identity", none},
      {"LabelEncoder",
       {{"classes_strings", "default_float", "default_int64", "default_string", "keys_floats", "keys_int64s",
         "keys_strings", "values_floats", "values_int64s", "values_strings"}}},
      {"LeakyRelu", {{"alpha", "consumed_inputs"}}},
      {"LogSoftmax", axis},
      {"MatMul", two},
      {"Mul", binary},
      {"Relu", consumed},
      {"Reshape", {{"allowzero"}, 1, 2}},
      {"Scaler", {{"offset", "scale"}}},
      {"Shape", {{"start", "end"}}},
      {"Sigmoid", consumed},
      {"Sin", none},
      {"Slice", {{}, 3, 5}},
      {"Softmax", axis},
      {"Softplus", none},
      {"Squeeze", axes},
      {"Sub", binary},
      {"Tanh", consumed},
      {"TopK", {{"axis", "k", "largest", "sorted"}, 1, 2}},
      {"Transpose", {{"perm"}}},
      {"Unsqueeze", axes},
      {"ZipMap", {{"classlabels_int64s", "classlabels_strings"}}}};
  return all;
}

// Until operator set 6: which dimension a smaller second input stands at, which was the last one of its own
// accord; what may be overwritten; and Dropout as in training unless it says otherwise.
std::string old_problem(const OnnxNode& node, std::int64_t version) {
  static const Names old{"broadcast", "consumed_inputs", "is_test"};
  if (version >= 7) {
    for (const auto& [name, value] : node.attributes)
      if (old.contains(name) || (name == "axis" && operators().at(node.op).attributes.contains("broadcast")))
        return fmt::format("its attribute '{}' is of operator sets before 7, this file's is {}", name,
                           version);
    return {};
  }
  if (operators().at(node.op).attributes.contains("broadcast"))
    if (const std::int64_t axis = node.integer("axis", -1); axis != -1 && axis != 1)
      return fmt::format("its second input stands at axis {}: only numbers for each feature or unit are read",
                         axis);
  if (node.op == "Dropout" && node.integer("is_test", 0) == 0)
    return fmt::format("dropout as in training: in operator set {} it needs is_test=1", version);
  if (node.op == "Reshape" && version < 5) return "Reshape of an operator set before 5";
  return {};
}

}  // namespace

std::string attribute_problem(const OnnxNode& node, std::int64_t version) {
  const auto known = operators().find(node.op);
  if (known == operators().end()) return {};
  const auto& [attributes, least, most] = known->second;
  const auto given = static_cast<std::size_t>(
      node.inputs.rend() - std::ranges::find_if(node.inputs.rbegin(), node.inputs.rend(),
                                                [](const std::string& name) { return !name.empty(); }));
  if (given < least || given > most)
    return fmt::format("it has {} inputs and takes {}", given,
                       least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most));
  for (const std::string& name : node.unread)
    return fmt::format("its attribute '{}' has no type that is read", excerpt(name));
  for (const auto& [name, value] : node.attributes) {
    if (!attributes.contains(name)) return fmt::format("its attribute '{}' is not known", excerpt(name));
    if (static_cast<Kind>(value.index()) != kinds().at(name))
      return fmt::format("its attribute '{}' is of another type than it should be", name);
  }
  if (node.op == "Reshape" && node.integer("allowzero", 0) != 0) return "allowzero must be 0";
  return node.domain.empty() ? old_problem(node, version) : "";
}

std::string version_problem(std::int64_t version) {
  if (1 <= version && version <= kNewest) return {};
  return fmt::format("its operator set is {}; those that are read are 1 to {}", version, kNewest);
}

bool computes(const std::string& op) {
  static const Names all{"Add", "Div",  "Erf",     "Gelu", "Gemm",    "LeakyRelu", "LogSoftmax", "MatMul",
                         "Mul", "Relu", "Sigmoid", "Sin",  "Softmax", "Softplus",  "Sub",        "Tanh"};
  return all.contains(op);
}

}  // namespace zeroloss::internal
