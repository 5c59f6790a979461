#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graph/rounding.hpp"
#include "storage/onnx_graph.hpp"
#include "zeroloss/base/matrix.hpp"

namespace zeroloss::internal::graph {

using Shape = std::vector<Index>;
Index count_of(const Shape& shape);

/// What a node makes of a block of samples, each of which goes through the graph alone, as a batch of one.
/// A constant is the same for all.
struct Value {
  OnnxType type = OnnxType::none;
  Shape shape;          ///< of one sample, with the dimension of the batch, which is 1
  bool varies = false;  ///< with the sample: a row of h for each; else one row
  RowMatrix h, e;       ///< numbers, row-major, and what each may be off by; e is empty where h is exact
  Vector eps;           ///< of each row: what it may be off by in the 2-norm; empty where h is exact
  std::vector<std::int64_t> integers = {};  ///< in place of h of constants: integers, truth values
  std::vector<std::string> texts = {};      ///< in place of h of constants

  /// Of what a linear map has made: the terms of its sums, among which a runtime may add what comes to it.
  Index terms = 0;

  /// The numbers h, as if they were known exactly.
  Value center() const {
    Value made = *this;
    made.e.resize(0, 0), made.eps.resize(0);
    return made;
  }

  Index size() const { return count_of(shape); }
  bool exact() const { return e.size() == 0; }
  Ball at(Index row, Index k) const { return {h(row, k), exact() ? 0 : e(row, k)}; }
};

/// The 2-norm of `count` numbers, rounded up.
double length_above(const double* x, Index count);

/// Throws ResourceError where memory does not suffice for so many rows of such a value, h and e.
void require_room(const Shape& shape, Index rows);

/// A value to be filled: h and, with zeros, e. Throws as require_room().
Value blank(OnnxType type, Shape shape, bool varies, Index rows);

/// Once h and e are there: eps, the smaller one of the norm of e and `known` (one for each row, may be
/// empty), and no e above that. Without any error e and eps become empty.
void settle(Value& value, const Vector& known = {});

/// The numbers of each sample anew, in this shape: for each its place before, or -1 for `fill`.
Value moved(const Value& value, Shape shape, const std::vector<Index>& from, double fill = 0);

}  // namespace zeroloss::internal::graph
