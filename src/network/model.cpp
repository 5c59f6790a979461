#include "zeroloss/network/model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>

#include "data/model_file.hpp"
#include "kernel/activations/list.hpp"
#include "network/onnx_formula.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/kernel/activation.hpp"
#include "zeroloss/storage/onnx.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr const char* kKind = "two_layer";

/// What is wrong with a network; empty if nothing is.
std::string problem(const Network& network) {
  const auto& outputs = network.outputs;
  const auto one_of = [](const std::string& value, const std::vector<std::string>& known) {
    return std::ranges::find(known, value) != known.end();
  };
  if (!one_of(network.activation, activation_names()))
    return fmt::format("unknown activation '{}'; expected {}", excerpt(network.activation),
                       fmt::join(activation_names(), ", "));
  if (!one_of(network.scaling, {"ntk", "balanced"}))
    return fmt::format("unknown scaling '{}'; expected ntk or balanced", excerpt(network.scaling));
  if (!one_of(network.precision, {"float32", "float64"}))
    return fmt::format("unknown precision '{}'; expected float32 or float64", excerpt(network.precision));
  if (outputs.empty() || outputs.front().W.size() == 0) return "a network without weights";
  for (const auto& [W, v] : outputs) {
    if (W.rows() != network.width() || W.cols() != network.d() || v.size() != network.width())
      return "outputs of different sizes";
    if (!W.allFinite() || !v.allFinite()) return "weights that are not finite";
  }
  const auto& [high, low] = network.center;
  if (high.size() != low.size() || (high.size() != 0 && high.size() != network.d()))
    return fmt::format("mean of {} and {} values; expected {}", high.size(), low.size(), network.d());
  if (!high.allFinite() || !low.allFinite()) return "a mean that is not finite";
  if (high + low != high) return "a mean whose high part is not that of the sum, rounded to double";
  const auto& [scale, bias] = std::tie(network.standardization.scale, network.standardization.bias);
  if (!(bias >= 0) || !std::isfinite(bias)) return "a constant that is not finite";
  if (network.features() < 1 || (scale.size() != 0 && scale.size() != network.features()))
    return fmt::format("{} scales; expected {}", scale.size(), network.features());
  const auto power_of_two = [](double s) {
    int e = 0;
    return std::isnormal(s) && std::frexp(s, &e) == 0.5;
  };
  if (!std::ranges::all_of(scale, power_of_two)) return "a scale that is no power of two";
  if (!network.encoding.empty() && network.encoding.d() != network.features())
    return fmt::format("columns that make {} features; expected {}", network.encoding.d(),
                       network.features());

  const auto& names = network.class_names;
  const bool classes = network.task == Task::classification;
  if (std::string what = names_problem(network.task, names, 2); !what.empty()) return what;
  const std::size_t expected = classes && names.size() > 2 ? names.size() : 1;
  if (network.task != Task::none && outputs.size() != expected)
    return fmt::format("{} outputs; expected {} for the task", outputs.size(), expected);
  return {};
}

Metadata metadata_of(const Network& network, const Metadata& extra) {
  Metadata own{{"activation", network.activation},
               {"scaling", network.scaling},
               {"normalize", network.normalize ? "true" : "false"}};
  if (network.standardization.bias != 0) own["bias"] = fmt::format("{}", network.standardization.bias);
  if (!network.encoding.empty()) own["columns"] = encoding_text(network.encoding);
  return model_metadata(kKind, network.precision, network.task, network.class_names, own, extra);
}

void check(const char* who, const Network& network) {
  if (const std::string what = problem(network); !what.empty())
    throw std::invalid_argument(fmt::format("{}: {}", who, what));
}

// ---- loading ----

