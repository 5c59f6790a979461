#pragma once
#include <vector>

#include "audit/noise_model.hpp"

/// How many labels are wrong, where they hardly say it themselves: not the rate that explains them best, but
/// an average over all that explain them (theory 14).
namespace zeroloss::internal {

struct IntegratedNoise {
  Vector right;   ///< n: P(label right)
  Estimate rate;  ///< of wrong labels: the posterior's mean and its middle 95 %
  /// Of each reading and shape of the link at each rate of the grid: its scale, and the logarithm of the
  /// likelihood.
  std::vector<double> scales, likelihoods;
  Index shown = 0;  ///< samples that the likelihood is of
};

/// For each reading of the model that counts and four shapes of its outputs the likelihood of rates from 0.3
/// to 40 %, with the reading's ways of mixing classes up; their posterior, at half the weight of the
/// likelihood, with any rate from 0.2 to 45 % as likely before. With `like`, for samples that the same
/// predictor was not shown: its scales are taken, and its likelihood as that of a hundred samples more. Cost:
/// some 200 passes over n x c outputs for each reading and shape, of at most 10,000 samples. Does not depend
/// on the number of threads. Throws Interrupted once cancelled.
IntegratedNoise integrate_noise(const Matrix& F, const std::vector<Index>& labels, const NoiseModel& model,
                                const IntegratedNoise* like, Progress& progress);

}  // namespace zeroloss::internal
