#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "zeroloss/deep/onnx.hpp"
#include "zeroloss/graph/network.hpp"
#include "zeroloss/network/network.hpp"

/// Networks of layers in whatever file they are.
namespace zeroloss {

struct ReadNetwork {
  DeepNetwork network;             ///< without layers where the file is a graph that is no network of layers
  std::vector<std::string> notes;  ///< on how it was read, a line each
  std::optional<OnnxNetwork> onnx = {};  ///< of an ONNX file, for write_like()
  /// An ONNX file as the graph that it is, which is asked what it computes.
  std::optional<GraphNetwork> graph = {};

  bool layers() const { return !network.layers.empty(); }
  bool single() const { return layers() ? network.single : graph && graph->single; }
  const std::string& behind() const { return layers() || !graph ? network.behind : graph->behind; }
};

/// What a PyTorch state_dict does not say of its network; empty where the file says it.
struct StateLayout {
  /// Between its linear layers, which stand one behind the other: one of layer_activations(), or one for each
  /// hidden layer, with commas between them. Their order is that of the numbers in their names, where these
  /// number them one by one, as fc1, fc2 and net.0, net.2 do: names that are alike but for one number, which
  /// is another one in each.
  std::string activation = {};
  /// As JSON the order of the layers, for any other names: ["input", "hidden", "output"], each name once. Or
  /// all of the network, without `activation`:
  ///
  ///     {"layers": [{"W": "embed", "activation": "identity"},
  ///                 {"W": "block.0", "U": "block.1", "activation": "relu", "residual": true, "scale": 0.5}],
  ///      "output": "head", "shift": [..], "factor": [..]}
  ///
  /// A name is that of a linear layer, NAME.weight and NAME.bias. W and activation have to be there; leak is
  /// leaky_relu's. Every layer of the file has to be named once.
  std::string description = {};
};

/// Whether a file is named as other programs call theirs: ONNX, or a pickle, which read_network() refuses.
bool is_of_others(const std::filesystem::path& file);

/// A two-layer network as one of layers: the same weights, of K > 1 outputs side by side, K m units.
DeepNetwork layers_of(const Network& two);

/// An .onnx file as read_onnx() reads it, or, where it is no network of layers, as the graph that it is; a
/// .safetensors file of kind deep or two_layer, or a run folder with one; or one that holds the state_dict of
/// a PyTorch network of linear layers, as `layout` says. Throws DataError naming the file and what is wrong
/// with it, of a pickle how to give what it holds, std::invalid_argument for a layout that is not one, does
/// not fit, is missing, or is given where the file has its own, and for options of graphs of other files.
ReadNetwork read_network(const std::filesystem::path& path, const StateLayout& layout = {},
                         const GraphOptions& graph = {});

}  // namespace zeroloss
