#include "graph/attributes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

constexpr std::int64_t kNewest = 28;

// The type of an attribute, as the index of OnnxNode's variant.
enum class Kind : std::size_t { integer, number, text, integers, numbers, texts, tensor };

const std::map<std::string, Kind>& kinds() {
  using enum Kind;
  static const std::map<std::string, Kind> all{{"allowzero", integer},
                                               {"alpha", number},
                                               {"approximate", text},
                                               {"auto_pad", text},
                                               {"axes", integers},
                                               {"axis", integer},
                                               {"batch_dims", integer},
                                               {"beta", number},
                                               {"broadcast", integer},
                                               {"cats_int64s", integers},
                                               {"cats_strings", texts},
                                               {"ceil_mode", integer},
                                               {"classes_strings", texts},
                                               {"classlabels_int64s", integers},
                                               {"classlabels_ints", integers},
                                               {"classlabels_strings", texts},
                                               {"coefficients", numbers},
                                               {"consumed_inputs", integers},
                                               {"count_include_pad", integer},
                                               {"default_float", number},
                                               {"default_int64", integer},
                                               {"default_string", text},
                                               {"dilations", integers},
                                               {"end", integer},
                                               {"ends", integers},
                                               {"epsilon", number},
                                               {"fmod", integer},
                                               {"gamma", number},
                                               {"group", integer},
                                               {"imputed_value_floats", numbers},
                                               {"imputed_value_int64s", integers},
                                               {"intercepts", numbers},
                                               {"is_test", integer},
                                               {"k", integer},
                                               {"keepdims", integer},
                                               {"kernel_shape", integers},
                                               {"keys_floats", numbers},
                                               {"keys_int64s", integers},
                                               {"keys_strings", texts},
                                               {"largest", integer},
                                               {"max", number},
                                               {"min", number},
                                               {"mode", text},
                                               {"momentum", number},
                                               {"multi_class", integer},
                                               {"noop_with_empty_axes", integer},
                                               {"norm", text},
                                               {"num_outputs", integer},
                                               {"offset", numbers},
                                               {"p", integer},
                                               {"pads", integers},
                                               {"perm", integers},
                                               {"post_transform", text},
                                               {"ratio", number},
                                               {"reduction", text},
                                               {"replaced_value_float", number},
                                               {"replaced_value_int64", integer},
                                               {"round_mode", text},
                                               {"saturate", integer},
                                               {"scale", numbers},
                                               {"seed", integer},
                                               {"select_last_index", integer},
                                               {"sorted", integer},
                                               {"spatial", integer},
                                               {"split", integers},
                                               {"start", integer},
                                               {"starts", integers},
                                               {"stash_type", integer},
                                               {"storage_order", integer},
                                               {"strides", integers},
                                               {"targets", integer},
                                               {"to", integer},
                                               {"training_mode", integer},
                                               {"transA", integer},
                                               {"transB", integer},
                                               {"upper", integer},
                                               {"value", tensor},
                                               {"values_floats", numbers},
                                               {"values_int64s", integers},
                                               {"values_strings", texts},
                                               {"zeros", integer}};
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
  static const Operator none{}, consumed{{"consumed_inputs"}}, axis{{"axis"}}, alpha{{"alpha"}},
      binary{{"axis", "broadcast", "consumed_inputs"}, 2, 2}, two{{}, 2, 2}, axes{{"axes"}, 1, 2},
      any{{}, 1, kAny}, reduce{{"axes", "keepdims", "noop_with_empty_axes"}, 1, 2};
  static const std::map<std::string, Operator> all{
      {"Abs", none},
      {"And", two},
      {"Add", binary},
      {"ArgMax", {{"axis", "keepdims", "select_last_index"}}},
      {"ArrayFeatureExtractor", two},
      {"AveragePool",
       {{"auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape", "pads", "strides"}}},
      {"BatchNormalization", {{"epsilon", "momentum", "spatial", "training_mode"}, 5, 5}},
      {"Cast", {{"to", "saturate", "round_mode"}}},
      {"Celu", alpha},
      {"Clip", {{"min", "max", "consumed_inputs"}, 1, 3}},
      {"Concat", {{"axis"}, 1, kAny}},
      {"ConstantOfShape", {{"value"}}},
      {"Conv", {{"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}, 2, 3}},
      {"Div", binary},
      {"Dropout", {{"ratio", "seed", "is_test", "consumed_inputs"}, 1, 3}},
      {"Elu", alpha},
      {"Equal", two},
      {"Erf", none},
      {"Exp", none},
      {"Expand", two},
      {"Flatten", axis},
      {"Gather", {{"axis"}, 2, 2}},
      {"GatherND", {{"batch_dims"}, 2, 2}},
      {"Gelu", {{"approximate"}}},
      {"Gemm", {{"alpha", "beta", "transA", "transB", "broadcast"}, 2, 3}},
      {"GlobalAveragePool", none},
      {"GlobalMaxPool", none},
      {"Greater", binary},
      {"GreaterOrEqual", two},
      {"HardSigmoid", {{"alpha", "beta"}}},
      {"HardSwish", none},
      {"Identity", none},
      {"Imputer",
       {{"imputed_value_floats", "imputed_value_int64s", "replaced_value_float", "replaced_value_int64"}}},
      {"InstanceNormalization", {{"epsilon"}, 3, 3}},
      {"LabelEncoder",
       {{"classes_strings", "default_float", "default_int64", "default_string", "keys_floats", "keys_int64s",
         "keys_strings", "values_floats", "values_int64s", "values_strings"}}},
      {"LayerNormalization", {{"axis", "epsilon", "stash_type"}, 2, 3}},
      {"LeakyRelu", {{"alpha", "consumed_inputs"}}},
      {"Less", two},
      {"LinearClassifier",
       {{"classlabels_ints", "classlabels_strings", "coefficients", "intercepts", "multi_class",
         "post_transform"}}},
      {"LinearRegressor", {{"coefficients", "intercepts", "post_transform", "targets"}}},
      {"Log", none},
      {"LogSoftmax", axis},
      {"MatMul", two},
      {"Max", any},
      {"MaxPool",
       {{"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "storage_order", "strides"}}},
      {"Min", any},
      {"Mish", none},
      {"Mod", {{"fmod"}, 2, 2}},
      {"Mul", binary},
      {"Neg", none},
      {"Normalizer", {{"norm"}}},
      {"Not", none},
      {"OneHotEncoder", {{"cats_int64s", "cats_strings", "zeros"}}},
      {"Or", two},
      {"PRelu", two},
      {"Pad", {{"mode", "pads", "value"}, 1, 4}},
      {"Pow", two},
      {"Range", {{}, 3, 3}},
      {"Reciprocal", none},
      {"ReduceL2", reduce},
      {"ReduceMax", reduce},
      {"ReduceMean", reduce},
      {"ReduceMin", reduce},
      {"ReduceSum", reduce},
      {"ReduceSumSquare", reduce},
      {"Relu", consumed},
      {"Reshape", {{"allowzero"}, 1, 2}},
      {"Scaler", {{"offset", "scale"}}},
      {"ScatterND", {{"reduction"}, 3, 3}},
      {"Selu", {{"alpha", "gamma"}}},
      {"Shape", {{"start", "end"}}},
      {"Sigmoid", consumed},
      {"Sin", none},
      {"Size", none},
      {"Slice", {{"axes", "ends", "starts"}, 1, 5}},
      {"Softmax", axis},
      {"Softplus", none},
      {"Softsign", none},
      {"Split", {{"axis", "num_outputs", "split"}, 1, 2}},
      {"Sqrt", none},
      {"Squeeze", axes},
      {"Sub", binary},
      {"Sum", {{"consumed_inputs"}, 1, kAny}},
      {"Swish", alpha},
      {"Tanh", consumed},
      {"Tile", two},
      {"TopK", {{"axis", "k", "largest", "sorted"}, 1, 2}},
      {"Transpose", {{"perm"}}},
      {"Trilu", {{"upper"}, 1, 2}},
      {"Unsqueeze", axes},
      {"Where", {{}, 3, 3}},
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
    const Kind kind = node.op == "Pad" && name == "value" ? Kind::number : kinds().at(name);
    if (static_cast<Kind>(value.index()) != kind)
      return fmt::format("its attribute '{}' is of another type than it should be", name);
  }
  return node.domain.empty() ? old_problem(node, version) : "";
}

std::string version_problem(std::int64_t version) {
  if (1 <= version && version <= kNewest) return {};
  return fmt::format("its operator set is {}; those that are read are 1 to {}", version, kNewest);
}

}  // namespace zeroloss::internal
