#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "graph/label_names.hpp"
#include "graph/value.hpp"

/// What the outputs of a graph say: numbers, or labels made of numbers.
namespace zeroloss::internal::graph {

/// A node that takes labels by the largest number, or makes them one to another, along an axis of a value:
/// that axis has to hold all its numbers.
struct Along {
  const OnnxNode* node;
  std::string value;
  std::int64_t axis;
};

struct Outputs {
  std::string scores;  ///< the value whose numbers are the outputs; the label is that of the largest
  /// Behind them, from the first on, what names labels; `named`: one of these is more than a number.
  std::vector<const OnnxNode*> names;
  bool labels = false, named = false;
  bool one = false;  ///< the label is that of a single output: there may be no others
  /// The first node behind `scores` that changes its numbers, where no output is without; empty: they are
  /// one.
  std::string behind;
  std::vector<Along> along;
  /// What the label is decided by, which is `scores` or comes of them: the largest, or of a single output
  /// whether it exceeds `threshold`, or of two numbers that come of a single output the larger. Empty: by
  /// what a LinearClassifier makes inside.
  std::string decided;
  double threshold = 0;
  std::vector<std::string> notes;  ///< what was left out behind the scores, a line each

  /// One for each of `count` outputs, of a single one below 0 and above. Throws DataError where the file does
  /// not say one for each.
  LabelNames class_names(const OnnxGraph& graph, Index count) const;

  /// Throws DataError where what takes the largest number, or makes one of all, does not see all of them.
  /// `shape`: of the scores of a sample; `shape_of`: of another value.
  void require_all(const Shape& shape, const std::function<Shape(const std::string&)>& shape_of) const;
};

/// Follows the outputs of the graph, or the one that is called `asked`, back to the numbers that their labels
/// are of. Throws DataError: no such output, outputs of different numbers.
Outputs outputs_of(const OnnxGraph& graph, const std::string& asked);

}  // namespace zeroloss::internal::graph
