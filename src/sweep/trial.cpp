#include "sweep/trial.hpp"

#include <algorithm>
#include <cmath>

#include "network/prepare.hpp"
#include "proof/certificate.hpp"
#include "train/combine.hpp"
#include "train/engine/small_trainer.hpp"
#include "train/fit_options.hpp"
#include "train/optimizers/descent.hpp"
#include "train/start.hpp"
#include "zeroloss/base/error.hpp"

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

// Of one output, from its first step to its last.
template <class T>
void descend(Index c, const CheckedOptions& options, TrialNetworks& all, Progress& progress) {
  const TwoLayer start = all.start(c);
  const double step = all.step(start, progress), unit = all.unit(c);
  SmallTrainer<T> trainer(all.X(), all.y(c), start, activation(options.activation), step);
  const auto misfit = [&] { return trainer.residual_norm() / unit; };
  const double begin = misfit();
  const Index most = patience(all.X().rows(), all.X().cols(), options.width);
  // Steps in one go end just before the misfit can decide anything; ended() then decides by the same numbers
  // as fit.
  const double low = options.tolerance * unit * (1 + 1e-12), high = kDiverged * begin * unit * (1 - 1e-12);
  Index steps = 0;
  Ending ending = ended(begin, begin, options.tolerance);
  while (ending == Ending::none && step > 0 && steps < options.max_steps) {
    progress.check();
    steps += trainer.descend(std::min(most, options.max_steps - steps), low, high);
    ending = ended(misfit(), begin, options.tolerance);
  }
  all.end(c, ending, steps, step, {trainer.weights(), start.v});
}

}  // namespace

TrialNetworks::TrialNetworks(const Dataset& data, const CheckedOptions& options)
    : options_(options),
      activation_(activation(options.activation)),
      set_(training_set(data, options.center, options.normalize)),
      ends_(static_cast<std::size_t>(set_.Y.cols())) {}

double TrialNetworks::unit(Index c) const {
  const double norm = y(c).norm();
  return norm > 0 ? norm : 1;
}

TwoLayer TrialNetworks::start(Index c) const { return first_weights(options_, X(), y(c), c); }

double TrialNetworks::step(const TwoLayer& start, const Progress& progress) const {
  if (options_.rule.kind == Step::Kind::number) return options_.rule.value;
  const auto automatic = [&]<class T>(T) {
    return auto_step(Trainer<T>(points<T>(X(), Space::weights), start, activation_, Space::weights), 0,
                     progress);
  };
  return options_.precision == "float32" ? automatic(float{}) : automatic(double{});
}

void TrialNetworks::end(Index c, Ending ending, Index steps, double step, TwoLayer network) {
  const Status status = ending == Ending::diverged    ? Status::diverged
                        : ending == Ending::converged ? Status::converged
                                                      : unconverged(steps, options_);
  ends_[static_cast<std::size_t>(c)] = {status, steps, step, std::move(network)};
}

Trial TrialNetworks::trial(bool certify, const Progress& progress) const {
  Trial all;
  all.status = Status::certified;
  all.step = ends_.front().step;
  std::vector<double> misfits;
  std::vector<Certificate> certificates;
  const CertifiedPoints distinct(set_.X(), set_.counts, unit_row_error(X().cols()));
  for (Index c = 0; c < size(); ++c) {
    const End& one = ends_[static_cast<std::size_t>(c)];
    misfits.push_back((outputs(one.network, activation_, X()) - y(c)).norm() / unit(c));
    Status status = one.status;
    if (certify && status != Status::diverged) {
      Progress silent = progress.silent();
      certificates.push_back(
          certify_output(one.network, activation_, distinct, set_.y(c), silent).certificate);
      if (certificates.back().holds) status = Status::certified;
    } else {
      certificates.emplace_back();
    }
    all.status = std::max(all.status, status);
    all.steps = std::max(all.steps, one.steps);
  }
  all.relative_misfit = combined_misfit(misfits, set_.Y);
  all.certificate = combined(certificates);
  return all;
}

Trial train_trial(const Dataset& data, const FitOptions& given, bool certify, Progress& progress) {
  const CheckedOptions options = checked(given);
  const bool plain =
      options.rule.kind != Step::Kind::theorem && options.stop == "tolerance" && !options.polish;
  if (!plain || !trains_small(options, data.n(), data.d()))
    return whole_fit(data, options, certify, progress);
  TrialNetworks all(data, options);
  for (Index c = 0; c < all.size(); ++c)
    options.precision == "float32" ? descend<float>(c, options, all, progress)
                                   : descend<double>(c, options, all, progress);
  return all.trial(certify, progress);
}

}  // namespace zeroloss::internal
