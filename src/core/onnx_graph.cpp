#include "core/onnx_graph.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>

#include "zeroloss/core/error.hpp"
#include "zeroloss/core/memory.hpp"
#include "zeroloss/core/run.hpp"
#include "zeroloss/core/text.hpp"

namespace zeroloss::internal {
namespace {

using Proto = onnx::TensorProto;

// The whole file. Protobuf says nothing more than that it is not what it expected.
onnx::ModelProto parsed(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || is_directory(path)) throw DataError(fmt::format("{}: cannot be read", path.string()));
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

template <class T>
std::vector<double> from_raw(const std::string& raw) {
  std::vector<double> values(raw.size() / sizeof(T));
  for (std::size_t k = 0; k < values.size(); ++k) {
    T value;
    std::memcpy(&value, raw.data() + k * sizeof(T), sizeof(T));
    values[k] = static_cast<double>(value);
  }
  return values;
}

template <class Field>
std::vector<double> from_field(const Field& field) {
  return {field.begin(), field.end()};
}

// Empty where the type is none that is read; `known` says which.
std::vector<double> values_of(const Proto& tensor, bool& known) {
  const bool raw = tensor.has_raw_data();
  known = true;
  switch (tensor.data_type()) {
    case Proto::FLOAT:
      return raw ? from_raw<float>(tensor.raw_data()) : from_field(tensor.float_data());
    case Proto::DOUBLE:
      return raw ? from_raw<double>(tensor.raw_data()) : from_field(tensor.double_data());
    case Proto::INT32:
      return raw ? from_raw<std::int32_t>(tensor.raw_data()) : from_field(tensor.int32_data());
    case Proto::INT64:
      return raw ? from_raw<std::int64_t>(tensor.raw_data()) : from_field(tensor.int64_data());
    case Proto::BOOL:
      return raw ? from_raw<std::uint8_t>(tensor.raw_data()) : from_field(tensor.int32_data());
    default:
      known = false;
      return {};
  }
}

// Text and other types are kept out: nothing that is computed depends on them, or the reader of the graph
// says so.
std::optional<OnnxNumbers> numbers_of(const std::filesystem::path& path, const std::string& name,
                                      const Proto& tensor) {
  if (tensor.data_location() == Proto::EXTERNAL)
    throw DataError(fmt::format("{}: the numbers of '{}' are in another file; save the model as one file",
                                path.string(), excerpt(name)));
  bool known = false;
  OnnxNumbers numbers{name, {}, values_of(tensor, known), tensor.data_type() == Proto::FLOAT};
  if (!known) return {};
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

OnnxNode node_of(const onnx::NodeProto& from) {
  OnnxNode node{from.op_type(), from.name(), from.domain() == "ai.onnx" ? "" : from.domain(), {}, {}, {}};
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
      default:
        node.attributes.erase(attribute.name());
    }
  }
  return node;
}

OnnxInput input_of(const onnx::ValueInfoProto& from) {
  OnnxInput input{from.name(), {}};
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

void store(Proto& tensor, const std::vector<double>& values) {
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

OnnxGraph read_onnx_graph(const std::filesystem::path& path) {
  onnx::ModelProto model = parsed(path);
  OnnxGraph graph;
  const auto keep = [&](const std::string& name, const Proto& tensor) {
    if (auto numbers = numbers_of(path, name, tensor))
      graph.numbers.insert_or_assign(name, std::move(*numbers));
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
    if (!graph.numbers.contains(input.name())) graph.inputs.push_back(input_of(input));
  for (const auto& output : model.graph().output()) graph.outputs.push_back(output.name());
  return graph;
}

void write_onnx_like(const std::filesystem::path& source,
                     const std::map<std::string, std::vector<double>>& numbers,
                     const std::filesystem::path& path) {
  onnx::ModelProto model = parsed(source);
  for (auto& tensor : *model.mutable_graph()->mutable_initializer())
    if (const auto found = numbers.find(tensor.name()); found != numbers.end()) store(tensor, found->second);
  for (auto& node : *model.mutable_graph()->mutable_node())
    if (node.output_size() == 1)
      if (const auto found = numbers.find(node.output(0)); found != numbers.end())
        if (Proto* tensor = constant_of(node)) store(*tensor, found->second);
  write_file(path, model.SerializeAsString());
}

}  // namespace zeroloss::internal
