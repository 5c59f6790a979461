#pragma once
#include <string>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/data/dataset.hpp"

/// Labels that the other samples contradict.
namespace zeroloss {

struct Suspect {
  Sample sample;
  std::string predicted;  ///< class, or the number predicted
  /// Classification: the predicted class's output less the label's; regression: |residual| over the
  /// threshold.
  double score = 0;
};
template <Is<Suspect> T, class Visitor>
void fields(T& s, const Visitor& visit) {
  fields(s.sample, visit);
  visit(Field{"predicted", "Class, or the number predicted."}, s.predicted);
  visit(Field{"score",
              "The predicted class's output less the label's; regression: |residual| over the threshold."},
        s.score);
}

struct LabelVerdict {
  std::vector<Suspect> suspects;  ///< worst first
  /// Fraction misclassified; regression: ||residual|| over the targets' distance from their mean (1 if all
  /// are equal).
  double error = 0;
};

/// What leave-one-out predictions (n x c, beside targets Y) say of the labels. Classification: suspects are
/// those whose largest output is not the label's. Regression: those whose |residual|, times the root of its
/// `precision`, exceeds 6 x 1.4826 x the median absolute deviation of these. The precision of a point is
/// (K^-1)_ii, which is small where its neighbours are far and predictions vary; empty = 1.
LabelVerdict judge_labels(const Dataset& data, const Matrix& Y, const Matrix& predicted,
                          const Vector& precision = {});

}  // namespace zeroloss
