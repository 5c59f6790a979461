#include "deep/state_dict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <stdexcept>

#include "core/json.hpp"
#include "zeroloss/core/error.hpp"
#include "zeroloss/core/text.hpp"

namespace zeroloss::internal {
namespace {

// "layers.10" behind "layers.9": runs of digits count as numbers.
struct ByNumbers {
  bool operator()(const std::string& a, const std::string& b) const { return parts(a) < parts(b); }

  static std::vector<std::pair<std::string, std::size_t>> parts(const std::string& text) {
    std::vector<std::pair<std::string, std::size_t>> all{{"", 0}};
    for (const char letter : text) {
      auto& [word, number] = all.back();
      if (std::isdigit(static_cast<unsigned char>(letter)) != 0)
        number = std::min<std::size_t>(number * 10 + static_cast<std::size_t>(letter - '0'), 1'000'000'000);
      else if (number > 0)
        all.push_back({std::string(1, letter), 0});
      else
        word += letter;
    }
    return all;
  }
};

RowMatrix matrix_of(const Tensor& tensor) {
  const Index rows = tensor.shape.front(), columns = tensor.shape.size() > 1 ? tensor.shape[1] : 1;
  if (tensor.dtype == Dtype::f32)
    return Eigen::Map<const Rows<float>>(tensor.data<float>(), rows, columns).cast<double>();
  return Eigen::Map<const RowMatrix>(tensor.data<double>(), rows, columns);
}

// W, and b or nothing.
struct Linear {
  const Tensor *weight = nullptr, *bias = nullptr;

  RowMatrix W() const { return matrix_of(*weight); }
  Vector b() const { return bias != nullptr ? Vector(matrix_of(*bias).reshaped()) : Vector(); }
};
using LinearLayers = std::map<std::string, Linear, ByNumbers>;

LinearLayers linear_layers(const std::string& file, const TensorFile& state) {
  LinearLayers layers;
  for (const Tensor& tensor : state.tensors) {
    const std::size_t dot = tensor.name.rfind('.');
    const std::string role = dot == std::string::npos ? "" : tensor.name.substr(dot + 1);
    const bool weight = role == "weight", number = tensor.dtype == Dtype::f32 || tensor.dtype == Dtype::f64;
    if ((!weight && role != "bias") || !number || tensor.shape.size() != (weight ? 2U : 1U))
      throw DataError(
          fmt::format("{}: '{}' is no weight or bias of a linear layer; export the network as ONNX", file,
                      excerpt(tensor.name)));
    Linear& linear = layers[tensor.name.substr(0, dot)];
    (weight ? linear.weight : linear.bias) = &tensor;
  }
  for (const auto& [name, linear] : layers)
    if (linear.weight == nullptr)
      throw DataError(fmt::format("{}: '{}' has a bias and no weight", file, excerpt(name)));
  return layers;
}

std::vector<std::string> names_of(const LinearLayers& layers) {
  std::vector<std::string> names;
  for (const auto& [name, linear] : layers) names.push_back(name);
  return names;
}

// One layer behind the other, `activation` between them: a name, or one for each hidden layer.
DeepNetwork in_a_row(const std::string& file, const LinearLayers& linear, const std::string& activation) {
  const std::vector<std::string> names = names_of(linear);
  if (activation.empty())
    throw std::invalid_argument(
        fmt::format("{}: a state_dict says nothing of what is between its layers {}: name it, "
                    "`activation=relu`",
                    file, fmt::join(names, ", ")));
  std::vector<std::string> phi = activations_in(activation);
  if (phi.size() == 1) phi.resize(names.size() - 1, phi.front());
  if (phi.size() != names.size() - 1)
    throw std::invalid_argument(
        fmt::format("{}: {} activations for {} hidden layers", file, phi.size(), names.size() - 1));
  DeepNetwork network;
  for (std::size_t l = 0; l + 1 < names.size(); ++l) {
    const Linear& layer = linear.at(names[l]);
    network.layers.push_back({.activation = phi[l], .W = layer.W(), .b = layer.b()});
  }
  network.V = linear.at(names.back()).W();
  network.c = linear.at(names.back()).b();
  return network;
}

// As a description says, in JSON.
class Described {
 public:
  Described(const std::string& file, const LinearLayers& linear) : file_(file), linear_(linear) {}

