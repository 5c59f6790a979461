#include "storage/onnx_graph.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>

#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/run.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

using Proto = onnx::TensorProto;

// The whole file. Protobuf says nothing more than that it is not what it expected.
onnx::ModelProto parsed(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || is_directory(path))
    throw DataError(fmt::format("{}: {}", path.string(), exists(path) ? "cannot be read" : "no such file"));
  const auto size = static_cast<double>(file_size(path));
  if (size > std::numeric_limits<std::int32_t>::max())
    throw DataError(fmt::format("{}: {}, and one ONNX file holds 2 GB", path.string(), format_bytes(size)));
  require_memory(2 * size, path.string(), "it is read at once");
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes) || !model.has_graph())
    throw DataError(fmt::format("{}: not an ONNX model, or damaged", path.string()));
  return model;
}

template <class T, class Field>
std::vector<T> stored(const Proto& tensor, const Field& field) {
  if (!tensor.has_raw_data()) return {field.begin(), field.end()};
  const std::string& raw = tensor.raw_data();
  std::vector<T> values(raw.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), raw.data(), values.size() * sizeof(T));
  return values;
}

// False where the type is none that is read.
bool fill(OnnxNumbers& numbers, const Proto& tensor) {
  const auto take = [](auto& into, const auto& values) { into.assign(values.begin(), values.end()); };
  switch (tensor.data_type()) {
    case Proto::FLOAT:
      take(numbers.values, stored<float>(tensor, tensor.float_data()));
      return true;
    case Proto::DOUBLE:
      take(numbers.values, stored<double>(tensor, tensor.double_data()));
      return true;
    case Proto::INT32:
      take(numbers.integers, stored<std::int32_t>(tensor, tensor.int32_data()));
      break;
    case Proto::INT64:
      take(numbers.integers, stored<std::int64_t>(tensor, tensor.int64_data()));
      break;
    case Proto::BOOL:
      take(numbers.integers, stored<std::uint8_t>(tensor, tensor.int32_data()));
      break;
    default:
      return false;
  }
  take(numbers.values, numbers.integers);
  return true;
}

// Types that are not read are kept out: nothing that is computed depends on them, or the reader of the graph
// says so.
std::optional<OnnxNumbers> numbers_of(const std::filesystem::path& path, const std::string& name,
                                      const Proto& tensor) {
  if (tensor.data_location() == Proto::EXTERNAL)
    throw DataError(fmt::format("{}: the numbers of '{}' are in another file; save the model as one file",
                                path.string(), excerpt(name)));
  OnnxNumbers numbers{name, {}, {}, static_cast<OnnxType>(tensor.data_type())};
  if (!fill(numbers, tensor)) return {};
  double expected = 1;
  for (const std::int64_t size : tensor.dims()) {
    numbers.shape.push_back(size);
    expected *= size < 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(size);
  }
  if (expected != static_cast<double>(numbers.values.size()))
    throw DataError(fmt::format("{}: '{}' holds {} numbers, its shape says {}", path.string(), excerpt(name),
                                numbers.values.size(), expected));
  return numbers;
}

std::string plain_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

OnnxNode node_of(const onnx::NodeProto& from) {
  OnnxNode node{from.op_type(), from.name(), plain_domain(from.domain()), {}, {}, {}};
  node.inputs.assign(from.input().begin(), from.input().end());
  node.outputs.assign(from.output().begin(), from.output().end());
  for (const auto& attribute : from.attribute()) {
    auto& value = node.attributes[attribute.name()];
    switch (attribute.type()) {
      case onnx::AttributeProto::INT:
        value = attribute.i();
        break;
      case onnx::AttributeProto::FLOAT:
        value = static_cast<double>(attribute.f());
        break;
      case onnx::AttributeProto::STRING:
        value = attribute.s();
        break;
      case onnx::AttributeProto::INTS:
        value = std::vector<std::int64_t>(attribute.ints().begin(), attribute.ints().end());
        break;
      case onnx::AttributeProto::FLOATS:
        value = std::vector<double>(attribute.floats().begin(), attribute.floats().end());
        break;
      case onnx::AttributeProto::STRINGS:
        value = std::vector<std::string>(attribute.strings().begin(), attribute.strings().end());
        break;
      default:
        node.attributes.erase(attribute.name());
        node.unread.push_back(attribute.name());
    }
  }
  return node;
}

