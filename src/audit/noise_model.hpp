#pragma once
#include <vector>

#include "zeroloss/audit/audit.hpp"
#include "zeroloss/core/matrix.hpp"

/// From predictions that know nothing of their own labels to the probability that each label is right.
namespace zeroloss::internal {

/// P(class j | x) = softmax_j(sharpness F(x)), P(label k | class j) = transition(j, k): found by expectation
/// maximisation (Dawid & Skene 1979, with the predictor in place of other annotators), each class with ten
/// pseudo-samples of the overall rate.
struct NoiseModel {
  double sharpness = 0;
  Matrix transition;  ///< c x c, rows sum to 1
  Matrix classes;     ///< n x c: P(class | x, label)
  Matrix labels;      ///< n x c: P(label | x)
};

/// F: n x c predictions, each without its own sample; labels in [0, c).
NoiseModel noise_model(const Matrix& F, const std::vector<Index>& labels);

/// Estimates with intervals from weights drawn anew: the wider one of the bootstrap's 2.5 and 97.5 %
/// quantiles and 1.96 of its standard deviations to both sides.
struct NoiseEstimates {
  Estimate rate;
  std::vector<Estimate> samples;  ///< c x c by rows: of the class, labelled as; 0 on the diagonal
};
NoiseEstimates estimate_noise(const Matrix& F, const std::vector<Index>& labels, const NoiseModel& model,
                              Index draws, std::uint64_t seed);

/// For numbers: residuals over their standard deviations are t with five degrees of freedom times a scale if
/// right, and uniform over the range of the targets if wrong.
struct ResidualModel {
  double scale = 0;  ///< of a residual of precision 1
  double rate = 0;
  Vector right;  ///< n: P(right | residual)
};
/// residuals: without their own samples; precision: of each, up to a factor; range: of the targets, > 0.
ResidualModel residual_model(const Vector& residuals, const Vector& precision, double range);
Estimate estimate_rate(const Vector& residuals, const Vector& precision, double range,
                       const ResidualModel& model, Index draws, std::uint64_t seed);

}  // namespace zeroloss::internal
