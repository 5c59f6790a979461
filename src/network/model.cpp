#include "zeroloss/network/model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "data/model_file.hpp"
#include "data/onnx_parts.hpp"
#include "kernel/activations/list.hpp"
#include "network/onnx_formula.hpp"
#include "network/preparation.hpp"
#include "zeroloss/base/error.hpp"
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
  if (std::string what = preparation_problem(preparation_of(network)); !what.empty()) return what;
  const auto& names = network.class_names;
  const bool classes = network.task == Task::classification;
  if (std::string what = names_problem(network.task, names, 2); !what.empty()) return what;
  const std::size_t expected = classes && names.size() > 2 ? names.size() : 1;
  if (network.task != Task::none && outputs.size() != expected)
    return fmt::format("{} outputs; expected {} for the task", outputs.size(), expected);
  return {};
}

Metadata metadata_of(const Network& network, const Metadata& extra) {
  Metadata own = preparation_metadata(preparation_of(network));
  own["activation"] = network.activation;
  own["scaling"] = network.scaling;
  return model_metadata(kKind, network.precision, network.task, network.class_names, own, extra);
}

void check(const char* who, const Network& network) {
  if (const std::string what = problem(network); !what.empty())
    throw std::invalid_argument(fmt::format("{}: {}", who, what));
}

Dtype dtype_of(const Network& network) { return network.precision == "float32" ? Dtype::f32 : Dtype::f64; }

// ---- loading ----

std::vector<TwoLayer> outputs_of(const ModelFile& parts) {
  const Dtype dtype = parts.dtype();
  const auto &W_shape = parts.tensor("W", dtype, 3).shape, &v_shape = parts.tensor("v", dtype, 2).shape;
  const Index c = W_shape[0], m = W_shape[1];
  if (v_shape != std::vector<Index>{c, m})
    throw parts.damaged(fmt::format("W has shape [{}], v [{}]; expected [outputs, m, d] and [outputs, m]",
                                    fmt::join(W_shape, ", "), fmt::join(v_shape, ", ")));
  const RowMatrix W = parts.matrix("W", dtype, 3), v = parts.matrix("v", dtype);
  std::vector<TwoLayer> outputs;
  for (Index k = 0; k < c; ++k) outputs.push_back({W.middleRows(k * m, m), v.row(k)});
  return outputs;
}

// ---- ONNX ----

OnnxModel graph_of(const Network& network, Metadata& metadata) {
  const Dtype dtype = dtype_of(network);
  const Index c = std::ssize(network.outputs), m = network.width(), d = network.d();
  OnnxModel model(kKind);
  const auto constant = [&](const char* name, const std::vector<Index>& shape, const auto& numbers) {
    return constant_of(model, name, shape, numbers.data(), dtype);
  };
  const std::string x =
      prepared(model, model.input("x", dtype, {-1, network.features()}), preparation_of(network), dtype);
  // All networks side by side are one of two layers: what is another network's has a weight of 0.
  RowMatrix W_all(d, c * m), v_all = RowMatrix::Zero(c * m, c);
  for (Index k = 0; k < c; ++k) {
    const auto& [W_k, v_k] = network.outputs[static_cast<std::size_t>(k)];
    W_all.middleCols(k * m, m) = W_k.transpose();
    v_all.col(k).segment(k * m, m) = v_k;
  }
  const std::string W = constant("W", {d, c * m}, W_all);
  const std::string v = constant("v", {c * m, c}, v_all);
  const std::string z = model.node("MatMul", {x, W}, {}, "z");  // [batch, c m]
  OnnxFormula formula(model, dtype);
  const std::string phi = describe(phi_of(activation(network.activation)),
                                   [&](auto description) { return description.onnx(formula, z); });
  if (formula.rough_erf()) metadata["erf_precision"] = "float32";
  const std::string y = model.node("MatMul", {phi, v}, {}, "y");
  model.output(y, dtype, {-1, c});
  if (network.task == Task::classification) add_class(model, y, c, dtype);
  return model;
}

}  // namespace

void save_model(const std::filesystem::path& path, const Network& network, const Metadata& extra) {
  check("save_model", network);
  const Index c = std::ssize(network.outputs), m = network.width(), d = network.d();
  ModelTensors tensors(dtype_of(network));
  std::vector<const double*> W, v;
  for (const TwoLayer& output : network.outputs) {
    W.push_back(output.W.data());
    v.push_back(output.v.data());
  }
  tensors.add("W", {c, m, d}, W);
  tensors.add("v", {c, m}, v);
  add_preparation(tensors, preparation_of(network));
  tensors.write(path, metadata_of(network, extra));
}

Network load_model(const std::filesystem::path& path) {
  const ModelFile parts(path, kKind);
  Network network;
  network.activation = parts.text("activation");
  network.scaling = parts.text("scaling");
  network.precision = parts.single() ? "float32" : "float64";
  network.task = parts.task();
  network.class_names = parts.class_names();
  network.outputs = outputs_of(parts);
  read_preparation(parts, network.center, network.normalize, network.standardization, network.encoding);
  if (const std::string what = problem(network); !what.empty()) throw parts.damaged(what);
  return network;
}

void export_onnx(const std::filesystem::path& path, const Network& network, const Metadata& extra) {
  check("export_onnx", network);
  Metadata metadata = metadata_of(network, extra);
  OnnxModel model = graph_of(network, metadata);
  model.metadata(metadata);
  model.write(path);
}

}  // namespace zeroloss
