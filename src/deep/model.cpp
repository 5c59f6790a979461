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

}  // namespace

void save_model(const std::filesystem::path& path, const DeepNetwork& network, const Metadata& extra) {
  check(network);
  if (const std::string what = names_problem(network.task, network.class_names, 0); !what.empty())
    throw std::invalid_argument("save_model: " + what);
  ModelTensors tensors;
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    tensors.add(fmt::format("W{}", l + 1), layer.W);
    tensors.add(fmt::format("b{}", l + 1), layer.b);
    tensors.add(fmt::format("U{}", l + 1), layer.U);
    tensors.add(fmt::format("bU{}", l + 1), layer.bU);
  }
  tensors.add("V", network.V);
  tensors.add("c", network.c);
  tensors.add("shift", network.shift);
  tensors.add("shift_low", network.shift_low);
  tensors.add("factor", network.factor);
  Metadata own{{"layers", layers_text(network)}};
  if (network.constant != 0) own["bias"] = fmt::format("{}", network.constant);
  if (network.unit) own["normalize"] = "true";
  if (!network.encoding.empty()) own["columns"] = encoding_text(network.encoding);
  tensors.write(path, model_metadata(kDeep, "float64", network.task, network.class_names, own, extra));
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
    const auto named = [&](const char* part) { return fmt::format("{}{}", part, l + 1); };
    layer.W = file.matrix(named("W").c_str(), Dtype::f64);
    layer.b = file.optional_vector(named("b").c_str(), Dtype::f64);
    if (file.has(named("U").c_str())) layer.U = file.matrix(named("U").c_str(), Dtype::f64);
    layer.bU = file.optional_vector(named("bU").c_str(), Dtype::f64);
  }
  network.V = file.matrix("V", Dtype::f64);
  network.c = file.optional_vector("c", Dtype::f64);
  network.shift = file.optional_vector("shift", Dtype::f64);
  network.shift_low = file.optional_vector("shift_low", Dtype::f64);
  network.factor = file.optional_vector("factor", Dtype::f64);
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
