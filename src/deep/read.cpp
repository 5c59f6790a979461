#include "zeroloss/deep/read.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <stdexcept>

#include "zeroloss/core/error.hpp"
#include "zeroloss/core/tensors.hpp"
#include "zeroloss/core/text.hpp"
#include "zeroloss/deep/model.hpp"

namespace zeroloss {
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

// PyTorch's linear layers by name: W and b of each.
using Linear = std::pair<const Tensor*, const Tensor*>;
std::map<std::string, Linear, ByNumbers> linear_layers(const std::string& file, const TensorFile& state) {
  std::map<std::string, Linear, ByNumbers> layers;
  for (const Tensor& tensor : state.tensors) {
    const std::size_t dot = tensor.name.rfind('.');
    const std::string role = dot == std::string::npos ? "" : tensor.name.substr(dot + 1);
    const bool weight = role == "weight", number = tensor.dtype == Dtype::f32 || tensor.dtype == Dtype::f64;
    if ((!weight && role != "bias") || !number || tensor.shape.size() != (weight ? 2U : 1U))
      throw DataError(
          fmt::format("{}: '{}' is no weight or bias of a linear layer; export the network as ONNX", file,
                      excerpt(tensor.name)));
    auto& [W, b] = layers[tensor.name.substr(0, dot)];
    (weight ? W : b) = &tensor;
  }
  return layers;
}

DeepNetwork from_state(const std::string& file, const TensorFile& state, const std::string& activation) {
  DeepNetwork network;
  const auto layers = linear_layers(file, state);
  std::vector<std::string> names;
  for (const auto& [name, linear] : layers) {
    if (linear.first == nullptr)
      throw DataError(fmt::format("{}: '{}' has a bias and no weight", file, excerpt(name)));
    names.push_back(name);
    Layer layer{.activation = activation, .W = matrix_of(*linear.first)};
    if (linear.second != nullptr) layer.b = matrix_of(*linear.second).reshaped();
    network.layers.push_back(std::move(layer));
  }
  if (network.layers.size() < 2)
    throw DataError(fmt::format("{}: neither a network of layers nor the state_dict of one: it holds {}",
                                file, names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "))));
  if (activation.empty())
    throw std::invalid_argument(
        fmt::format("{}: a state_dict says nothing of what is between its layers {}: name it, "
                    "`activation=relu`",
                    file, fmt::join(names, ", ")));
  network.V = std::move(network.layers.back().W);
  network.c = std::move(network.layers.back().b);
  network.layers.pop_back();
  try {
    check(network);
  } catch (const std::invalid_argument& error) {
    throw DataError(fmt::format("{}: {}", file, error.what()));
  }
  return network;
}

}  // namespace

ReadNetwork read_network(const std::filesystem::path& path, const std::string& activation) {
  const std::filesystem::path file = is_directory(path) ? path / "model.safetensors" : path;
  if (!activation.empty()) activation_of(Layer{.activation = activation});  // is known
  const auto alone = [&] {
    if (!activation.empty())
      throw std::invalid_argument(
          fmt::format("{}: the file says its activations; leave out `activation`", file.string()));
  };
  std::string extension = file.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (extension == ".onnx") {
    alone();
    OnnxNetwork read = read_onnx(file);
    return {read.network, read.notes, std::move(read)};
  }
  const Metadata metadata = read_metadata(file);
  const auto kind = metadata.find("kind");
  if (kind == metadata.end()) {
    const TensorFile state = read_tensors(file);
    return {from_state(file.string(), state, activation),
            {fmt::format("{} between the layers, as was said", activation)}};
  }
  alone();
  if (kind->second == "two_layer")
    throw DataError(fmt::format(
        "{}: a two-layer network divides points by their length, which no network of layers does; "
        "its own certificate is in result.json of its run",
        file.string()));
  return {load_deep(file), {}};
}

}  // namespace zeroloss
