#include "zeroloss/deep/read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/ascii.hpp"
#include "deep/centered.hpp"
#include "deep/layers_of_graph.hpp"
#include "deep/state_dict.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/deep/model.hpp"
#include "zeroloss/network/model.hpp"
#include "zeroloss/storage/tensors.hpp"

namespace zeroloss {
using namespace internal;
namespace {

std::string extension_of(const std::filesystem::path& file) { return lowered(file.extension().string()); }

ReadNetwork from_two_layers(const Network& two) {
  ReadNetwork read{layers_of(two), {}};
  if (two.outputs.size() > 1)
    read.notes.push_back(
        fmt::format("its {} networks, one an output, are one of {} x {} units: between them V is 0",
                    two.outputs.size(), two.outputs.size(), two.width()));
  return read;
}

// Pickles are not opened, since that may run code: how to give what they hold.
enum class Pickle { none, torch, joblib };
Pickle pickle_named(const std::filesystem::path& file) {
  const std::string ending = extension_of(file);
  if (ending == ".pt" || ending == ".pth") return Pickle::torch;
  return ending == ".joblib" || ending == ".pkl" || ending == ".pickle" ? Pickle::joblib : Pickle::none;
}

void refuse_pickle(const std::filesystem::path& file) {
  const Pickle pickle = pickle_named(file);
  if (pickle == Pickle::none || !is_regular_file(file)) return;
  const std::string name = file.string();
  throw DataError(fmt::format(
      "{} is named as a pickle, which is not opened: in Python {}", name,
      pickle == Pickle::torch
          ? fmt::format("give the module, or write its state_dict by safetensors.torch.save_file(torch.load("
                        "'{}', weights_only=True), 'model.safetensors'), or export it by torch.onnx.export",
                        name)
          : fmt::format("load it if you trust it, zeroloss.prove(joblib.load('{}'), ..)", name)));
}

// As layers where it is that, and in any case as the graph of its operators.
ReadNetwork read_onnx_network(const std::filesystem::path& file, const GraphOptions& options) {
  ReadNetwork read;
  read.graph = read_graph(file, options);
  try {
    OnnxNetwork layers = layers_of_graph(*read.graph);
    read.network = layers.network;
    read.notes = layers.notes;
    read.onnx = std::move(layers);
  } catch (const DataError& error) {
    read.graph->not_layers = error.what();
    read.notes = read.graph->notes;
  }
  return read;
}

}  // namespace

bool is_of_others(const std::filesystem::path& file) {
  return extension_of(file) == ".onnx" || pickle_named(file) != Pickle::none;
}

DeepNetwork layers_of(const Network& two) {
  const Index K = std::ssize(two.outputs), m = two.width(), d = two.d(), features = two.features();
  Layer layer{.activation = two.activation, .W = RowMatrix(K * m, d)};
  DeepNetwork network{.V = RowMatrix::Zero(K, K * m)};
  for (Index k = 0; k < K; ++k) {
    layer.W.middleRows(k * m, m) = two.outputs[static_cast<std::size_t>(k)].W;
    network.V.row(k).segment(k * m, m) = two.outputs[static_cast<std::size_t>(k)].v.transpose();
  }
  if (two.activation == "leaky_relu") layer.leak = activation(two.activation).leak.value();
  network.layers = {std::move(layer)};
  const Vector& scale = two.standardization.scale;
  network.factor = scale;
  subtract_center(network, two.center, scale, features);
  network.constant = two.standardization.bias;
  network.unit = two.normalize;
  network.task = two.task;
  network.class_names = two.class_names;
  network.encoding = two.encoding;
  network.single = two.precision == "float32";
  return network;
}

ReadNetwork read_network(const std::filesystem::path& path, const StateLayout& layout,
                         const GraphOptions& graph) {
  const std::filesystem::path file = is_directory(path) ? path / "model.safetensors" : path;
  if (!layout.activation.empty())
    for (const std::string& name : activations_in(layout.activation))
      activation_of(Layer{.activation = name});
  const auto alone = [&] {
    if (!layout.activation.empty() || !layout.description.empty())
      throw std::invalid_argument(fmt::format("{}: the file says its layers; leave out `{}`", file.string(),
                                              layout.activation.empty() ? "layout" : "activation"));
  };
  if (extension_of(file) == ".onnx") {
    alone();
    return read_onnx_network(file, graph);
  }
  for (const auto& [given, option] :
       {std::pair{!graph.shape.empty(), "shape"}, std::pair{!graph.output_name.empty(), "output_name"}})
    if (given)
      throw std::invalid_argument(
          fmt::format("{}: `{}` is for ONNX files; leave it out", file.string(), option));
  refuse_pickle(file);
  const Metadata metadata = read_metadata(file);
  const auto kind = metadata.find("kind");
  if (kind == metadata.end()) {
    const TensorFile state = read_tensors(file);
    ReadNetwork read = network_of_state(file.string(), state, layout);
    read.network.single = std::ranges::all_of(state.tensors, [](auto& t) { return t.dtype == Dtype::f32; });
    return read;
  }
  alone();
  if (kind->second == "two_layer") return from_two_layers(load_model(file));
  if (kind->second == "kernel")
    throw DataError(fmt::format("{}: an infinitely wide network, which has no weights", file.string()));
  return {load_deep(file), {}};
}

}  // namespace zeroloss
