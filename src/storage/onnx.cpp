#include "zeroloss/storage/onnx.hpp"

#include <fmt/format.h>
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <limits>
#include <stdexcept>

#include "storage/tensor_bytes.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/run.hpp"
#include "zeroloss/version.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr int kOpset = 13, kIrVersion = 7;
constexpr double kLongestFile = std::numeric_limits<std::int32_t>::max();  // of protobuf

std::int32_t onnx_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return onnx::TensorProto::DOUBLE;
    case Dtype::f32:
      return onnx::TensorProto::FLOAT;
    case Dtype::i64:
      return onnx::TensorProto::INT64;
    default:
      return onnx::TensorProto::UINT8;
  }
}

void set_type(onnx::ValueInfoProto& value, const std::string& name, Dtype dtype,
              const std::vector<Index>& shape) {
  value.set_name(name);
  auto& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx_type(dtype));
  tensor.mutable_shape();  // present even where it has no sizes
  for (const Index size : shape) {
    auto& dimension = *tensor.mutable_shape()->add_dim();
    size == -1 ? dimension.set_dim_param("batch") : dimension.set_dim_value(size);
  }
}

struct SetAttribute {
  onnx::AttributeProto& to;
  void operator()(std::int64_t value) const {
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(value);
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    to.set_type(onnx::AttributeProto::INTS);
    to.mutable_ints()->Add(values.begin(), values.end());
  }
  void operator()(float value) const {
    to.set_type(onnx::AttributeProto::FLOAT);
    to.set_f(value);
  }
  void operator()(const std::string& value) const {
    to.set_type(onnx::AttributeProto::STRING);
    to.set_s(value);
  }
  void operator()(Dtype value) const { (*this)(std::int64_t{onnx_type(value)}); }
};

void require_room(const std::string& model, double bytes) {
  if (bytes > kLongestFile)
    throw ResourceError(
        fmt::format("the ONNX model '{}' takes {} or more, and one ONNX file holds {}; "
                    "a .safetensors file has no such limit",
                    model, format_bytes(bytes), format_bytes(kLongestFile)));
}

}  // namespace

OnnxModel::OnnxModel(const std::string& name) : model_(std::make_unique<onnx::ModelProto>()) {
  model_->set_ir_version(kIrVersion);
  model_->add_opset_import()->set_version(kOpset);
  model_->set_producer_name("zeroloss");
  model_->set_producer_version(ZEROLOSS_VERSION);
  model_->mutable_graph()->set_name(name);
}

OnnxModel::~OnnxModel() = default;
OnnxModel::OnnxModel(OnnxModel&&) noexcept = default;
OnnxModel& OnnxModel::operator=(OnnxModel&&) noexcept = default;

std::string OnnxModel::input(const std::string& name, Dtype dtype, const std::vector<Index>& shape) {
  set_type(*model_->mutable_graph()->add_input(), name, dtype, shape);
  return name;
}

std::string OnnxModel::constant(const TensorView& tensor) {
  const auto bytes = static_cast<std::size_t>(checked_bytes(tensor, "OnnxModel"));
  bytes_ += static_cast<double>(bytes);
  require_room(model_->graph().name(), bytes_);
  auto& initializer = *model_->mutable_graph()->add_initializer();
  initializer.set_name(tensor.name);
  initializer.set_data_type(onnx_type(tensor.dtype));
  initializer.mutable_dims()->Add(tensor.shape.begin(), tensor.shape.end());
  auto& raw = *initializer.mutable_raw_data();
  raw.reserve(bytes);
  const std::size_t length = bytes / tensor.pieces.size();
  for (const void* piece : tensor.pieces) raw.append(static_cast<const char*>(piece), length);
  return tensor.name;
}

std::string OnnxModel::scalar(double value, Dtype dtype) {
  const auto single = static_cast<float>(value);
  const std::string name = fmt::format("scalar_{}", constants_++);
  return constant(dtype == Dtype::f64 ? view_of(name, {}, &value) : view_of(name, {}, &single));
}

std::string OnnxModel::axes(const std::vector<std::int64_t>& values) {
  return constant(view_of(fmt::format("axes_{}", constants_++), {std::ssize(values)}, values.data()));
}

std::string OnnxModel::node(const std::string& op, const std::vector<std::string>& inputs,
                            const std::map<std::string, OnnxAttribute>& attributes, const std::string& name) {
  auto& graph = *model_->mutable_graph();
  std::string output = name.empty() ? fmt::format("{}_{}", op, graph.node_size()) : name;
  auto& node = *graph.add_node();
  node.set_name(output);
  node.set_op_type(op);
  node.mutable_input()->Add(inputs.begin(), inputs.end());
  node.add_output(output);
  for (const auto& [key, value] : attributes) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(key);
    std::visit(SetAttribute{attribute}, value);
  }
  return output;
}

std::string OnnxModel::scan(const OnnxModel& body, const std::string& state,
                            const std::vector<std::string>& sequences, const std::string& name) {
  std::vector<std::string> inputs{state};
  inputs.insert(inputs.end(), sequences.begin(), sequences.end());
  std::string output = node("Scan", inputs, {{"num_scan_inputs", std::ssize(sequences)}}, name);
  auto& attribute = *model_->mutable_graph()->mutable_node()->rbegin()->add_attribute();
  attribute.set_name("body");
  attribute.set_type(onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = body.model_->graph();
  return output;
}

void OnnxModel::output(const std::string& name, Dtype dtype, const std::vector<Index>& shape) {
  set_type(*model_->mutable_graph()->add_output(), name, dtype, shape);
}

void OnnxModel::metadata(const Metadata& properties) {
  for (const auto& [key, value] : properties) {
    auto& property = *model_->add_metadata_props();
    property.set_key(key);
    property.set_value(value);
  }
}

std::string OnnxModel::bytes() {
  const std::string& name = model_->graph().name();
  try {
    onnx::checker::check_model(*model_);
    onnx::shape_inference::InferShapes(*model_, onnx::OpSchemaRegistry::Instance(), {true, 1, true});
  } catch (const std::exception& error) {  // both have exceptions of their own, and let others through
    throw std::invalid_argument(fmt::format("the ONNX model '{}' is wrong: {}", name, error.what()));
  }
  require_room(name, static_cast<double>(model_->ByteSizeLong()));
  return model_->SerializeAsString();
}

void OnnxModel::write(const std::filesystem::path& path) { write_file(path, bytes()); }

}  // namespace zeroloss
