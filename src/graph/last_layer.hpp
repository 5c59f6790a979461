#pragma once
#include <string>
#include <vector>

#include "storage/onnx_graph.hpp"
#include "zeroloss/base/matrix.hpp"

/// The last linear maps of a graph, where its outputs are affine in constants of their own.
namespace zeroloss::internal::graph {

/// What a value is multiplied by on its way to the outputs: `by`, which is known to within
/// gamma_of(roundings) of it.
struct Multiple {
  double by = 1;
  int roundings = 0;

  Multiple times(double factor) const;
  Multiple divided_by(double divisor) const;
};

/// A constant that the outputs add a multiple of.
struct AddedConstant {
  std::string name;
  Index count = 0;  ///< of its numbers
  Multiple multiple;
};

struct LastLayer {
  std::string features;  ///< the value that it maps
  std::string matrix;    ///< the constant that it is: p x K, or where it is `turned` K x p
  bool turned = false;
  Index weights = 0;                      ///< numbers of it
  Multiple multiple = {};                 ///< of what it makes, in the outputs
  std::vector<AddedConstant> added = {};  ///< those that no other node takes
  bool whole = true;  ///< the outputs are what it makes and these constants, multiplied, and nothing else
};

/// Each Gemm or MatMul by a constant that no other node takes, behind which there are nothing but sums,
/// multiples and other shapes up to `scores`. Those of sums are several. That sums keep the number of outputs
/// is not looked at.
std::vector<LastLayer> last_layers_of(const OnnxGraph& graph, const std::string& scores);

}  // namespace zeroloss::internal::graph
