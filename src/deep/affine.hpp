#pragma once
#include <string>
#include <vector>

#include "zeroloss/deep/onnx.hpp"

/// Affine maps as they come together out of the nodes of a graph.
namespace zeroloss::internal {

/// Numbers, and where they stand in the file: nowhere, once something was folded into them.
template <class Tensor>
struct Stored {
  Tensor values = {};
  OnnxPlace place = {};
};

/// times (A p + b) of a point p of the network: the input, or what a layer makes. A is W, or diagonal, or the
/// identity.
struct Affine {
  int point = 0;
  double times = 1;
  Stored<RowMatrix> W = {};
  Vector diagonal = {};
  Stored<Vector> b = {};
  std::vector<std::string> constants = {};  ///< of the file, that W and b are made of
  bool folded = false;                      ///< scales or shifts went into W or b
  bool rounded = false;                     ///< and were rounded there
  bool reciprocal = false;                  ///< `times` is that of what the file divides by

  bool mapped() const { return W.values.size() > 0; }
  bool scaled_alone() const { return !mapped() && diagonal.size() == 0 && b.values.size() == 0; }
  bool point_itself() const { return scaled_alone() && times == 1; }

  /// + v.
  void add(Stored<Vector> v);
  /// diag(v) of it; of equal numbers, times them.
  void multiply(const Vector& v);
  /// `times` goes into A and b, which have `size` rows.
  void settle(Index size);
  /// M of it, where it is not mapped.
  void map(Stored<RowMatrix> M);
};

/// Whether products by it are exact, but for underflow.
bool power_of_two(double x);

}  // namespace zeroloss::internal
