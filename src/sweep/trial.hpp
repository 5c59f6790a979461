#pragma once
#include <vector>

#include "network/prepare.hpp"
#include "train/fit_options.hpp"
#include "train/training.hpp"
#include "zeroloss/base/progress.hpp"
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

/// What fit would train for a trial, an output each, and what comes of it, whoever trains them: gradient
/// descent without theorems. Both arguments must outlive it. Throws as train_trial.
class TrialNetworks {
 public:
  TrialNetworks(const Dataset& data, const CheckedOptions& options);

  const RowMatrix& X() const { return set_.points.X; }
  Index size() const { return set_.Y.cols(); }
  Vector y(Index output) const { return set_.Y.col(output); }
  double unit(Index output) const;  ///< what the misfit is relative to
  TwoLayer start(Index output) const;
  double step(const TwoLayer& start, const Progress& progress) const;  ///< 0 where J = 0

  /// The weights that an output ends with, after so many steps of this size.
  void end(Index output, Ending ending, Index steps, double step, TwoLayer network);

  /// Once all have ended.
  Trial trial(bool certify, const Progress& progress) const;

 private:
  struct End {
    Status status = Status::budget_spent;
    Index steps = 0;
    double step = 0;
    TwoLayer network;
  };

  const CheckedOptions& options_;
  const Activation& activation_;
  const TrainingSet set_;
  std::vector<End> ends_;
};

}  // namespace zeroloss::internal
