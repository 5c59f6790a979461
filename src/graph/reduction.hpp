#pragma once
#include <set>

#include "graph/operators.hpp"

/// Numbers of a value that are taken together, along some of its axes.
namespace zeroloss::internal::graph {

struct Reduction {
  Reduction(const Call& call, const Value& x, const std::set<std::size_t>& axes, bool keep);

  Shape shape;                ///< of what comes of it
  Index count = 1, each = 1;  ///< groups, and numbers in each
  std::vector<Index> group;   ///< of every number
};

/// Along the axes that a node of ReduceSum and the like says.
Reduction reduction_of(const Call& call, const Value& x);

/// A sum divided by `count`. A runtime may multiply by the rounded reciprocal, the sum or what it is of.
Ball mean_of(const Sum& sum, double count, const Rounding& r);

}  // namespace zeroloss::internal::graph
