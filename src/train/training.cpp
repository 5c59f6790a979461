#include "train/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"
#include "theory/theorems.hpp"
#include "train/optimizers/optimizers.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss::internal {
namespace {

// Whether the curve has a point at this step: all up to 20, then 20 a decade, or every so many.
bool recorded(Index step, Index every) {
  if (every > 0) return step % every == 0;
  constexpr double kDecade = 20;
  const auto bin = [](Index k) { return std::floor(kDecade * std::log10(static_cast<double>(k))); };
  return step <= 20 || bin(step) > bin(step - 1);
}

}  // namespace

Ending ended(double misfit, double start, double tolerance) {
  if (!std::isfinite(misfit) || misfit > kDiverged * start) return Ending::diverged;
  return misfit <= tolerance ? Ending::converged : Ending::none;
}

Training::Training(const CheckedOptions& options, Part part, const Vector& y, RunState& state,
                   Checkpoint& checkpoint, Progress& progress)
    : options_(options),
      facts_(options.method->facts),
      part_(std::move(part)),
      y_(y),
      unit_(y.norm() > 0 ? y.norm() : 1),
      state_(state),
      progress_(progress),
      checkpoint_(checkpoint),
      next_misfit_(options.tolerance) {}

void Training::begin() {
  start_misfit_ = misfit();
  result_.label = part_.label;
  if (state_.current) resume(*state_.current);
}

void Training::run() {
  const auto stage = part_.of == 1 ? "training" : fmt::format("training {} of {}", part_.index + 1, part_.of);
  try {
    progress_.stage(stage, static_cast<double>(options_.max_steps));
    progress_.advance(static_cast<double>(result_.steps));
    while (!look()) step();
  } catch (const Interrupted&) {  // between two steps, or before the certificate of one
    result_.seconds += elapsed_s();
    state_.current = snapshot();
    checkpoint_.save(state_);
    keep(*state_.current);
    OutputResult& result = state_.current->result;
    result.status = Status::interrupted;
    result.relative_misfit = misfit();
    result.certificate = {};
    result.certified_at.reset();
    return;
  }
  if (result_.status != Status::certified) result_.certified_at.reset();
  result_.seconds += elapsed_s();
  OutputState finished{result_};
  keep(finished);
  finished.result.relative_misfit = final_residual_norm() / unit_;
  state_.current.reset();
  state_.finished.push_back(std::move(finished));
  checkpoint_.save(state_);
}

double Training::elapsed_s() const { return seconds_since(began_); }

double Training::misfit() { return optimizer().residual_norm(y_) / unit_; }

// Passes over the data; steps that see all of it are one each.
Index Training::passes() const {
  return facts_.batch ? result_.steps * options_.batch / part_.points : result_.steps;
}

// The misfit; where it decides something, that of the weights themselves and not of f as kept by updates.
double Training::measured() {
  const bool decides = options_.stop == "tolerance" || misfit() <= next_misfit_;
  if (misfit() <= options_.tolerance && decides && !refreshed_) {
    optimizer().refresh();
    refreshed_ = true;
  }
  return misfit();
}

// Whether training ends here, whatever a certificate says: sets status and reason.
bool Training::ended(double now) {
  result_.reason.clear();
  const Ending ending = internal::ended(now, start_misfit_, options_.tolerance);
  const bool reached = ending == Ending::converged;
  if (ending == Ending::diverged || !std::isfinite(optimizer().path_length)) {
    result_.status = Status::diverged;
    result_.reason = std::isfinite(start_misfit_)
                         ? fmt::format("the misfit grew from {:.3g} to {:.3g}", start_misfit_, std::abs(now))
                         : "outputs of the start are beyond the range of numbers";
    return true;
  }
  result_.status = reached ? Status::converged : stuck_ ? Status::stalled : Status::budget_spent;
  const bool enough = !optimizer().goes_on(options_.tolerance * unit_);
  if (reached && enough && options_.stop == "tolerance") return true;
  if (stuck_) {
    result_.reason = reached ? "" : optimizer().obstacle();
    return true;
  }
  if (now < 0.99 * best_misfit_) best_misfit_ = now, best_step_ = result_.steps;
  const bool waited = options_.patience > 0 && result_.steps - best_step_ >= options_.patience;
  // Every output has its share, and what those before it have left.
  const double share = static_cast<double>(part_.index + 1) / static_cast<double>(part_.of);
  const bool late = options_.max_seconds > 0 && seconds() >= share * options_.max_seconds;
  if (!waited && !late && result_.steps < options_.max_steps) return false;
  if (reached) return true;
  if (waited) result_.status = Status::stalled;
  result_.reason = waited ? fmt::format("the misfit has not fallen by a hundredth in {} steps",
                                        with_commas(options_.patience))
                   : late ? fmt::format("its share of {:.3g} seconds is over", options_.max_seconds)
                          : fmt::format("{} steps are done", options_.max_steps);
  return true;
}

// Of training, of this output and those before it.
double Training::seconds() const {
  double all = result_.seconds + elapsed_s();
  for (const OutputState& output : state_.finished) all += output.result.seconds;
  return all;
}

