#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "zeroloss/base/matrix.hpp"

/// ONNX files of other programs, read. https://onnx.ai/onnx/operators
namespace zeroloss::internal {

/// The element type of a tensor, numbered as TensorProto.DataType of onnx.proto.
enum class OnnxType {
  none = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  text = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  bfloat16 = 16
};

/// "int64"; "type 17" for one that is not listed here.
std::string name_of(OnnxType type);
bool is_float(OnnxType type);    ///< float32 or float64
bool is_half(OnnxType type);     ///< float16 or bfloat16
bool is_integer(OnnxType type);  ///< of any size, or a truth value

/// Numbers in an ONNX file, or in another one beside it: an initializer, or what a Constant node holds.
/// float16, bfloat16, float32, integers and truth values become doubles; integers of 64 bits may be rounded.
struct OnnxNumbers {
  std::string name;
  std::vector<Index> shape;  ///< empty = a single number
  std::vector<double> values;
  OnnxType type = OnnxType::none;
  std::vector<std::int64_t> integers = {};  ///< the values of integers and truth values, exactly
};

struct OnnxNode {
  std::string op, name;  ///< "Gemm"; the name may be empty
  std::string domain;    ///< empty, or "ai.onnx.ml", ..
  std::vector<std::string> inputs, outputs;
  std::map<std::string, std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>,
                                     std::vector<double>, std::vector<std::string>, OnnxNumbers>>
      attributes;
  std::vector<std::string> unread = {};  ///< names of attributes of no type or of another one

  std::int64_t integer(const std::string& key, std::int64_t otherwise) const;
  double number(const std::string& key, double otherwise) const;
  /// Null where there is no such attribute of this type.
  template <class T>
  const T* find(const std::string& key) const {
    const auto found = attributes.find(key);
    return found == attributes.end() ? nullptr : std::get_if<T>(&found->second);
  }
};

/// "node 'relu' (Relu -> h1)".
std::string called(const OnnxNode& node);

struct OnnxInput {
  std::string name;
  std::vector<Index> shape;  ///< 0 for a size that the file leaves open; empty where it says nothing
  OnnxType type = OnnxType::none;
};

struct OnnxGraph {
  std::vector<OnnxNode> nodes;  ///< in order: what is used stands before; no Constant nodes
  std::map<std::string, OnnxNumbers> numbers;
  std::map<std::string, std::vector<std::string>> texts;  ///< constants of text
  std::map<std::string, std::vector<Index>> text_shapes;  ///< of each of them; empty = a single text
  std::vector<OnnxInput> inputs;                          ///< without initializers
  std::vector<std::string> outputs;
  std::map<std::string, int> uses;  ///< how often a value is an input of a node or an output of the graph
  std::int64_t version = 1;         ///< of the operator set of ONNX itself
  std::map<std::string, std::int64_t> versions;  ///< of all that the file names, by domain; ONNX itself is ""
  std::map<std::string, std::string> metadata = {};  ///< metadata_props
  std::string producer;                              ///< the program that wrote the file, as it says
};

/// Throws DataError naming the file: not ONNX, no graph, a constant that is there twice, functions in place
/// of operators, numbers or texts that are not as many as their shape says, an integer that its type or int64
/// does not hold, numbers in another file that is not below the model's folder or does not hold them.
/// ResourceError where memory does not suffice.
OnnxGraph read_onnx_graph(const std::filesystem::path& path);

/// The same of the bytes of a file, which errors call `name`.
OnnxGraph onnx_graph_of(const std::string& bytes, const std::string& name);

/// Other numbers for a constant, or for one input of one node alone, which gets a constant of its own.
struct OnnxChange {
  std::string constant = {};  ///< of the same shape and type, float32 or float64; empty: what follows
  std::string node = {};      ///< the node's first output
  int input = 0;
  std::vector<Index> shape = {};
  OnnxType type = OnnxType::none;  ///< float32 or float64
  std::vector<double> values = {};
};

/// The same file with other numbers, rounded to float32 where that is their type. What the source has in
/// other files is in this one. Throws as read_onnx_graph does, std::invalid_argument for a constant of other
/// types than float32 and float64, ResourceError where writing fails or one ONNX file does not hold all of
/// it.
void write_onnx_like(const std::filesystem::path& source, const std::vector<OnnxChange>& changes,
                     const std::filesystem::path& path);

}  // namespace zeroloss::internal
