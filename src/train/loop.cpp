#include "train/loop.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "train/optimizers/descent.hpp"
#include "train/start.hpp"
#include "zeroloss/core/blas.hpp"
#include "zeroloss/core/error.hpp"
#include "zeroloss/core/text.hpp"
#include "zeroloss/core/threads.hpp"

namespace zeroloss::internal {
namespace {

// Whether the curve has a point at this step: all up to 20, then 20 a decade, or every so many.
bool recorded(Index step, Index every) {
  if (every > 0) return step % every == 0;
  constexpr double kDecade = 20;
  const auto bin = [](Index k) { return std::floor(kDecade * std::log10(static_cast<double>(k))); };
  return step <= 20 || bin(step) > bin(step - 1);
}

// One output on its way.
class Training {
 public:
  Training(const Run& run, Index index, const std::string& label, RunState& state, Checkpoint& checkpoint,
           Progress& progress)
      : run_(run),
        options_(run.options),
        index_(index),
        y_(run.Y.col(index)),
        start_(first_weights(options_, run.X, y_, index)),
        distinct_y_(run.set.y(index)),
        equations_{run.set.X(), distinct_y_, run.set.counts, unit_row_error(run.X.cols())},
        problem_{run.X, y_, start_, run.activation, equations_},
        unit_(y_.norm() > 0 ? y_.norm() : 1),
        expectation_(run.theory, run.activation, options_, run.X, y_, run.Y.cols()),
        state_(state),
        checkpoint_(checkpoint),
        progress_(progress) {
    optimizer_ = options_.precision == "float32" ? make<float>(run.points32) : make<double>(run.points64);
    start_misfit_ = misfit();
    expectation_.begin(start_.v.squaredNorm(), optimizer_->f() - y_, result_.step);
    result_.label = label;
    result_.theorem = expectation_.theorem();
    if (state.current) resume(*state.current);
  }

  void run() {
    const auto stage =
        run_.Y.cols() == 1 ? "training" : fmt::format("training {} of {}", index_ + 1, run_.Y.cols());
    try {
      progress_.stage(stage, static_cast<double>(options_.max_steps));
      progress_.advance(static_cast<double>(result_.steps));
      while (!look()) step();
    } catch (const Interrupted&) {  // between two steps, or before the certificate of one
      result_.seconds += elapsed_s();
      state_.current = snapshot();
      checkpoint_.save(state_);
      state_.current->network = optimizer_->network();
      OutputResult& result = state_.current->result;
      result.status = Status::interrupted;
      result.relative_misfit = misfit();
      result.certificate = {};
      result.certified_at.reset();
      return;
    }
    if (result_.status != Status::certified) result_.certified_at.reset();
    result_.seconds += elapsed_s();
    const TwoLayer final = optimizer_->network();
    result_.relative_misfit = (outputs(final, run_.activation, run_.X) - y_).norm() / unit_;
    state_.current.reset();
    state_.finished.push_back({result_, final, polished_, {}, 0, 0});
    checkpoint_.save(state_);
  }

 private:
  template <class T>
  std::unique_ptr<Optimizer> make(const Points<T>& points) {
    if (facts_.step) result_.step = chosen_step(points);
    return options_.method->make(Beginning<T>{points, problem_, run_.space, result_.step, options_,
                                              static_cast<std::uint64_t>(index_)});
  }

  template <class T>
  double chosen_step(const Points<T>& points) const {
    if (state_.current) return state_.current->result.step;  // resumed
    if (options_.rule.kind == Step::Kind::number) return options_.rule.value;
    if (options_.rule.kind == Step::Kind::automatic)
      return auto_step(Trainer<T>(points, start_, run_.activation, run_.space),
                       facts_.batch ? options_.batch : 0, progress_);
    const TheoremBeside& theorem = expectation_.theorem();
    if (!(theorem.step > 0))
      throw std::invalid_argument(fmt::format("fit: step theorem: {}", theorem.reason));
    return theorem.step;
  }

  double elapsed_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }

  double misfit() const { return optimizer_->residual_norm(y_) / unit_; }