// A drawn start is far from any solution; what would be learnt of it beside takes seconds up to so many
// points.
bool Training::hopeless_start() const {
  return part_.points > kEveryEigenvalue && options_.start.drawn() && !options_.start.paired() &&
         options_.stop != "certificate";
}

// Measures and decides; true if the output is finished. A certificate is asked for on the schedule, at the
// end, and, to stop at one, each time the misfit has fallen tenfold below the tolerance.
bool Training::look() {
  const double now = measured();
  bool finished = ended(now);
  const bool due = options_.certify_every > 0 && passes() >= next_certificate_;
  const bool scheduled = due && !(result_.steps == 0 && hopeless_start());
  const bool settled = options_.stop == "certificate" && now <= next_misfit_;
  bool certified = false;
  if (result_.status == Status::diverged) {
    result_.certificate = {};
  } else if (options_.proved && (scheduled || settled || finished)) {
    certify(options_.polish && finished);
    certified = result_.certificate.holds && (finished || options_.stop == "certificate");
    if (certified && !finished && options_.polish) certify(true);  // it ends here after all
    finished = finished || certified;
    if (certified) result_.status = Status::certified;
  }
  if (due) next_certificate_ = passes() + options_.certify_every - passes() % options_.certify_every;
  if (settled) next_misfit_ = now / 10;
  if (finished || certified_step_ == result_.steps || recorded(result_.steps, options_.record_every))
    record();
  return finished;
}

void Training::certify(bool polish) {
  Progress silent = progress_.silent();
  try {
    result_.certificate = proved(polish, silent);
  } catch (const ResourceError& error) {
    result_.certificate = {};
    result_.certificate.reason = error.what();
  } catch (const BackendError& error) {  // of a device whose products prove nothing
    result_.certificate = {};
    result_.certificate.reason = error.what();
  }
  certified_step_ = result_.steps;
  if (result_.certificate.holds && !result_.certified_at) result_.certified_at = result_.steps;
  if (result_.steps > 0) return;
  at_start_ = result_.certificate;
  expect(at_start_);
}

void Training::record() {
  if (!result_.curve.empty() && result_.curve.back().step == result_.steps) return;
  const Travel travel = optimizer().travel();
  CurvePoint point{result_.steps,          optimizer().time, misfit(),
                   travel.max_distance,    travel.distance,  optimizer().path_length,
                   travel.flipped_fraction};
  if (certified_step_ == result_.steps) point.lambda_min = result_.certificate.lambda_min;
  complete(point);
  result_.curve.push_back(point);
}

void Training::step() {
  Index most = options_.max_steps - result_.steps;
  if (facts_.batch)  // measures after several steps only: not across a point of the curve
    for (Index k = 1; k < std::min<Index>(most, part_.points); ++k)
      if (recorded(result_.steps + k, options_.record_every)) most = k;
  const Threads threads(step_work());
  const Index taken = optimizer().advance(result_.steps, most, progress_);
  stuck_ = taken == 0;
  refreshed_ = false;
  result_.steps += taken;
  if (checkpoint_.due()) {
    state_.current = snapshot();
    state_.current->result.seconds += elapsed_s();
    checkpoint_.save(state_);
    state_.current.reset();
  }
  progress_.advance(static_cast<double>(taken));
}

OutputState Training::snapshot() {
  OutputState state{result_, {}, {}, optimizer().snapshot(), optimizer().path_length, optimizer().time};
  state.snapshot["schedule"] =
      Vector{{static_cast<double>(next_certificate_), next_misfit_, static_cast<double>(certified_step_),
              best_misfit_, static_cast<double>(best_step_)}};
  if (at_start_.holds)
    state.snapshot["start"] = Vector{{at_start_.step, at_start_.rate, at_start_.misfit, at_start_.radius}};
  return state;
}

void Training::resume(const OutputState& from) {
  result_ = from.result;
  try {
    optimizer().restore(from.snapshot);
    restore_schedule(from.snapshot.at("schedule"));
    if (from.snapshot.contains("start")) restore_start(from.snapshot.at("start"));
  } catch (const std::out_of_range&) {
    throw DataError(
        "damaged checkpoint: a part of the optimizer's state is missing; remove it to begin anew");
  }
  optimizer().path_length = from.path_length;
  optimizer().time = from.time;
  state_.current.reset();
}

void Training::restore_schedule(const Matrix& schedule) {
  next_certificate_ = static_cast<Index>(schedule(0));
  next_misfit_ = schedule(1);
  certified_step_ = static_cast<Index>(schedule(2));
  best_misfit_ = schedule(3);
  best_step_ = static_cast<Index>(schedule(4));
}

void Training::restore_start(const Matrix& known) {
  at_start_.kind = "descent";
  at_start_.holds = true;
  at_start_.step = known(0);
  at_start_.rate = known(1);
  at_start_.misfit = known(2);
  at_start_.radius = known(3);
  expect(at_start_);
}

}  // namespace zeroloss::internal
