#include "sweep/trial.hpp"

#include <algorithm>
#include <cmath>

#include "network/prepare.hpp"
#include "train/combine.hpp"
#include "train/engine/small_trainer.hpp"
#include "train/fit_options.hpp"
#include "train/optimizers/descent.hpp"
#include "train/start.hpp"
#include "train/training.hpp"
#include "zeroloss/core/error.hpp"

namespace zeroloss::internal {
namespace {

/// Of a run that ends above the tolerance.
Status unconverged(Index steps, const FitOptions& options) {
  return steps < options.max_steps ? Status::stalled : Status::budget_spent;
}

Trial whole_fit(const Dataset& data, const FitOptions& options, bool certify, Progress& progress) {
  CheckedOptions trained = checked(options);
  trained.certify_every = 0;
  trained.proved = certify || options.stop == "certificate";
  Progress silent = progress.silent();
  const FitResult result = fit_checked(data, trained, silent);
  if (result.status == Status::interrupted) throw Interrupted();
  Trial trial{result.status, result.steps, result.step, result.relative_misfit, {}};
  if (certify)
    trial.certificate = result.certificate;
  else if (trial.status == Status::certified)  // a proof makes certified even of a spent budget
    trial.status =
        result.relative_misfit <= result.tolerance ? Status::converged : unconverged(result.steps, options);
  return trial;
}

// Steps between two looks at whether to stop: some 10 ms.
Index patience(Index n, Index d, Index m) {
  constexpr double kFlops = 4e8;
  return static_cast<Index>(1 + kFlops / (4.0 * static_cast<double>(n) * static_cast<double>(d * m + m)));
}

double unit_of(const Vector& y) { return y.norm() > 0 ? y.norm() : 1; }

struct Output {
  Trial trial;
  TwoLayer network;
};

template <class T>
Output descend(const RowMatrix& X, const Vector& y, const TwoLayer& start, const Activation& phi,
               const CheckedOptions& options, Progress& progress) {
  const double unit = unit_of(y);
  const double step =
      options.rule.kind == Step::Kind::automatic
          ? auto_step(Trainer<T>(points<T>(X, Space::weights), start, phi, Space::weights), 0, progress)
          : options.rule.value;
  SmallTrainer<T> trainer(X, y, start, phi, step);
  const auto misfit = [&] { return trainer.residual_norm() / unit; };
  const double begin = misfit();
  const Index most = patience(X.rows(), X.cols(), options.width);
  // Steps in one go end just before the misfit can decide anything; ended() then decides by the same numbers
  // as fit.
  const double low = options.tolerance * unit * (1 + 1e-12), high = kDiverged * begin * unit * (1 - 1e-12);
  Output output;
  output.trial.step = step;
  Ending ending = ended(begin, begin, options.tolerance);
  while (ending == Ending::none && step > 0 && output.trial.steps < options.max_steps) {
    progress.check();
    output.trial.steps += trainer.descend(std::min(most, options.max_steps - output.trial.steps), low, high);
    ending = ended(misfit(), begin, options.tolerance);
  }
  output.trial.status = ending == Ending::diverged    ? Status::diverged
                        : ending == Ending::converged ? Status::converged
                                                      : unconverged(output.trial.steps, options);
  output.network = {trainer.weights(), start.v};
  return output;
}

}  // namespace

Trial train_trial(const Dataset& data, const FitOptions& given, bool certify, Progress& progress) {
  const CheckedOptions options = checked(given);
  const bool plain =
      options.rule.kind != Step::Kind::theorem && options.stop == "tolerance" && !options.polish;
  if (!plain || !trains_small(options, data.n(), data.d()))
    return whole_fit(data, options, certify, progress);

  const Activation& phi = activation(options.activation);
  const TrainingSet set = training_set(data, options.center, options.normalize);
  const RowMatrix& X = set.points.X;
  Trial all;
  all.status = Status::certified;
  std::vector<double> misfits;
  std::vector<Certificate> certificates;
  for (Index c = 0; c < set.Y.cols(); ++c) {
    const Vector y = set.Y.col(c);
    const TwoLayer start = first_weights(options, X, y, c);
    const auto [one, network] = options.precision == "float32"
                                    ? descend<float>(X, y, start, phi, options, progress)
                                    : descend<double>(X, y, start, phi, options, progress);
    misfits.push_back((outputs(network, phi, X) - y).norm() / unit_of(y));
    Status status = one.status;
    if (certify && status != Status::diverged) {
      Progress silent = progress.silent();
      const Vector distinct = set.y(c);
      const Equations equations{set.X(), distinct, set.counts, unit_row_error(X.cols())};
      certificates.push_back(certify_output(network, phi, equations, silent).certificate);
      if (certificates.back().holds) status = Status::certified;
    } else {
      certificates.emplace_back();
    }
    if (c == 0) all.step = one.step;
    all.status = std::max(all.status, status);
    all.steps = std::max(all.steps, one.steps);
  }
  all.relative_misfit = combined_misfit(misfits, set.Y);
  all.certificate = combined(certificates);
  return all;
}

}  // namespace zeroloss::internal