  DeepNetwork network(const std::string& description) {
    DeepNetwork network;
    try {
      const Json json = Json::parse(description);
      keys(json, {"layers", "output", "shift", "factor"});
      for (const Json& one : json.at("layers").items()) network.layers.push_back(layer(one));
      const Linear& output = take(json.at("output"));
      network.V = output.W();
      network.c = output.b();
      network.shift = vector(json, "shift");
      network.factor = vector(json, "factor");
    } catch (const JsonError& error) {
      throw std::invalid_argument(fmt::format("{}: layout: {}", file_, error.what()));
    }
    for (const std::string& name : names_of(linear_))
      if (!taken_.contains(name))
        throw std::invalid_argument(fmt::format("{}: the layout says nothing of '{}'", file_, excerpt(name)));
    return network;
  }

 private:
  static void keys(const Json& json, const std::vector<std::string>& known) {
    for (const auto& [key, value] : json.members())
      if (std::find(known.begin(), known.end(), key) == known.end())
        throw JsonError(fmt::format("unknown key '{}'; expected {}", excerpt(key), fmt::join(known, ", ")));
  }

  static Vector vector(const Json& json, const char* key) {
    const Json* values = json.find(key);
    if (values == nullptr) return {};
    const auto numbers = values->list<double>();
    return Eigen::Map<const Vector>(numbers.data(), std::ssize(numbers));
  }

  const Linear& take(const Json& name) {
    const auto found = linear_.find(name.as<std::string>());
    if (found == linear_.end())
      throw JsonError(fmt::format("there is no '{}' in the file, which holds {}",
                                  excerpt(name.as<std::string>()), fmt::join(names_of(linear_), ", ")));
    if (!taken_.insert(found->first).second)
      throw JsonError(
          fmt::format("'{}' occurs twice: shared weights are no network of layers", found->first));
    return found->second;
  }

  Layer layer(const Json& json) {
    keys(json, {"W", "activation", "leak", "residual", "U", "scale"});
    Layer layer{.activation = json.at("activation").as<std::string>()};
    const Linear& inner = take(json.at("W"));
    layer.W = inner.W();
    layer.b = inner.b();
    if (const Json* leak = json.find("leak")) layer.leak = leak->as<double>();
    if (const Json* residual = json.find("residual")) layer.residual = residual->as<bool>();
    if (const Json* scale = json.find("scale")) layer.scale = scale->as<double>();
    if (const Json* name = json.find("U")) {
      if (!layer.residual) throw JsonError("U belongs to a residual layer");
      const Linear& outer = take(*name);
      layer.U = outer.W();
      layer.bU = outer.b();
    }
    return layer;
  }

  const std::string& file_;
  const LinearLayers& linear_;
  std::set<std::string> taken_;
};

}  // namespace

std::vector<std::string> activations_in(const std::string& list) {
  std::vector<std::string> names{""};
  for (const char letter : list)
    if (letter == ',')
      names.emplace_back();
    else
      names.back() += letter;
  return names;
}

DeepNetwork network_of_state(const std::string& file, const TensorFile& state, const StateLayout& layout) {
  const LinearLayers linear = linear_layers(file, state);
  if (linear.size() < 2)
    throw DataError(
        fmt::format("{}: neither a network of layers nor the state_dict of one: it holds {}", file,
                    linear.empty() ? "nothing" : fmt::format("{}", fmt::join(names_of(linear), ", "))));
  DeepNetwork network = layout.description.empty() ? in_a_row(file, linear, layout.activation)
                                                   : Described(file, linear).network(layout.description);
  try {
    check(network);
  } catch (const std::invalid_argument& error) {
    throw DataError(fmt::format("{}: {}", file, error.what()));
  }
  return network;
}

}  // namespace zeroloss::internal
