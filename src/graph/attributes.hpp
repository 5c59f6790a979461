#pragma once
#include <string>

#include "storage/onnx_graph.hpp"

/// What the operators of ONNX mean in the operator set of a file.
namespace zeroloss::internal {

/// Why a node may compute something else than its operator is taken for: an attribute that is not known, has
/// no type or another one than it should, or belongs to another operator set. Empty: nothing of that. An
/// operator that is not known has no problem here.
std::string attribute_problem(const OnnxNode& node, std::int64_t version);

/// Why the operator set of a file is not read; empty: it is.
std::string version_problem(std::int64_t version);

}  // namespace zeroloss::internal
