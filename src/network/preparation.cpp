#include "network/preparation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "data/onnx_parts.hpp"
#include "zeroloss/base/parse.hpp"

namespace zeroloss::internal {

std::string preparation_problem(const Preparation& p) {
  const auto& [high, low] = p.center;
  if (high.size() != low.size() || (high.size() != 0 && high.size() != p.d))
    return fmt::format("mean of {} and {} values; expected {}", high.size(), low.size(), p.d);
  if (!high.allFinite() || !low.allFinite()) return "a mean that is not finite";
  if (high + low != high) return "a mean whose high part is not that of the sum, rounded to double";
  const auto& [scale, bias] = std::tie(p.standardization.scale, p.standardization.bias);
  if (!(bias >= 0) || !std::isfinite(bias)) return "a constant that is not finite";
  if (p.features() < 1 || (scale.size() != 0 && scale.size() != p.features()))
    return fmt::format("{} scales; expected {}", scale.size(), p.features());
  const auto power_of_two = [](double s) {
    int e = 0;
    return std::isnormal(s) && std::frexp(s, &e) == 0.5;
  };
  if (!std::ranges::all_of(scale, power_of_two)) return "a scale that is no power of two";
  if (!p.encoding.empty() && p.encoding.d() != p.features())
    return fmt::format("columns that make {} features; expected {}", p.encoding.d(), p.features());
  return {};
}

Metadata preparation_metadata(const Preparation& p) {
  Metadata own{{"normalize", p.normalize ? "true" : "false"}};
  if (p.standardization.bias != 0) own["bias"] = fmt::format("{}", p.standardization.bias);
  if (!p.encoding.empty()) own["columns"] = encoding_text(p.encoding);
  return own;
}

void add_preparation(ModelTensors& tensors, const Preparation& p) {
  if (!p.center.empty()) {
    tensors.add("mean", {p.d}, {p.center.high.data()}, Dtype::f64);
    tensors.add("mean_low", {p.d}, {p.center.low.data()}, Dtype::f64);
  }
  if (const Vector& scale = p.standardization.scale; scale.size() > 0)
    tensors.add("scale", {scale.size()}, {scale.data()}, Dtype::f64);
}

void read_preparation(const ModelFile& parts, Center& center, bool& normalize,
                      Standardization& standardization, Encoding& encoding) {
  normalize = parts.choice("normalize", {"false", "true"}) == 1;
  if (parts.has("mean_low") && !parts.has("mean")) throw parts.damaged("mean_low without mean");
  if (parts.has("mean")) {
    center.high = parts.vector("mean", Dtype::f64);  // models of version 0.1 have this part alone
    center.low =
        parts.has("mean_low") ? parts.vector("mean_low", Dtype::f64) : Vector::Zero(center.high.size());
  }
  standardization.origin = center;
  standardization.scale = parts.optional_vector("scale", Dtype::f64);
  if (parts.says("bias")) standardization.bias = parsed_number(parts.text("bias")).value_or(std::nan(""));
  encoding = parts.encoding();
}

std::string prepared(OnnxModel& model, std::string x, const Preparation& p, Dtype dtype) {
  const auto constant = [&](const char* name, const Vector& numbers) {
    return constant_of(model, name, {numbers.size()}, numbers.data(), dtype);
  };
  if (const Vector& scale = p.standardization.scale; scale.size() > 0)
    x = model.node("Mul", {x, constant("scale", scale)}, {}, "scaled");
  if (const double bias = p.standardization.bias; bias != 0)
    x = with_constant(model, x, bias, dtype, "with_constant");
  if (!p.center.empty()) {  // in two parts, each rounded to the network's precision
    const auto& [high, low] = p.center;
    const Vector mean = dtype == Dtype::f32 ? Vector(high.cast<float>().cast<double>()) : high;
    const Vector rest = (high - mean) + low;
    x = model.node("Sub", {x, constant("mean", mean)});
    x = model.node("Sub", {x, constant("mean_low", rest)}, {}, "centred");
  }
  return p.normalize ? of_unit_length(model, x, "normalised") : x;
}

}  // namespace zeroloss::internal
