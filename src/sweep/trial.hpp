#pragma once
#include "zeroloss/core/progress.hpp"
#include "zeroloss/train/fit.hpp"

namespace zeroloss::internal {

/// What is kept of one run among many.
struct Trial {
  Status status = Status::budget_spent;  ///< the worst of the outputs', as of fit
  Index steps = 0;                       ///< most of any output
  double step = 0;                       ///< eta of the first output; 0 where the optimizer has none
  double relative_misfit = 0;            ///< ||R||_F/||Y||_F of the final weights, evaluated in double
  Certificate certificate;               ///< if asked for
};

/// fit(data, options) without curve, forecast and theorems, and without a certificate unless `certify`: the
/// same weights, status (converged where fit would prove more), steps and misfit, bit for bit. Small networks
/// trained by gd take a way of their own through SmallTrainer; others go through fit. Throws what fit throws;
/// Interrupted once cancelled.
Trial train_trial(const Dataset& data, const FitOptions& options, bool certify, Progress& progress);

}  // namespace zeroloss::internal
