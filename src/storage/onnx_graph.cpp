#include "storage/onnx_graph.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <set>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "storage/onnx_external.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/run.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

using Proto = onnx::TensorProto;
constexpr double kOneFile = std::numeric_limits<std::int32_t>::max();  // of protobuf

// Protobuf says nothing more than that it is not what it expected.
onnx::ModelProto parsed(const std::string& bytes, const std::filesystem::path& path) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes) || !model.has_graph())
    throw DataError(fmt::format("{}: not an ONNX model, or damaged", path.string()));
  return model;
}

// The whole file.
onnx::ModelProto parsed(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || is_directory(path))
    throw DataError(fmt::format("{}: {}", path.string(), exists(path) ? "cannot be read" : "no such file"));
  const auto size = static_cast<double>(file_size(path));
  if (size > kOneFile)
    throw DataError(fmt::format("{}: {}, and one ONNX file holds 2 GB", path.string(), format_bytes(size)));
  require_memory(2 * size, path.string(), "it is read at once");
  return parsed(std::string((std::istreambuf_iterator<char>(file)), {}), path);
}

double from_float16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double value = 0;
  if (exponent == 31)
    value =
        fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  else  // subnormal numbers have the exponent of the smallest normal ones, without their leading 1
    value = std::ldexp(exponent == 0 ? fraction : 1024 + fraction, std::max(exponent, 1) - 25);
  return std::copysign(value, bits >> 15 == 0 ? 1 : -1);
}

double from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// A tensor on its way into numbers: its bytes, here or in another file, or a field of protobuf.
class Content {
 public:
  Content(const std::filesystem::path& path, const std::string& name, const Proto& tensor)
      : path_(path), name_(name), tensor_(tensor), expected_(onnx_count(tensor)) {
    raw_ = tensor.has_raw_data() ? &tensor.raw_data() : nullptr;
  }

  // Types that are not read are kept out: nothing that is computed depends on them, or the reader of the
  // graph says so.
  std::optional<OnnxNumbers> numbers() {
    const auto type = static_cast<OnnxType>(tensor_.data_type());
    if (!is_float(type) && !is_half(type) && !is_integer(type)) return {};
    fetch(is_integer(type) ? 2 : 1);
    OnnxNumbers numbers{name_, shape(), {}, type};
    fill(numbers);
    require_count(numbers.values.size(), "numbers");
    return numbers;
  }

  std::vector<std::string> texts() const {
    if (tensor_.data_location() == Proto::EXTERNAL)
      refuse("is of text and in another file, where ONNX has numbers alone");
    require_count(static_cast<std::size_t>(tensor_.string_data_size()), "texts");
    return {tensor_.string_data().begin(), tensor_.string_data().end()};
  }

