#pragma once
#include <string>
#include <vector>

#include "storage/onnx_graph.hpp"

/// What an ONNX file calls its classes: the names that nodes behind the largest output give to its number.
namespace zeroloss::internal {

/// One name an output, in their order; of integers as they are written.
using LabelNames = std::vector<std::string>;

LabelNames numbered(Index classes);

/// What a naming operator makes of labels called `names`, which are all that its input may hold. `problem`
/// says why not, where it is not known to be right.
LabelNames renamed(const OnnxNode& node, const OnnxGraph& graph, const LabelNames& names,
                   std::string& problem);

/// The names that ZipMap gives to the columns of its input.
LabelNames zipped(const OnnxNode& node, Index classes, std::string& problem);

}  // namespace zeroloss::internal