  // Passes over the data; steps that see all of it are one each.
  Index passes() const { return facts_.batch ? result_.steps * options_.batch / y_.size() : result_.steps; }

  // The misfit; where it decides something, that of the weights themselves and not of f as kept by updates.
  double measured() {
    const bool decides = options_.stop == "tolerance" || misfit() <= next_misfit_;
    if (misfit() <= options_.tolerance && decides && !refreshed_) {
      optimizer_->refresh();
      refreshed_ = true;
    }
    return misfit();
  }

  // Whether training ends here, whatever a certificate says: sets status and reason.
  bool ended(double now) {
    result_.reason.clear();
    const Ending ending = internal::ended(now, start_misfit_, options_.tolerance);
    const bool reached = ending == Ending::converged;
    if (ending == Ending::diverged || !std::isfinite(optimizer_->path_length)) {
      result_.status = Status::diverged;
      result_.reason = std::isfinite(start_misfit_) ? fmt::format("the misfit grew from {:.3g} to {:.3g}",
                                                                  start_misfit_, std::abs(now))
                                                    : "outputs of the start are beyond the range of numbers";
      return true;
    }
    result_.status = reached ? Status::converged : stuck_ ? Status::stalled : Status::budget_spent;
    if (reached && options_.stop == "tolerance") return true;
    if (stuck_) {
      result_.reason = reached ? "" : optimizer_->obstacle();
      return true;
    }
    if (now < 0.99 * best_misfit_) best_misfit_ = now, best_step_ = result_.steps;
    const bool waited = options_.patience > 0 && result_.steps - best_step_ >= options_.patience;
    // Every output has its share, and what those before it have left.
    const double share = static_cast<double>(index_ + 1) / static_cast<double>(run_.Y.cols());
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
  double seconds() const {
    double all = result_.seconds + elapsed_s();
    for (const OutputState& output : state_.finished) all += output.result.seconds;
    return all;
  }

  // Measures and decides; true if the output is finished. A certificate is asked for on the schedule, at the
  // end, and, to stop at one, each time the misfit has fallen tenfold below the tolerance.
  bool look() {
    const double now = measured();
    bool finished = ended(now);
    const bool scheduled = options_.certify_every > 0 && passes() >= next_certificate_;
    const bool settled = options_.stop == "certificate" && now <= next_misfit_;
    bool certified = false;
    if (result_.status == Status::diverged) {
      result_.certificate = {};
    } else if (options_.proved && (scheduled || settled || finished)) {
      prove(options_.polish && finished);
      certified = result_.certificate.holds && (finished || options_.stop == "certificate");
      if (certified && !finished && options_.polish) prove(true);  // it ends here after all
      finished = finished || certified;
      if (certified) result_.status = Status::certified;
    }
    if (scheduled) next_certificate_ = passes() + options_.certify_every - passes() % options_.certify_every;
    if (settled) next_misfit_ = now / 10;
    if (finished || certified_step_ == result_.steps || recorded(result_.steps, options_.record_every))
      record();
    return finished;
  }

  void prove(bool polish) {
    Progress silent = progress_.silent();
    try {
      auto proof = optimizer_->certify(problem_, polish, silent);
      result_.certificate = std::move(proof.certificate);
      polished_ = std::move(proof.polished);
    } catch (const ResourceError& error) {
      result_.certificate = {};
      result_.certificate.reason = error.what();
    }
    certified_step_ = result_.steps;
    if (result_.certificate.holds && !result_.certified_at) result_.certified_at = result_.steps;
    if (result_.steps > 0) return;
    at_start_ = result_.certificate;
    expectation_.begin(at_start_);
    result_.theorem = expectation_.theorem();
  }

  void record() {
    if (!result_.curve.empty() && result_.curve.back().step == result_.steps) return;
    const Travel travel = optimizer_->travel();
    CurvePoint point{result_.steps,          optimizer_->time, misfit(),
                     travel.max_distance,    travel.distance,  optimizer_->path_length,
                     travel.flipped_fraction};
    if (certified_step_ == result_.steps) point.lambda_min = result_.certificate.lambda_min;
    expectation_.complete(point);
    if (run_.test) point.test_error = test_error(*run_.test, optimizer_->network(), index_, run_.activation);
    result_.curve.push_back(point);
  }

  void step() {
    Index most = options_.max_steps - result_.steps;
    if (facts_.batch)  // measures after several steps only: not across a point of the curve
      for (Index k = 1; k < std::min<Index>(most, y_.size()); ++k)
        if (recorded(result_.steps + k, options_.record_every)) most = k;
    const Threads threads(step_work());
    const Index taken = optimizer_->advance(result_.steps, most, progress_);
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

  // Multiply-adds of a step, more or less.
  double step_work() const {
    const auto n = static_cast<double>(facts_.batch ? options_.batch : y_.size());
    const auto m = static_cast<double>(start_.W.rows()), d = static_cast<double>(start_.W.cols());
    return facts_.step ? n * m * d : n * m * (d + n);  // those that choose a step solve with n x n matrices
  }

  OutputState snapshot() const {
    OutputState state{result_, {}, {}, optimizer_->snapshot(), optimizer_->path_length, optimizer_->time};
    state.snapshot["schedule"] =
        Vector{{static_cast<double>(next_certificate_), next_misfit_, static_cast<double>(certified_step_),
                best_misfit_, static_cast<double>(best_step_)}};
    if (at_start_.holds)
      state.snapshot["start"] = Vector{{at_start_.step, at_start_.rate, at_start_.misfit, at_start_.radius}};
    return state;
  }

  void resume(const OutputState& from) {
    result_ = from.result;
    try {
      optimizer_->restore(from.snapshot);
      restore_schedule(from.snapshot.at("schedule"));
      if (from.snapshot.contains("start")) restore_start(from.snapshot.at("start"));
    } catch (const std::out_of_range&) {
      throw DataError("damaged checkpoint: a part of the optimizer's state is missing");
    }
    optimizer_->path_length = from.path_length;
    optimizer_->time = from.time;
    state_.current.reset();
  }

  void restore_schedule(const Matrix& schedule) {
    next_certificate_ = static_cast<Index>(schedule(0));
    next_misfit_ = schedule(1);
    certified_step_ = static_cast<Index>(schedule(2));
    if (schedule.size() < 5) return;  // of a version without `patience`
    best_misfit_ = schedule(3);
    best_step_ = static_cast<Index>(schedule(4));
  }

  void restore_start(const Matrix& known) {
    at_start_.kind = "descent";
    at_start_.holds = true;
    at_start_.step = known(0);
    at_start_.rate = known(1);
    at_start_.misfit = known(2);
    at_start_.radius = known(3);
    expectation_.begin(at_start_);
  }

  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  const SerialBlas serial_;  // our loops are the threads

  const Run& run_;
  const CheckedOptions& options_;
  const OptimizerFacts& facts_ = options_.method->facts;
  Index index_;
  Vector y_;
  TwoLayer start_, polished_;
  Vector distinct_y_;
  Equations equations_;
  Problem problem_;
  double unit_;
  Expectation expectation_;
  RunState& state_;
  Checkpoint& checkpoint_;
  Progress& progress_;
  std::unique_ptr<Optimizer> optimizer_;
  OutputResult result_;
  Certificate at_start_;
  double start_misfit_ = 0, best_misfit_ = std::numeric_limits<double>::infinity();
  Index best_step_ = 0;
  Index next_certificate_ = 0, certified_step_ = -1;
  double next_misfit_ = options_.tolerance;
  bool refreshed_ = false, stuck_ = false;
};

}  // namespace

Ending ended(double misfit, double start, double tolerance) {
  if (!std::isfinite(misfit) || misfit > kDiverged * start) return Ending::diverged;
  return misfit <= tolerance ? Ending::converged : Ending::none;
}

void train_output(const Run& run, Index index, const std::string& label, RunState& state,
                  Checkpoint& checkpoint, Progress& progress) {
  Training(run, index, label, state, checkpoint, progress).run();
}

}  // namespace zeroloss::internal
