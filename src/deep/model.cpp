#include "zeroloss/deep/model.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "base/json.hpp"
#include "data/model_file.hpp"
#include "zeroloss/base/parse.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr const char* kDeep = "deep";

std::string layers_text(const DeepNetwork& network) {
  Json layers = Json::array();
  for (const Layer& layer : network.layers) {
    Json one{{"activation", layer.activation}, {"residual", layer.residual}, {"scale", layer.scale}};
    if (layer.activation == "leaky_relu") one["leak"] = layer.leak;
    layers.push_back(std::move(one));
  }
  return layers.dump();
}

std::vector<Layer> layers_from(const std::string& text) {
  std::vector<Layer> layers;
  const Json parsed = Json::parse(text);
  for (const Json& one : parsed.items()) {
    Layer layer;
    layer.activation = one.at("activation").as<std::string>();
    layer.residual = one.at("residual").as<bool>();
    layer.scale = one.at("scale").as<double>();
    if (const Json* leak = one.find("leak")) layer.leak = leak->as<double>();
    layers.push_back(std::move(layer));
  }
  return layers;
}

// A list of a file's tensors: matrices and vectors by name, those without numbers left out.
struct Parts {
  std::vector<TensorView> tensors;

  void add(const std::string& name, const RowMatrix& A) {
    if (A.size() > 0) tensors.push_back(view_of(name, {A.rows(), A.cols()}, A.data()));
  }
  void add(const std::string& name, const Vector& a) {
    if (a.size() > 0) tensors.push_back(view_of(name, {a.size()}, a.data()));
  }
};

RowMatrix matrix(const ModelFile& file, const std::string& name) {
  const Tensor& tensor = file.tensor(name.c_str(), Dtype::f64, 2);
  return Eigen::Map<const RowMatrix>(tensor.data<double>(), tensor.shape[0], tensor.shape[1]);
}

Vector optional_vector(const ModelFile& file, const std::string& name) {
  if (!file.has(name.c_str())) return {};
  const Tensor& tensor = file.tensor(name.c_str(), Dtype::f64, 1);
  return Eigen::Map<const Vector>(tensor.data<double>(), tensor.size());
}

}  // namespace

void save_model(const std::filesystem::path& path, const DeepNetwork& network, const Metadata& extra) {
  check(network);
  if (const std::string what = names_problem(network.task, network.class_names, 0); !what.empty())
    throw std::invalid_argument("save_model: " + what);
  Parts parts;
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    parts.add(fmt::format("W{}", l + 1), layer.W);
    parts.add(fmt::format("b{}", l + 1), layer.b);
    parts.add(fmt::format("U{}", l + 1), layer.U);
    parts.add(fmt::format("bU{}", l + 1), layer.bU);
  }
  parts.add("V", network.V);
  parts.add("c", network.c);
  parts.add("shift", network.shift);
  parts.add("shift_low", network.shift_low);
  parts.add("factor", network.factor);
  Metadata own{{"layers", layers_text(network)}};
  if (network.constant != 0) own["bias"] = fmt::format("{}", network.constant);
  if (network.unit) own["normalize"] = "true";
  if (!network.encoding.empty()) own["columns"] = encoding_text(network.encoding);
  write_tensors(path, parts.tensors,
                model_metadata(kDeep, "float64", network.task, network.class_names, own, extra));
}

DeepNetwork load_deep(const std::filesystem::path& path) {
  const ModelFile file(path, kDeep);
  DeepNetwork network;
  try {
    network.layers = layers_from(file.text("layers"));
  } catch (const JsonError& error) {
    throw file.damaged(fmt::format("layers: {}", error.what()));
  }
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    Layer& layer = network.layers[l];
    layer.W = matrix(file, fmt::format("W{}", l + 1));
    layer.b = optional_vector(file, fmt::format("b{}", l + 1));
    if (const std::string U = fmt::format("U{}", l + 1); file.has(U.c_str())) layer.U = matrix(file, U);
    layer.bU = optional_vector(file, fmt::format("bU{}", l + 1));
  }
  network.V = matrix(file, "V");
  network.c = optional_vector(file, "c");
  network.shift = optional_vector(file, "shift");
  network.shift_low = optional_vector(file, "shift_low");
  network.factor = optional_vector(file, "factor");
  network.task = file.task();
  network.class_names = file.class_names();
  if (file.says("bias")) network.constant = parsed_number(file.text("bias")).value_or(std::nan(""));
  network.unit = file.says("normalize") && file.text("normalize") == "true";
  network.encoding = file.encoding();
  if (const std::string what = names_problem(network.task, network.class_names, 0); !what.empty())
    throw file.damaged(what);
  try {
    check(network);
  } catch (const std::invalid_argument& error) {
    throw file.damaged(error.what());
  }
  return network;
}

}  // namespace zeroloss
