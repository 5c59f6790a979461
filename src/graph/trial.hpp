#pragma once
#include <map>
#include <string>

#include "graph/operators.hpp"

namespace zeroloss {
struct GraphNetwork;
}

/// A graph looked at before there are points.
namespace zeroloss::internal::graph {

/// Values at a sample of zeros: of what varies with the sample types and shapes count, constants have their
/// numbers. Values without a name in `values` are behind the node that `problem` is about.
struct Trial {
  Shape sizes;  ///< of a sample, with its batch of one
  std::map<std::string, Value> values;
  std::string problem = {};  ///< why the graph does not go on there; empty: it has all of it
};

/// All that `name` depends on, and it. The sizes are those asked for, "3,32,32", or those of the file; where
/// it leaves one open, the largest size of a constant with which the graph can be evaluated. Throws
/// std::invalid_argument for `asked` that is no list of sizes.
Trial trial_of(const OnnxGraph& graph, const std::string& name, const std::string& asked, Memory& memory);

/// The same where points have d numbers. Throws DataError where the graph does not take these.
Trial trial_of_points(const GraphNetwork& network, const std::string& name, Index d);

/// "3,32,32" as sizes; none of nothing. Throws std::invalid_argument, with the sizes that the file gives.
Shape sizes_asked(const std::string& text, const OnnxInput& input);

/// Sizes of a sample, those behind the batch: "3 x ? x 32"; "nothing" where the file gives none.
std::string sizes_of_sample(const OnnxInput& input);

}  // namespace zeroloss::internal::graph
