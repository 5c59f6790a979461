#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "zeroloss/deep/network.hpp"
#include "zeroloss/storage/tensors.hpp"

/// Networks of layers in the ONNX files of other programs: torch.onnx.export, skl2onnx, tf2onnx.
namespace zeroloss {

/// Where the numbers of one tensor stand in the file.
struct OnnxPlace {
  std::string name = {};    ///< of a constant; empty: nowhere, the layer has none
  bool transposed = false;  ///< there, or where the node takes it
  bool single = false;      ///< float32
  std::string node = {};    ///< the constant is seen by others too, or is of another type: this node, called
  int input = 0;            ///< by its first output, takes the numbers at this input
  std::vector<Index> shape = {};  ///< in this shape
};
struct OnnxLayer {
  OnnxPlace W, b, U, bU;
};

struct OnnxNetwork {
  DeepNetwork network;            ///< float32 numbers are these doubles
  std::vector<OnnxLayer> layers;  ///< L; of the output layer W is V and b is c
  OnnxLayer output;
  bool approximate = false;        ///< it computes something that is within rounding of these layers
  bool folded = false;             ///< not all weights are numbers of the file: scales went into them
  bool single = false;             ///< weights are float32, all or some
  std::vector<std::string> notes;  ///< what was left out or taken for something else, a line each
};

/// Reads chains of linear maps, activations (gelu, silu and leaky_relu also as exporters spell them out,
/// Clip from 0 and Max with 0 as relu) and residual sums, in float32 or float64. Scales, shifts and batch
/// normalisation beside a linear map are folded into it; what is done to the input alone is `shift`,
/// `factor`, `constant` and `unit`. What is behind the last linear map and is known to keep the largest
/// output the largest is left out: Softmax, LogSoftmax, Sigmoid, 1 - p and p of a single output, ArgMax,
/// TopK, thresholds of a single output; the network's `behind` says so where no output of the file is without
/// it. Names that the file gives to its labels are class_names. Two linear maps in a row have a layer
/// `identity` between them. Throws DataError naming the file, and the node where it is not such a network or
/// is not known to mean that in the file's operator set.
OnnxNetwork read_onnx(const std::filesystem::path& path);

/// The file `source`, read as `like`, with the weights of `network`, rounded to the file's type: the same
/// graph, which computes what it computed of other numbers; what else uses a constant of these keeps it.
/// Where scales were folded into the weights it is the graph of export_onnx(). Returns the network that is
/// read from what was written. Throws std::invalid_argument for a network of other layers, DataError where
/// another network is read, ResourceError where writing fails.
DeepNetwork write_like(const std::filesystem::path& source, const OnnxNetwork& like,
                       const DeepNetwork& network, const std::filesystem::path& path);

/// Writes a network as ONNX, in float64: input "x" [batch, d]; output "y" [batch, K]; for classification also
/// "label" [batch], int64: the largest output, of a single one 1 where it is >= 0. metadata_props are kind =
/// deep, task and class_names, and `extra`. ONNX Runtime has no Erf in float64: erf and gelu take it in
/// float32 (metadata: erf_precision = float32). Throws as save_model() and OnnxModel::write do.
void export_onnx(const std::filesystem::path& path, const DeepNetwork& network, const Metadata& extra = {});

}  // namespace zeroloss