OnnxInput input_of(const onnx::ValueInfoProto& from) {
  OnnxInput input{from.name(), {}, static_cast<OnnxType>(from.type().tensor_type().elem_type())};
  for (const auto& size : from.type().tensor_type().shape().dim())
    input.shape.push_back(std::max<Index>(0, size.dim_value()));
  return input;
}

// The tensor of a Constant node; null where it holds something else.
Proto* constant_of(onnx::NodeProto& node) {
  if (node.op_type() != "Constant") return nullptr;
  for (auto& attribute : *node.mutable_attribute())
    if (attribute.name() == "value" && attribute.has_t()) return attribute.mutable_t();
  return nullptr;
}

// What the nodes of a graph take, those of the graphs inside them too.
void count_uses(const onnx::GraphProto& graph, std::map<std::string, int>& uses) {
  for (const auto& output : graph.output()) ++uses[output.name()];
  for (const auto& node : graph.node()) {
    for (const std::string& input : node.input()) ++uses[input];
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) count_uses(attribute.g(), uses);
      for (const auto& inner : attribute.graphs()) count_uses(inner, uses);
    }
  }
}

void replace(Proto& tensor, const std::vector<double>& values) {
  const bool single = tensor.data_type() == Proto::FLOAT;
  tensor.clear_float_data();
  tensor.clear_double_data();
  std::string raw(values.size() * (single ? sizeof(float) : sizeof(double)), '\0');
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (single) {
      const auto value = static_cast<float>(values[k]);
      std::memcpy(raw.data() + k * sizeof(float), &value, sizeof(float));
    } else {
      std::memcpy(raw.data() + k * sizeof(double), &values[k], sizeof(double));
    }
  }
  tensor.set_raw_data(std::move(raw));
}

}  // namespace

std::int64_t OnnxNode::integer(const std::string& key, std::int64_t otherwise) const {
  const auto found = attributes.find(key);
  const auto* value = found == attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
  return value == nullptr ? otherwise : *value;
}

double OnnxNode::number(const std::string& key, double otherwise) const {
  const auto found = attributes.find(key);
  const auto* value = found == attributes.end() ? nullptr : std::get_if<double>(&found->second);
  return value == nullptr ? otherwise : *value;
}

std::string name_of(OnnxType type) {
  static const std::map<OnnxType, std::string> names{
      {OnnxType::none, "no type"},  {OnnxType::float32, "float32"}, {OnnxType::uint8, "uint8"},
      {OnnxType::int8, "int8"},     {OnnxType::uint16, "uint16"},   {OnnxType::int16, "int16"},
      {OnnxType::int32, "int32"},   {OnnxType::int64, "int64"},     {OnnxType::text, "text"},
      {OnnxType::boolean, "bool"},  {OnnxType::float16, "float16"}, {OnnxType::float64, "float64"},
      {OnnxType::uint32, "uint32"}, {OnnxType::uint64, "uint64"}};
  const auto found = names.find(type);
  return found == names.end() ? fmt::format("type {}", static_cast<int>(type)) : found->second;
}

bool is_float(OnnxType type) { return type == OnnxType::float32 || type == OnnxType::float64; }

bool is_integer(OnnxType type) {
  return (OnnxType::uint8 <= type && type <= OnnxType::int64) || type == OnnxType::boolean ||
         type == OnnxType::uint32 || type == OnnxType::uint64;
}

