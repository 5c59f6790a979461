#include "data/onnx_parts.hpp"

#include <cstdint>
#include <vector>

namespace zeroloss::internal {

std::string constant_of(OnnxModel& model, const std::string& name, const std::vector<Index>& shape,
                        const double* numbers, Dtype dtype) {
  if (dtype == Dtype::f64) return model.constant(view_of(name, shape, numbers));
  Index count = 1;
  for (const Index size : shape) count *= size;
  const Eigen::VectorXf rounded = Eigen::Map<const Vector>(numbers, count).cast<float>();
  return model.constant(view_of(name, shape, rounded.data()));
}

std::string with_constant(OnnxModel& model, const std::string& x, double value, Dtype dtype,
                          const std::string& name) {
  const std::string pads = model.axes({0, 0, 0, 1});
  return model.node("Pad", {x, pads, model.scalar(value, dtype)}, {}, name);
}

std::string of_unit_length(OnnxModel& model, const std::string& x, const std::string& name) {
  const std::vector<std::int64_t> features{1};
  const auto reduced = [&](const char* op, const std::string& from) {
    return model.node(op, {from}, {{"axes", features}, {"keepdims", 1}});
  };
  const std::string scaled = model.node("Div", {x, reduced("ReduceMax", model.node("Abs", {x}))});
  return model.node("Div", {scaled, reduced("ReduceL2", scaled)}, {}, name);
}

void add_largest(OnnxModel& model, const std::string& y) {
  model.node("ArgMax", {y}, {{"axis", 1}, {"keepdims", 0}}, "label");
  model.output("label", Dtype::i64, {-1});
}

void add_class(OnnxModel& model, const std::string& y, Index outputs, Dtype dtype) {
  if (outputs > 1) return add_largest(model, y);
  const std::string second = model.node("GreaterOrEqual", {y, model.scalar(0, dtype)});
  model.node("Cast", {model.node("Squeeze", {second, model.axes({1})})}, {{"to", Dtype::i64}}, "label");
  model.output("label", Dtype::i64, {-1});
}

}  // namespace zeroloss::internal