template <class T>
std::vector<TwoLayer> outputs_of(const ModelFile& parts) {
  const Tensor& W = parts.tensor("W", dtype_of<T>(), 3);
  const Tensor& v = parts.tensor("v", dtype_of<T>(), 2);
  const Index c = W.shape[0], m = W.shape[1], d = W.shape[2];
  if (v.shape != std::vector<Index>{c, m})
    throw parts.damaged(fmt::format("W has shape [{}], v [{}]; expected [outputs, m, d] and [outputs, m]",
                                    fmt::join(W.shape, ", "), fmt::join(v.shape, ", ")));
  std::vector<TwoLayer> outputs;
  for (Index k = 0; k < c; ++k)
    outputs.push_back(
        {Eigen::Map<const Rows<T>>(W.data<T>() + k * m * d, m, d).template cast<double>(),
         Eigen::Map<const Eigen::Vector<T, Eigen::Dynamic>>(v.data<T>() + k * m, m).template cast<double>()});
  return outputs;
}

// ---- saving ----

/// The numbers of all outputs as T's, one matrix or vector (`part`) after another, each transposed if asked
/// for.
template <class T, class Part>
std::vector<T> gather(const Network& network, Part TwoLayer::*part, bool transposed = false) {
  std::vector<T> numbers;
  numbers.reserve(network.outputs.size() * static_cast<std::size_t>((network.outputs.front().*part).size()));
  for (const TwoLayer& output : network.outputs) {
    const Rows<T> rows = transposed ? Rows<T>((output.*part).transpose().template cast<T>())
                                    : Rows<T>((output.*part).template cast<T>());
    numbers.insert(numbers.end(), rows.data(), rows.data() + rows.size());
  }
  return numbers;
}

// ---- ONNX ----

template <class T>
OnnxModel graph_of(const Network& network, Metadata& metadata) {
  constexpr Dtype dtype = dtype_of<T>();
  const Index c = std::ssize(network.outputs), m = network.width(), d = network.d();
  OnnxModel model(kKind);
  const auto constant = [&](const char* name, const std::vector<Index>& shape, const auto& numbers) {
    return model.constant(view_of(name, shape, numbers.data()));
  };
  std::string x = model.input("x", dtype, {-1, network.features()});
  if (const Vector& scale = network.standardization.scale; scale.size() > 0) {
    const Eigen::Vector<T, Eigen::Dynamic> powers = scale.cast<T>();
    x = model.node("Mul", {x, constant("scale", {scale.size()}, powers)}, {}, "scaled");
  }
  if (const double bias = network.standardization.bias; bias != 0)
    x = model.node("Pad", {x, model.axes({0, 0, 0, 1}), model.scalar(bias, dtype)}, {}, "with_constant");
  if (!network.center.empty()) {  // in two parts, of T's own precision
    const auto& [high, low] = network.center;
    const Eigen::Vector<T, Eigen::Dynamic> mean = high.cast<T>();
    const Eigen::Vector<T, Eigen::Dynamic> rest =
        ((high - mean.template cast<double>()) + low).template cast<T>();
    x = model.node("Sub", {x, constant("mean", {d}, mean)});
    x = model.node("Sub", {x, constant("mean_low", {d}, rest)}, {}, "centred");
  }
  if (network.normalize) {
    const std::vector<std::int64_t> features{1};
    const auto reduce = [&](const char* op, const std::string& from) {
      return model.node(op, {from}, {{"axes", features}, {"keepdims", 1}});
    };
    x = model.node("Div", {x, reduce("ReduceMax", model.node("Abs", {x}))});  // squares stay in range
    const std::string length = reduce("ReduceL2", x);
    x = model.node("Div", {x, length}, {}, "normalised");
  }
  const std::string W = constant("W", {c, d, m}, gather<T>(network, &TwoLayer::W, true));
  const std::string v = constant("v", {c, m, 1}, gather<T>(network, &TwoLayer::v));
  const std::string z = model.node("MatMul", {x, W}, {}, "z");  // [c, batch, m]
  OnnxFormula formula(model, dtype);
  const std::string phi = describe(phi_of(activation(network.activation)),
                                   [&](auto description) { return description.onnx(formula, z); });
  if (formula.rough_erf()) metadata["erf_precision"] = "float32";
  const std::string sums = model.node("MatMul", {phi, v});
  const std::string columns = model.node("Squeeze", {sums, model.axes({2})});
  const std::string y = model.node("Transpose", {columns}, {}, "y");
  model.output(y, dtype, {-1, c});
  if (network.task != Task::classification) return model;

  if (c == 1) {
    const std::string second = model.node("GreaterOrEqual", {y, model.scalar(0, dtype)});
    model.node("Cast", {model.node("Squeeze", {second, model.axes({1})})}, {{"to", Dtype::i64}}, "label");
  } else {
    model.node("ArgMax", {y}, {{"axis", 1}, {"keepdims", 0}}, "label");
  }
  model.output("label", Dtype::i64, {-1});
  return model;
}

}  // namespace

