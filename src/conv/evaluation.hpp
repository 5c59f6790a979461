#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "zeroloss/conv/evaluate.hpp"

namespace zeroloss::internal {

/// How outputs compare with labels, added up batch by batch. n x classes outputs need not be kept: for a
/// million photos of a thousand classes they are 5 GB.
class EvaluationSums {
 public:
  explicit EvaluationSums(Index classes);

  /// Outputs and labels of some images. Throws as evaluate().
  void add(const Logits& logits, std::span<const std::int64_t> labels);

  /// All that is counted. Those of several processes, added up, are those of all their images.
  std::vector<double>& numbers() { return numbers_; }

  ConvEvaluation evaluation() const;

 private:
  double& confused(Index label, Index predicted) {
    return numbers_[static_cast<std::size_t>(2 + label * classes_ + predicted)];
  }

  Index classes_;
  std::vector<double> numbers_;  // sum of the loss, labels not among the five largest, confusion row by row
};

}  // namespace zeroloss::internal
