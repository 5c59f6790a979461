#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "zeroloss/core/matrix.hpp"

/// ONNX files of other programs, read. https://onnx.ai/onnx/operators
namespace zeroloss::internal {

/// Numbers in an ONNX file: an initializer, or what a Constant node holds. float32, integers and
/// truth values become doubles.
struct OnnxNumbers {
  std::string name;
  std::vector<Index> shape;  ///< empty = a single number
  std::vector<double> values;
  bool single = false;  ///< float32
};

struct OnnxNode {
  std::string op, name;  ///< "Gemm"; the name may be empty
  std::string domain;    ///< empty, or "ai.onnx.ml", ..
  std::vector<std::string> inputs, outputs;
  std::map<std::string,
           std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>>
      attributes;  ///< those of other types are left out

  std::int64_t integer(const std::string& key, std::int64_t otherwise) const;
  double number(const std::string& key, double otherwise) const;
};

struct OnnxInput {
  std::string name;
  std::vector<Index> shape;  ///< 0 for a size that the file leaves open; empty where it says nothing
};

struct OnnxGraph {
  std::vector<OnnxNode> nodes;  ///< in order: what is used stands before; no Constant nodes
  std::map<std::string, OnnxNumbers> numbers;
  std::vector<OnnxInput> inputs;  ///< without initializers
  std::vector<std::string> outputs;
};

/// Throws DataError naming the file: not ONNX, no graph, external data, numbers that are not float32, float64
/// or integers (float16, ..) or not as many as their shape says.
OnnxGraph read_onnx_graph(const std::filesystem::path& path);

/// The same file with other numbers of the same shapes, rounded to the file's type. Throws as read_onnx_graph
/// does, ResourceError where writing fails.
void write_onnx_like(const std::filesystem::path& source,
                     const std::map<std::string, std::vector<double>>& numbers,
                     const std::filesystem::path& path);

}  // namespace zeroloss::internal
