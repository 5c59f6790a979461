#pragma once
#include <vector>

#include "zeroloss/audit/audit.hpp"
#include "zeroloss/core/matrix.hpp"

/// From predictions that know nothing of their own labels to the probability that each label is right.
namespace zeroloss::internal {

/// P(class j | x) = softmax_j(sharpness L(x)), P(label k | class j) = transition(j, k): found by expectation
/// maximisation (Dawid & Skene 1979, with the predictor in place of other annotators).
struct NoiseFit {
  double sharpness = 0;
  Matrix transition;  ///< c x c, rows sum to 1
  Matrix classes;     ///< n x c: P(class | x, label)
  Matrix labels;      ///< n x c: P(label | x)
};

/// L: n x c; labels in [0, c). Each class has `pseudo` samples more, with as many wrong labels as all have,
/// each equally likely.
/// `sharpness`: as it is, of a fit to other samples; 0: to be found.
NoiseFit fit_noise(const Matrix& L, const std::vector<Index>& labels, double pseudo, double sharpness = 0);

/// What is not known of predictions is which L they are: F as it is or log(max(F, 0) + 0.1), which holds
/// where classes overlap; nor whether labels are wrong as often from any class to any other (n
/// pseudo-samples) or not (10). The first two fits, of either L, both with n, make the probabilities; the
/// third one, of F with 10, widens intervals.
struct NoiseModel {
  std::vector<NoiseFit> fits;  ///< three
  Vector right;                ///< n: P(label right): the geometric mean of the odds, with at least 1 % wrong
  Matrix labels;               ///< n x c: P(label | x)
  bool like_others = false;    ///< sharpness is that of other samples
};

/// F: n x c predictions, each without its own sample; labels in [0, c). With `like` for samples that the same
/// predictor was not shown: of them F may be few, so its sharpness is taken.
NoiseModel noise_model(const Matrix& F, const std::vector<Index>& labels, const NoiseModel* like = nullptr);

/// Estimates, the mean of the first two fits, with the hull of all three intervals: 1.96 standard deviations
/// of what each of them estimates from samples drawn anew.
struct NoiseEstimates {
  Estimate rate;
  std::vector<Estimate> samples;  ///< c x c by rows: of the class, labelled as; 0 on the diagonal
};
NoiseEstimates estimate_noise(const Matrix& F, const std::vector<Index>& labels, const NoiseModel& model,
                              Index draws, std::uint64_t seed);

/// For numbers: residuals over their standard deviations are t with five degrees of freedom times a scale if
/// right, and uniform over the range of the targets if wrong. The scale is 2 % of the range at least; where
/// it is above 15 %, nothing is said. `right` is with at least 1 % wrong.
struct ResidualModel {
  double scale = 0;  ///< of a residual of precision 1
  double rate = 0;
  Vector right;              ///< n: P(right | residual)
  bool like_others = false;  ///< scale is that of other samples
  double least = 0;          ///< scale that was allowed
  double share = 0;          ///< of the range that the scale is
  bool judges = true;        ///< it is narrow enough to tell right from wrong
};
/// residuals: without their own samples; precision: of each, up to a factor; range: of the targets, > 0.
/// `scale`: as it is, of other samples; 0: to be found.
ResidualModel residual_model(const Vector& residuals, const Vector& precision, double range,
                             double scale = 0);
Estimate estimate_rate(const Vector& residuals, const Vector& precision, double range,
                       const ResidualModel& model, Index draws, std::uint64_t seed);

}  // namespace zeroloss::internal