void save_model(const std::filesystem::path& path, const Network& network, const Metadata& extra) {
  check("save_model", network);
  const Index c = std::ssize(network.outputs), m = network.width(), d = network.d();
  std::vector<TensorView> tensors;
  std::vector<float> W, v;
  if (network.precision == "float32") {
    W = gather<float>(network, &TwoLayer::W);
    v = gather<float>(network, &TwoLayer::v);
    tensors = {view_of("W", {c, m, d}, W.data()), view_of("v", {c, m}, v.data())};
  } else {
    tensors = {{"W", Dtype::f64, {c, m, d}, {}}, {"v", Dtype::f64, {c, m}, {}}};
    for (const TwoLayer& output : network.outputs) {
      tensors[0].pieces.push_back(output.W.data());
      tensors[1].pieces.push_back(output.v.data());
    }
  }
  if (!network.center.empty()) {
    tensors.push_back(view_of("mean", {d}, network.center.high.data()));
    tensors.push_back(view_of("mean_low", {d}, network.center.low.data()));
  }
  if (const Vector& scale = network.standardization.scale; scale.size() > 0)
    tensors.push_back(view_of("scale", {scale.size()}, scale.data()));
  write_tensors(path, tensors, metadata_of(network, extra));
}

Network load_model(const std::filesystem::path& path) {
  const ModelFile parts(path, kKind);
  Network network;
  network.activation = parts.text("activation");
  network.scaling = parts.text("scaling");
  const bool single = parts.single();
  network.precision = single ? "float32" : "float64";
  network.task = parts.task();
  network.class_names = parts.class_names();
  network.normalize = parts.choice("normalize", {"false", "true"}) == 1;
  network.outputs = single ? outputs_of<float>(parts) : outputs_of<double>(parts);
  const auto vector = [&](const char* name) -> Vector {
    const Tensor& tensor = parts.tensor(name, Dtype::f64, 1);
    return Eigen::Map<const Vector>(tensor.data<double>(), tensor.size());
  };
  if (parts.has("mean_low") && !parts.has("mean")) throw parts.damaged("mean_low without mean");
  if (parts.has("mean")) {
    network.center.high = vector("mean");  // models of version 0.1 have this part alone
    network.center.low =
        parts.has("mean_low") ? vector("mean_low") : Vector::Zero(network.center.high.size());
  }
  network.standardization.origin = network.center;
  if (parts.has("scale")) network.standardization.scale = vector("scale");
  if (parts.says("bias"))
    network.standardization.bias = parsed_number(parts.text("bias")).value_or(std::nan(""));
  network.encoding = parts.encoding();
  if (const std::string what = problem(network); !what.empty()) throw parts.damaged(what);
  return network;
}

void export_onnx(const std::filesystem::path& path, const Network& network, const Metadata& extra) {
  check("export_onnx", network);
  const bool single = network.precision == "float32";
  Metadata metadata = metadata_of(network, extra);
  OnnxModel model = single ? graph_of<float>(network, metadata) : graph_of<double>(network, metadata);
  model.metadata(metadata);
  model.write(path);
}

}  // namespace zeroloss
