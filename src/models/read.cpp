#include "zeroloss/models/read.hpp"

#include "zeroloss/conv/resnet.hpp"
#include "zeroloss/storage/tensors.hpp"

namespace zeroloss {

ReadNetwork read_any_network(const std::filesystem::path& path, const StateLayout& layout,
                             const GraphOptions& graph) {
  const std::filesystem::path file = is_directory(path) ? path / "model.safetensors" : path;
  if (file.extension() != ".safetensors" || !exists(file)) return read_network(path, layout, graph);
  const Metadata metadata = read_metadata(file);
  const auto kind = metadata.find("kind");
  if (kind == metadata.end() || kind->second != "conv_resnet") return read_network(path, layout, graph);
  ReadNetwork read;
  read.graph = graph_of_bytes(onnx_bytes(load_conv_network(file)), path.string(), true, graph);
  read.graph->not_layers = "its layers are convolutions";
  read.notes.emplace_back("it is read as the ONNX graph that is exported of it");
  return read;
}

}  // namespace zeroloss
