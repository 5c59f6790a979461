#pragma once

#include "network.hpp"

namespace check {

// Reads a node of graphs: one that takes outputs of several nodes, or sees its input through places. False
// where it is none of these. `sizes`: of the point, and of the output of each node before.
bool read_step(const Folder& folder, const Json& json, const std::string& where,
               const std::vector<std::size_t>& sizes, Node& node);

// What such a node makes of the outputs before it, of which the last is its input; nothing for any other
// node.
std::optional<Balls> step_of(const Node& node, const std::vector<Balls>& values);

}  // namespace check
