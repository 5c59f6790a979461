#include "deep/state_dict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "base/ascii.hpp"
#include "base/json.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

// "layers.10" is the words "layers." and "" with the number 10 between them; a number is its digits without
// leading zeros.
struct Numbered {
  std::vector<std::string> words{""}, numbers;

  explicit Numbered(const std::string& name) {
    bool inside = false;
    for (const char letter : name) {
      const bool digit = is_digit(letter);
      if (digit && !inside) numbers.emplace_back(), words.emplace_back();
      inside = digit;
      if (!digit) words.back() += letter;
      if (digit && (letter != '0' || !numbers.back().empty())) numbers.back() += letter;
    }
  }
};

bool less(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

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
using LinearLayers = std::map<std::string, Linear>;

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

// The names in the order of their numbers, where these number the layers one by one: the names are alike but
// for one number. Any other order would be a guess: names do not say which layer is first.
std::vector<std::string> in_order(const std::string& file, const LinearLayers& layers) {
  std::vector<std::string> names = names_of(layers);
  const auto refuse = [&](const std::string& what) {
    throw std::invalid_argument(
        fmt::format("{}: {}: say the order of its layers with `layout`, a list of all names, beside "
                    "`activation`",
                    file, what));
  };
  std::map<std::pair<std::vector<std::string>, std::vector<std::string>>, std::string> seen;
  for (const std::string& name : names) {
    const Numbered parts(name);
    const auto [other, is_new] = seen.emplace(std::pair(parts.words, parts.numbers), name);
    if (!is_new) refuse(fmt::format("'{}' and '{}' have one number", excerpt(other->second), excerpt(name)));
  }
  const Numbered first(names.front());
  std::set<std::size_t> places;  // where the numbers differ
  for (const std::string& name : names) {
    const Numbered parts(name);
    if (parts.words != first.words)
      refuse(fmt::format("its names {} do not number the layers one by one", excerpt(names)));
    for (std::size_t k = 0; k < parts.numbers.size(); ++k)
      if (parts.numbers[k] != first.numbers[k]) places.insert(k);
  }
  if (places.size() > 1) refuse(fmt::format("its names {} have several numbers that differ", excerpt(names)));
  const auto number = [place = *places.begin()](const std::string& name) {
    return Numbered(name).numbers[place];
  };
  std::ranges::sort(names, less, number);
  return names;
}

// The names in the order of a list, which has to hold each once.
std::vector<std::string> in_order(const std::string& file, const LinearLayers& layers, const Json& list) {
  const auto refuse = [&](const std::string& what) {
    throw std::invalid_argument(fmt::format("{}: layout: {}", file, what));
  };
  std::vector<std::string> names;
  try {
    names = list.list<std::string>();
  } catch (const JsonError& error) {
    refuse(error.what());
  }
  std::set<std::string> taken;
  for (const std::string& name : names) {
    if (!layers.contains(name))
      refuse(fmt::format("there is no '{}' in the file, which holds {}", excerpt(name),
                         excerpt(names_of(layers))));
    if (!taken.insert(name).second) refuse(fmt::format("'{}' occurs twice", excerpt(name)));
  }
  for (const auto& [name, linear] : layers)
    if (!taken.contains(name)) refuse(fmt::format("it says nothing of '{}'", excerpt(name)));
  return names;
}

constexpr const char* kLayout = "the layout";

// What the network was taken for: "relu(fc1) -> h + 0.5 U(tanh(W)) -> fc2", h what the layer gets.
class Chain {
 public:
  void add(const Layer& layer, const std::string& W, const std::string& U = "") {
    std::string text = fmt::format("{}({})", layer.activation, excerpt(W));
    if (!U.empty()) text = fmt::format("{}({})", excerpt(U), text);
    if (layer.scale != 1) text = fmt::format("{} {}", layer.scale, text);
    text_ += (layer.residual ? "h + " : "") + text + " -> ";
  }
  std::string note(const std::string& output, const char* by) const {
    return fmt::format("its layers were taken in this order, by {}: {}{}", by, text_, excerpt(output));
  }

 private:
  std::string text_;
};

// One layer behind the other, `activation` between them: a name, or one for each hidden layer.
ReadNetwork in_a_row(const std::string& file, const LinearLayers& linear, const std::string& activation,
                     const std::vector<std::string>& names, const char* by) {
  if (activation.empty())
    throw std::invalid_argument(
        fmt::format("{}: a state_dict says nothing of what is between its layers {}: name it, "
                    "`activation=relu`",
                    file, excerpt(names)));
  std::vector<std::string> phi = activations_in(activation);
  if (phi.size() == 1) phi.resize(names.size() - 1, phi.front());
  if (phi.size() != names.size() - 1)
    throw std::invalid_argument(
        fmt::format("{}: {} activations for {} hidden layers", file, phi.size(), names.size() - 1));
  DeepNetwork network;
  Chain chain;
  for (std::size_t l = 0; l + 1 < names.size(); ++l) {
    const Linear& layer = linear.at(names[l]);
    network.layers.push_back({.activation = phi[l], .W = layer.W(), .b = layer.b()});
    chain.add(network.layers.back(), names[l]);
  }
  network.V = linear.at(names.back()).W();
  network.c = linear.at(names.back()).b();
  return {std::move(network), {chain.note(names.back(), by)}};
}

// As a description says, in JSON.
class Described {
 public:
  Described(const std::string& file, const LinearLayers& linear) : file_(file), linear_(linear) {}

  ReadNetwork network(const Json& json) {
    DeepNetwork network;
    try {
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
    return {std::move(network), {chain_.note(json.at("output").as<std::string>(), kLayout)}};
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
    const Json* outer = json.find("U");
    chain_.add(layer, json.at("W").as<std::string>(), outer != nullptr ? outer->as<std::string>() : "");
    return layer;
  }

  const std::string& file_;
  const LinearLayers& linear_;
  std::set<std::string> taken_;
  Chain chain_;
};

ReadNetwork laid_out(const std::string& file, const LinearLayers& linear, const StateLayout& layout) {
  if (layout.description.empty())
    return in_a_row(file, linear, layout.activation, in_order(file, linear), "the numbers in their names");
  Json json;
  try {
    json = Json::parse(layout.description);
  } catch (const JsonError& error) {
    throw std::invalid_argument(fmt::format("{}: layout: {}", file, error.what()));
  }
  if (json.is_array())
    return in_a_row(file, linear, layout.activation, in_order(file, linear, json), kLayout);
  if (!layout.activation.empty())
    throw std::invalid_argument("`layout` says the activations; leave out `activation`");
  return Described(file, linear).network(json);
}

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

ReadNetwork network_of_state(const std::string& file, const TensorFile& state, const StateLayout& layout) {
  const LinearLayers linear = linear_layers(file, state);
  if (linear.size() < 2)
    throw DataError(
        fmt::format("{}: neither a network of layers nor the state_dict of one: it holds {}", file,
                    linear.empty() ? "nothing" : fmt::format("{}", fmt::join(names_of(linear), ", "))));
  ReadNetwork read = laid_out(file, linear, layout);
  try {
    check(read.network);
  } catch (const std::invalid_argument& error) {
    throw DataError(fmt::format("{}: {}", file, error.what()));
  }
  return read;
}

}  // namespace zeroloss::internal