  std::vector<Index> shape() const { return {tensor_.dims().begin(), tensor_.dims().end()}; }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw DataError(fmt::format("{}: '{}' {}", path_.string(), excerpt(name_), what));
  }

  void require_count(std::size_t found, const char* things) const {
    if (static_cast<double>(found) != expected_)
      refuse(fmt::format("holds {} {}, its shape says {}", found, things, expected_));
  }

  // Bytes of another file, which become `copies` numbers of 64 bits.
  void fetch(int copies) {
    if (tensor_.data_location() != Proto::EXTERNAL) return;
    const OnnxBytes bytes = find_external(path_, name_, tensor_);
    require_memory(2 * static_cast<double>(bytes.length) + 8 * copies * expected_, path_.string(),
                   "it is read at once");
    fetched_ = read_external(path_, name_, bytes);
    raw_ = &fetched_;
  }

  // `bits`: the field has the bits of T in the lowest of its own, whatever number they make.
  template <class T, class Field>
  std::vector<T> stored(const Field& field, bool bits = false) const {
    std::vector<T> values;
    if (raw_ != nullptr) {
      if (raw_->size() % sizeof(T) != 0)
        refuse(fmt::format("holds {} bytes, and each of its numbers has {}", raw_->size(), sizeof(T)));
      values.resize(raw_->size() / sizeof(T));
      if (!values.empty()) std::memcpy(values.data(), raw_->data(), raw_->size());
      return values;
    }
    values.reserve(static_cast<std::size_t>(field.size()));
    for (const auto value : field) {
      if constexpr (std::is_integral_v<T>)
        if (!bits && !std::in_range<T>(value))
          refuse(fmt::format("holds {}, which is no {}", value,
                             name_of(static_cast<OnnxType>(tensor_.data_type()))));
      values.push_back(static_cast<T>(value));
    }
    return values;
  }

  // Truth values are bytes, or a field of larger numbers: all but 0 are true.
  std::vector<std::int64_t> truths() const {
    std::vector<std::int64_t> values;
    const auto take = [&](const auto& from) {
      for (const auto value : from) values.push_back(value != 0 ? 1 : 0);
    };
    if (raw_ != nullptr)
      take(*raw_);
    else
      take(tensor_.int32_data());
    return values;
  }

  void fill(OnnxNumbers& numbers) const {
    const auto take = [](auto& into, const auto& values) { into.assign(values.begin(), values.end()); };
    const auto halves = [&](double (*number)(std::uint16_t)) {
      for (const std::uint16_t bits : stored<std::uint16_t>(tensor_.int32_data(), true))
        numbers.values.push_back(number(bits));
    };
    switch (tensor_.data_type()) {
      case Proto::FLOAT:
        return take(numbers.values, stored<float>(tensor_.float_data()));
      case Proto::DOUBLE:
        return take(numbers.values, stored<double>(tensor_.double_data()));
      case Proto::FLOAT16:
        return halves(from_float16);
      case Proto::BFLOAT16:
        return halves(from_bfloat16);
      case Proto::INT8:
        take(numbers.integers, stored<std::int8_t>(tensor_.int32_data()));
        break;
      case Proto::UINT8:
        take(numbers.integers, stored<std::uint8_t>(tensor_.int32_data()));
        break;
      case Proto::INT16:
        take(numbers.integers, stored<std::int16_t>(tensor_.int32_data()));
        break;
      case Proto::UINT16:
        take(numbers.integers, stored<std::uint16_t>(tensor_.int32_data()));
        break;
      case Proto::INT32:
        take(numbers.integers, stored<std::int32_t>(tensor_.int32_data()));
        break;
      case Proto::UINT32:
        take(numbers.integers, stored<std::uint32_t>(tensor_.uint64_data()));
        break;
      case Proto::INT64:
        take(numbers.integers, stored<std::int64_t>(tensor_.int64_data()));
        break;
      case Proto::UINT64:
        for (const std::uint64_t value : stored<std::uint64_t>(tensor_.uint64_data())) {
          if (!std::in_range<std::int64_t>(value))
            refuse(fmt::format("holds {}, and integers are read up to the largest of int64", value));
          numbers.integers.push_back(static_cast<std::int64_t>(value));
        }
        break;
      default:  // BOOL, the only one left
        numbers.integers = truths();
    }
    take(numbers.values, numbers.integers);
  }

  const std::filesystem::path& path_;
  const std::string& name_;
  const Proto& tensor_;
  double expected_;  // how many numbers its shape says
  std::string fetched_;
  const std::string* raw_ = nullptr;
};

std::string plain_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