OnnxGraph read_onnx_graph(const std::filesystem::path& path) {
  onnx::ModelProto model = parsed(path);
  OnnxGraph graph;
  graph.producer = model.producer_name();
  const auto keep = [&](const std::string& name, const Proto& tensor) {
    bool fresh = true;
    if (tensor.data_type() == Proto::STRING)
      fresh = graph.texts.try_emplace(name, tensor.string_data().begin(), tensor.string_data().end()).second;
    else if (auto numbers = numbers_of(path, name, tensor))
      fresh = graph.numbers.try_emplace(name, std::move(*numbers)).second;
    if (!fresh)
      throw DataError(fmt::format("{}: the constant '{}' is there twice", path.string(), excerpt(name)));
  };
  for (const auto& tensor : model.graph().initializer()) keep(tensor.name(), tensor);
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    if (node.op_type() == "Constant") {
      if (node.output_size() == 1)
        if (const Proto* tensor = constant_of(node)) keep(node.output(0), *tensor);
      continue;
    }
    graph.nodes.push_back(node_of(node));
  }
  for (const auto& input : model.graph().input())
    if (!graph.numbers.contains(input.name()) && !graph.texts.contains(input.name()))
      graph.inputs.push_back(input_of(input));
  for (const auto& output : model.graph().output()) graph.outputs.push_back(output.name());
  count_uses(model.graph(), graph.uses);
  for (const auto& set : model.opset_import())
    if (plain_domain(set.domain()).empty()) graph.version = set.version();
  for (const auto& function : model.functions())
    if (const std::string domain = plain_domain(function.domain()); domain.empty() || domain == "ai.onnx.ml")
      throw DataError(fmt::format("{}: it has a function of its own in place of the operator {}",
                                  path.string(), excerpt(function.name())));
  return graph;
}

void write_onnx_like(const std::filesystem::path& source, const std::vector<OnnxChange>& changes,
                     const std::filesystem::path& path) {
  onnx::ModelProto model = parsed(source);
  auto& graph = *model.mutable_graph();
  std::map<std::string, Proto*> constants;
  std::map<std::string, onnx::NodeProto*> nodes;
  for (auto& tensor : *graph.mutable_initializer()) constants[tensor.name()] = &tensor;
  std::set<std::string> names;
  for (auto& node : *graph.mutable_node()) {
    if (node.output_size() > 0) nodes[node.output(0)] = &node;
    names.insert(node.output().begin(), node.output().end());
    if (Proto* tensor = constant_of(node); tensor != nullptr && node.output_size() == 1)
      constants[node.output(0)] = tensor;
  }
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& [name, tensor] : constants) names.insert(name);
  std::vector<onnx::NodeProto> fresh;
  const auto other = [&] {
    throw DataError(fmt::format("{}: it is no longer the file that was read", source.string()));
  };
  for (const OnnxChange& change : changes) {
    if (!change.constant.empty()) {
      const auto found = constants.find(change.constant);
      if (found == constants.end()) other();
      replace(*found->second, change.values);
      continue;
    }
    const auto found = nodes.find(change.node);
    if (found == nodes.end() || change.input >= found->second->input_size()) other();
    std::string& input = *found->second->mutable_input(change.input);
    std::string name = input + "_polished";
    while (!names.insert(name).second) name += "_";
    auto& node = fresh.emplace_back();
    node.set_op_type("Constant");
    node.set_name(name);
    node.add_output(name);
    auto& attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_type(onnx::AttributeProto::TENSOR);
    attribute.mutable_t()->set_data_type(static_cast<int>(change.type));
    attribute.mutable_t()->mutable_dims()->Add(change.shape.begin(), change.shape.end());
    replace(*attribute.mutable_t(), change.values);
    input = name;
  }
  // They stand before all that takes them.
  for (auto& node : fresh) *graph.add_node() = std::move(node);
  std::rotate(graph.mutable_node()->begin(), graph.mutable_node()->end() - std::ssize(fresh),
              graph.mutable_node()->end());
  std::string bytes;
  if (!model.SerializeToString(&bytes))
    throw ResourceError(
        fmt::format("{}: it would be larger than the 2 GB that one ONNX file holds", path.string()));
  write_file(path, bytes);
}

}  // namespace zeroloss::internal
