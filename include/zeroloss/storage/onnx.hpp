#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "zeroloss/storage/tensors.hpp"

namespace onnx {
class ModelProto;
}

/// ONNX files, which other programs run. https://onnx.ai/onnx/operators
namespace zeroloss {

/// What a node is told: an axis, a list of axes, a number, a mode, a type.
using OnnxAttribute = std::variant<std::int64_t, std::vector<std::int64_t>, float, std::string, Dtype>;

/// A graph of standard operators under construction. Values are known by their names, which is what these
/// functions take and return:
///     auto z = model.node("MatMul", {x, W});
///     model.output(model.node("Relu", {z}, {}, "y"), Dtype::f32, {-1, 10});
/// Opset 13 in IR version 7: ONNX Runtime reads it from its version 1.6 on.
class OnnxModel {
 public:
  explicit OnnxModel(const std::string& name);
  ~OnnxModel();
  OnnxModel(OnnxModel&&) noexcept;
  OnnxModel& operator=(OnnxModel&&) noexcept;

  /// -1 in a shape stands for the number of points, the symbolic size "batch".
  std::string input(const std::string& name, Dtype dtype, const std::vector<Index>& shape);

  /// Numbers of the model, copied into it. Throws ResourceError before the copy if they would exceed the 2 GB
  /// that one ONNX file can hold; std::invalid_argument as write_tensors does.
  std::string constant(const TensorView& tensor);
  std::string scalar(double value, Dtype dtype);              ///< f64 or f32
  std::string axes(const std::vector<std::int64_t>& values);  ///< for operators that take them as an input

  /// The output of a new node; `name` is chosen by the operator where none is given.
  std::string node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::map<std::string, OnnxAttribute>& attributes = {}, const std::string& name = "");

  /// What becomes of `state` when `body` is applied to it once for each slice of the sequences along their
  /// first axis (operator Scan): one copy of the body, however many slices. The inputs of `body` are the
  /// state and a slice of each sequence, its one output is the next state. Names inside it must be others
  /// than here.
  std::string scan(const OnnxModel& body, const std::string& state, const std::vector<std::string>& sequences,
                   const std::string& name = "");

  /// Declares the value called `name` an output of the model; its shape as in input().
  void output(const std::string& name, Dtype dtype, const std::vector<Index>& shape);

  void metadata(const Metadata& properties);

  /// Checks operators, attributes, types and shapes with ONNX's own checker and shape inference, adds the
  /// shapes found, and writes the file atomically, as write_file does. Throws std::invalid_argument with the
  /// checker's words if the graph is wrong; ResourceError if the file would exceed 2 GB or writing fails.
  /// Memory: the file once more.
  void write(const std::filesystem::path& path);

  /// What write() writes, with the same exceptions but for those of writing.
  std::string bytes();

 private:
  std::unique_ptr<onnx::ModelProto> model_;
  double bytes_ = 0;   // of constants
  int constants_ = 0;  // named so far
};

}  // namespace zeroloss