OnnxNode node_of(const std::filesystem::path& path, const onnx::NodeProto& from) {
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
      case onnx::AttributeProto::TENSOR:
        if (attribute.t().data_type() != Proto::STRING)
          if (auto numbers = Content(path, attribute.name(), attribute.t()).numbers()) {
            value = std::move(*numbers);
            break;
          }
        [[fallthrough]];
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

// A number, a text or a list of them as a tensor; null where the attribute's name and type are not of one.
Proto* tensor_of(onnx::AttributeProto& attribute) {
  using Attribute = onnx::AttributeProto;
  static const std::map<std::string, int> types{
      {"value_float", Attribute::FLOAT},   {"value_floats", Attribute::FLOATS},
      {"value_int", Attribute::INT},       {"value_ints", Attribute::INTS},
      {"value_string", Attribute::STRING}, {"value_strings", Attribute::STRINGS}};
  const auto found = types.find(attribute.name());
  if (found == types.end() || found->second != attribute.type()) return nullptr;
  Proto tensor;
  const auto list = [&](auto* into, const auto& values) {
    *into = values;
    tensor.add_dims(values.size());
  };
  switch (attribute.type()) {
    case Attribute::FLOAT:
      tensor.add_float_data(attribute.f());
      break;
    case Attribute::FLOATS:
      list(tensor.mutable_float_data(), attribute.floats());
      break;
    case Attribute::INT:
      tensor.add_int64_data(attribute.i());
      break;
    case Attribute::INTS:
      list(tensor.mutable_int64_data(), attribute.ints());
      break;
    case Attribute::STRING:
      tensor.add_string_data(attribute.s());
      break;
    default:
      list(tensor.mutable_string_data(), attribute.strings());
  }
  const bool floats = attribute.type() == Attribute::FLOAT || attribute.type() == Attribute::FLOATS;
  const bool integers = attribute.type() == Attribute::INT || attribute.type() == Attribute::INTS;
  tensor.set_data_type(floats ? Proto::FLOAT : integers ? Proto::INT64 : Proto::STRING);
  attribute.Clear();
  attribute.set_name("value");
  attribute.set_type(Attribute::TENSOR);
  *attribute.mutable_t() = std::move(tensor);
  return attribute.mutable_t();
}

// The tensor of a Constant node, made of what it has in place of one; null where it holds something else, or
// more than one thing.
Proto* constant_of(onnx::NodeProto& node) {
  if (node.op_type() != "Constant" || node.output_size() != 1) return nullptr;
  onnx::AttributeProto* held = nullptr;
  for (auto& attribute : *node.mutable_attribute()) {
    if (!attribute.name().starts_with("value") && attribute.name() != "sparse_value") continue;
    if (held != nullptr) return nullptr;
    held = &attribute;
  }
  if (held == nullptr) return nullptr;
  if (held->name() != "value") return tensor_of(*held);
  return held->has_t() ? held->mutable_t() : nullptr;
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

using TakeTensor = std::function<void(const std::string& name, Proto& tensor)>;

void each_tensor(onnx::SparseTensorProto& sparse, const std::string& name, const TakeTensor& take) {
  if (sparse.has_values()) take(name, *sparse.mutable_values());
  if (sparse.has_indices()) take(name, *sparse.mutable_indices());
}

void each_tensor(onnx::GraphProto& graph, const TakeTensor& take);

void each_tensor(onnx::NodeProto& node, const TakeTensor& take) {
  const std::string name = node.output_size() > 0 ? node.output(0) : node.name();
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_t()) take(name, *attribute.mutable_t());
    if (attribute.has_sparse_tensor()) each_tensor(*attribute.mutable_sparse_tensor(), name, take);
    if (attribute.has_g()) each_tensor(*attribute.mutable_g(), take);
    for (auto& tensor : *attribute.mutable_tensors()) take(name, tensor);
    for (auto& sparse : *attribute.mutable_sparse_tensors()) each_tensor(sparse, name, take);
    for (auto& graph : *attribute.mutable_graphs()) each_tensor(graph, take);
  }
}

// Those of the graphs inside it too.
void each_tensor(onnx::GraphProto& graph, const TakeTensor& take) {
  for (auto& tensor : *graph.mutable_initializer()) take(tensor.name(), tensor);
  for (auto& sparse : *graph.mutable_sparse_initializer()) each_tensor(sparse, sparse.values().name(), take);
  for (auto& node : *graph.mutable_node()) each_tensor(node, take);
}

void each_tensor(onnx::ModelProto& model, const TakeTensor& take) {
  each_tensor(*model.mutable_graph(), take);
  for (auto& function : *model.mutable_functions())
    for (auto& node : *function.mutable_node()) each_tensor(node, take);
  for (auto& training : *model.mutable_training_info()) {
    if (training.has_initialization()) each_tensor(*training.mutable_initialization(), take);
    if (training.has_algorithm()) each_tensor(*training.mutable_algorithm(), take);
  }
}

void put_raw(Proto& tensor, std::string raw) {
  tensor.clear_float_data();
  tensor.clear_double_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_uint64_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(std::move(raw));
}

[[noreturn]] void refuse_size(const std::filesystem::path& path) {
  throw ResourceError(
      fmt::format("{}: it would be larger than the 2 GB that one ONNX file holds", path.string()));
}

// What the source has in other files, in the model itself: it goes to `path`, maybe in another folder.
void bring_home(const std::filesystem::path& source, onnx::ModelProto& model,
                const std::filesystem::path& path) {
  struct Absent {
    std::string name;
    Proto* tensor;
    OnnxBytes bytes;
  };
  std::vector<Absent> all;
  double size = 0;
  each_tensor(model, [&](const std::string& name, Proto& tensor) {
    if (tensor.data_location() != Proto::EXTERNAL) return;
    all.push_back({name, &tensor, find_external(source, name, tensor)});
    size += static_cast<double>(all.back().bytes.length);
  });
  if (all.empty()) return;
  if (size + static_cast<double>(model.ByteSizeLong()) > kOneFile) refuse_size(path);
  require_memory(2 * size, path.string(), "it is written at once");
  for (const auto& [name, tensor, bytes] : all) put_raw(*tensor, read_external(source, name, bytes));
}

void replace(Proto& tensor, const std::vector<double>& values) {
  const bool single = tensor.data_type() == Proto::FLOAT;
  if (!single && tensor.data_type() != Proto::DOUBLE)
    throw std::invalid_argument(
        fmt::format("write_onnx_like: a constant of {}; those of float32 and float64 are changed",
                    name_of(static_cast<OnnxType>(tensor.data_type()))));
  std::string raw(values.size() * (single ? sizeof(float) : sizeof(double)), '\0');
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (single) {
      const auto value = static_cast<float>(values[k]);
      std::memcpy(raw.data() + k * sizeof(float), &value, sizeof(float));
    } else {
      std::memcpy(raw.data() + k * sizeof(double), &values[k], sizeof(double));
    }
  }
  put_raw(tensor, std::move(raw));
}

