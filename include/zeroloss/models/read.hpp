#pragma once
#include "zeroloss/deep/read.hpp"

/// Networks of every kind, as prove() takes them.
namespace zeroloss {

/// read_network(); and a convolutional residual network of zeroloss, a .safetensors file or a run folder, as
/// the graph that `zeroloss export` writes of it, for images as their sources give them, a channel behind the
/// other; and a memoriser.
ReadNetwork read_any_network(const std::filesystem::path& path, const StateLayout& layout = {},
                             const GraphOptions& graph = {});

}  // namespace zeroloss
