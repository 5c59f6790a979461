#pragma once
#include <any>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "graph/value.hpp"

/// The operators of ONNX that are enclosed: a row each, in src/graph/operators.
/// https://onnx.ai/onnx/operators
namespace zeroloss::internal::graph {

/// Whose numbers are enclosed. exact: those of real arithmetic; precise: with Rounding::precise. float32: of
/// any runtime that rounds to the types that the file declares; tf32, bfloat16, float16: that also rounds
/// factors of matrix products of float32 to these, and adds the products as tensor cores do, with 22 bits.
enum class Execution { exact, precise, float32, tf32, bfloat16, float16 };

/// Of results of a type.
Rounding rounding_of(Execution execution, OnnxType type);

/// What an operator keeps of its constants between blocks of samples.
using Kept = std::shared_ptr<const void>;

/// What is kept of a graph between evaluations: norms of its linear maps, which depend on no rounding.
struct Memory {
  std::mutex alone = {};  ///< held while the graph is evaluated
  std::map<const OnnxNode*, double> norms;
};

/// A node at a block of samples.
struct Call {
  const OnnxNode& node;
  std::int64_t version;  ///< of the operator set
  Execution execution;
  std::vector<const Value*> inputs;  ///< null: left out
  Memory& memory;
  bool deep;   ///< so many maps lie behind each other that their norms decide
  Kept& kept;  ///< of this node; empty at the first block, which goes alone

  [[noreturn]] void refuse(const std::string& why) const;

  bool has(std::size_t k) const { return k < inputs.size() && inputs[k] != nullptr; }
  /// Throws where it is left out.
  const Value& input(std::size_t k) const;
  /// Likewise, of float16, bfloat16, float32 or float64.
  const Value& numbers(std::size_t k) const;
  /// A constant of integers.
  const std::vector<std::int64_t>& integers(std::size_t k) const;
  /// A constant number.
  double number(std::size_t k) const;
  /// An attribute of integers in older operator sets, an input in newer ones; empty where there is neither.
  std::vector<std::int64_t> listed(const std::string& attribute, std::size_t input) const;

  Rounding rounding(const Value& result) const { return rounding_of(execution, result.type); }
  /// An axis below `rank`, counted from behind where it is negative.
  std::size_t axis(std::int64_t axis, std::size_t rank) const;
};

struct Operator {
  std::string_view name;
  std::vector<Value> (*enclose)(const Call&);
};
extern const std::span<const Operator> kAffine, kArithmetic, kConvolution, kFunctions, kLearning, kLogic,
    kMoves, kNormalizations, kPooling, kReductions, kShapes;

/// Null for one that is not known.
const Operator* operator_called(const std::string& name);

/// Whether an operator leaves the numbers of a sample as they are and in their order, as Reshape does, and
/// Dropout but in training.
bool keeps_numbers(const std::string& op);

bool is_real(OnnxType type);  ///< float16, bfloat16, float32, float64

}  // namespace zeroloss::internal::graph
