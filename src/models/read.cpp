#include "zeroloss/models/read.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "models/enclosed_memorizer.hpp"
#include "zeroloss/conv/resnet.hpp"
#include "zeroloss/storage/tensors.hpp"

namespace zeroloss {
using namespace internal;

ReadNetwork read_any_network(const std::filesystem::path& path, const StateLayout& layout,
                             const GraphOptions& graph) {
  const std::filesystem::path file = is_directory(path) ? path / "model.safetensors" : path;
  if (file.extension() != ".safetensors" || !exists(file)) return read_network(path, layout, graph);
  const Metadata metadata = read_metadata(file);
  const auto kind = metadata.find("kind");
  const bool memorizer = kind != metadata.end() && kind->second == "memorizer";
  if (!memorizer && (kind == metadata.end() || kind->second != "conv_resnet"))
    return read_network(path, layout, graph);
  if (!layout.activation.empty() || !layout.description.empty())
    throw std::invalid_argument(fmt::format("{}: the file says its layers; leave out `{}`", file.string(),
                                            layout.activation.empty() ? "layout" : "activation"));
  ReadNetwork read;
  if (memorizer) {
    if (!graph.shape.empty() || !graph.output_name.empty())
      throw std::invalid_argument(fmt::format("{}: `{}` is for ONNX files: leave it out", file.string(),
                                              graph.shape.empty() ? "output_name" : "shape"));
    read.graph = network_of_memorizer(file);
    read.notes = read.graph->notes;
    return read;
  }
  read.graph = graph_of_bytes(onnx_bytes(load_conv_network(file)), path.string(), true, graph);
  read.graph->not_layers = "its layers are convolutions";
  read.notes = read.graph->notes;
  read.notes.emplace_back("it is read as the ONNX graph that is exported of it");
  return read;
}

}  // namespace zeroloss
