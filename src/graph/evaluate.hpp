#pragma once
#include <filesystem>

#include "graph/trial.hpp"
#include "zeroloss/base/progress.hpp"

/// What a graph computes, with what it may be off by.
namespace zeroloss::internal::graph {

struct Enclosures {
  Matrix f, error;  ///< n x numbers of the value; infinite errors where nothing is known
  OnnxType type = OnnxType::none;
  Shape shape;  ///< of one sample
};

/// The value `name` of each row of X (n x d), which goes through the graph alone, as a batch of one of shape
/// `sizes`; X is rounded to the type of the input where an execution does. Constants and nodes that `name`
/// does not depend on are not looked at. Blocks of samples in parallel: no bit depends on threads. Throws
/// DataError naming the node that is not known or does not fit, ResourceError, Interrupted.
Enclosures enclosures(const OnnxGraph& graph, const std::string& name, const Shape& sizes,
                      const Eigen::Ref<const RowMatrix>& X, Execution execution, Memory& memory,
                      Progress& progress);

/// Throws DataError where the input is of integers, and not all numbers of X are or fit their type.
void require_type_of(const OnnxInput& input, const Eigen::Ref<const RowMatrix>& X);

/// All that `name` depends on, and it, at a sample of zeros of shape `sizes`. Throws DataError where `name`
/// does not depend on the input; of any other problem Trial::problem.
Trial values_at_zero(const OnnxGraph& graph, const std::string& name, const Shape& sizes, Memory& memory);

}  // namespace zeroloss::internal::graph
