#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "zeroloss/deep/onnx.hpp"

/// Networks of layers in whatever file they are.
namespace zeroloss {

struct ReadNetwork {
  DeepNetwork network;
  std::vector<std::string> notes;        ///< on how it was read, a line each
  std::optional<OnnxNetwork> onnx = {};  ///< of an ONNX file, for write_like()
};

/// An .onnx file as read_onnx() reads it; a .safetensors file of kind deep, or a run folder with one; or one
/// that holds the state_dict of a PyTorch network of linear layers one behind the other, NAME.weight and
/// NAME.bias, in the order of the numbers in their names, with `activation` (one of layer_activations())
/// between them. Throws DataError naming the file and what is wrong with it, std::invalid_argument for an
/// activation that is unknown, or missing, or given where the file has its own.
ReadNetwork read_network(const std::filesystem::path& path, const std::string& activation = "");

}  // namespace zeroloss
