#pragma once
#include <map>
#include <string>
#include <vector>

#include "zeroloss/storage/onnx.hpp"

namespace zeroloss::internal {

/// What the recipes of src/kernel/activations are written in.
class OnnxFormula {
 public:
  using Value = std::string;
  OnnxFormula(OnnxModel& model, Dtype dtype) : model_(model), dtype_(dtype) {}

  bool single() const { return dtype_ == Dtype::f32; }
  Value number(double value) { return model_.scalar(value, dtype_); }
  Value node(const char* op, const std::vector<Value>& inputs,
             const std::map<std::string, OnnxAttribute>& attributes = {}) {
    return model_.node(op, inputs, attributes);
  }
  /// In single precision: ONNX Runtime has no other.
  Value erf(const Value& x) {
    if (single()) return node("Erf", {x});
    rough_erf_ = true;
    const Value rounded = node("Cast", {x}, {{"to", Dtype::f32}});
    return node("Cast", {node("Erf", {rounded})}, {{"to", dtype_}});
  }
  bool rough_erf() const { return rough_erf_; }

 private:
  OnnxModel& model_;
  Dtype dtype_;
  bool rough_erf_ = false;
};

}  // namespace zeroloss::internal