OnnxGraph graph_of(onnx::ModelProto model, const std::filesystem::path& path) {
  OnnxGraph graph;
  graph.producer = model.producer_name();
  for (const auto& property : model.metadata_props()) graph.metadata[property.key()] = property.value();
  const auto keep = [&](const std::string& name, const Proto& tensor) {
    bool fresh = true;
    Content content(path, name, tensor);
    if (tensor.data_type() == Proto::STRING) {
      fresh = graph.texts.try_emplace(name, content.texts()).second;
      graph.text_shapes.try_emplace(name, content.shape());
    } else if (auto numbers = content.numbers()) {
      fresh = graph.numbers.try_emplace(name, std::move(*numbers)).second;
    }
    if (!fresh)
      throw DataError(fmt::format("{}: the constant '{}' is there twice", path.string(), excerpt(name)));
  };
  for (const auto& tensor : model.graph().initializer()) keep(tensor.name(), tensor);
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    if (node.op_type() == "Constant") {
      if (const Proto* tensor = constant_of(node)) keep(node.output(0), *tensor);
      continue;
    }
    graph.nodes.push_back(node_of(path, node));
  }
  for (const auto& input : model.graph().input())
    if (!graph.numbers.contains(input.name()) && !graph.texts.contains(input.name()))
      graph.inputs.push_back(input_of(input));
  for (const auto& output : model.graph().output()) graph.outputs.push_back(output.name());
  count_uses(model.graph(), graph.uses);
  for (const auto& set : model.opset_import()) graph.versions[plain_domain(set.domain())] = set.version();
  if (const auto own = graph.versions.find(""); own != graph.versions.end()) graph.version = own->second;
  for (const auto& function : model.functions())
    if (const std::string domain = plain_domain(function.domain()); domain.empty() || domain == "ai.onnx.ml")
      throw DataError(fmt::format("{}: it has a function of its own in place of the operator {}",
                                  path.string(), excerpt(function.name())));
  return graph;
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

std::string called(const OnnxNode& node) {
  return fmt::format("node {} ({} -> {})",
                     node.name.empty() ? "without a name" : "'" + excerpt(node.name) + "'", excerpt(node.op),
                     node.outputs.empty() ? "nothing" : excerpt(node.outputs.front()));
}

std::string name_of(OnnxType type) {
  static const std::map<OnnxType, std::string> names{
      {OnnxType::none, "no type"},  {OnnxType::float32, "float32"}, {OnnxType::uint8, "uint8"},
      {OnnxType::int8, "int8"},     {OnnxType::uint16, "uint16"},   {OnnxType::int16, "int16"},
      {OnnxType::int32, "int32"},   {OnnxType::int64, "int64"},     {OnnxType::text, "text"},
      {OnnxType::boolean, "bool"},  {OnnxType::float16, "float16"}, {OnnxType::float64, "float64"},
      {OnnxType::uint32, "uint32"}, {OnnxType::uint64, "uint64"},   {OnnxType::bfloat16, "bfloat16"}};
  const auto found = names.find(type);
  return found == names.end() ? fmt::format("type {}", static_cast<int>(type)) : found->second;
}

bool is_float(OnnxType type) { return type == OnnxType::float32 || type == OnnxType::float64; }

bool is_half(OnnxType type) { return type == OnnxType::float16 || type == OnnxType::bfloat16; }

bool is_integer(OnnxType type) {
  return (OnnxType::uint8 <= type && type <= OnnxType::int64) || type == OnnxType::boolean ||
         type == OnnxType::uint32 || type == OnnxType::uint64;
}

OnnxGraph read_onnx_graph(const std::filesystem::path& path) { return graph_of(parsed(path), path); }

OnnxGraph onnx_graph_of(const std::string& bytes, const std::string& name) {
  return graph_of(parsed(bytes, name), name);
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
      const auto node = nodes.find(change.constant);
      Proto* tensor = found != constants.end() ? found->second
                      : node != nodes.end()    ? constant_of(*node->second)
                                               : nullptr;
      if (tensor == nullptr) other();
      replace(*tensor, change.values);
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
  bring_home(source, model, path);
  std::string bytes;
  if (!model.SerializeToString(&bytes)) refuse_size(path);
  write_file(path, bytes);
}

}  // namespace zeroloss::internal
