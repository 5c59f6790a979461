#pragma once
#include <string>
#include <vector>

#include "zeroloss/base/matrix.hpp"

namespace zeroloss {
struct GraphNetwork;
}

/// A graph as a list of few kinds of steps: sums, products, largest numbers and functions, for whoever is to
/// know none of ONNX.
namespace zeroloss::internal::graph {

/// Each takes the output h of the step before it, the first takes the point.
struct Step {
  enum class Op {
    constant,  ///< b
    take,      ///< the output of another step in place of h
    pick,      ///< h at `places`; -1: 0
    join,      ///< h, and behind it the output of another step
    affine,    ///< W h + b
    columns,   ///< W H + b, H of h at `places` (k x columns); -1: 0. Of `groups`: as many blocks of rows
               ///< of W and b, each with its block of columns, one block of outputs behind the other
    largest,   ///< of each column of `places` (k x columns) the largest h; -1: none
    total,     ///< their sum
    add,       ///< h + the output of another step
    times,     ///< h times it
    over,      ///< h divided by it
    product,   ///< matrices of h below each other, of `inner` columns, each times one of it, inner x columns
    scale,     ///< h times `by`
    activation,  ///< by name; of leaky_relu `by` is the leak
    function     ///< exp, log or sqrt
  };
  Op op = Op::constant;
  Index step = -1;  ///< the other one; -1: the point
  Index size = 0;   ///< numbers that come of it
  RowMatrix W = {};
  Vector b = {};  ///< may be empty of a map
  std::vector<Index> places = {};
  Index inner = 0, columns = 0, groups = 1;
  double by = 0;
  double norm = -1;  ///< of a linear map: its spectral norm is not above it; below 0: not known
  std::string name = {};
};

/// The outputs at points of d numbers, as real arithmetic has them, less `less`. Throws DataError naming the
/// node that is not known in steps, or where there are more than 12 million numbers in them and in what comes
/// of them.
std::vector<Step> steps_of(const GraphNetwork& network, Index d, double less);

}  // namespace zeroloss::internal::graph
