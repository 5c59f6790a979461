#include "sweep/batched_trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>

#include "base/clock.hpp"
#include "base/parallel_for.hpp"
#include "train/fit_options.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/train/optimizers.hpp"

namespace zeroloss::internal {
namespace {

void prepare(std::optional<TrialNetworks>& networks, const TrialTask& task, const CheckedOptions& options) {
  try {
    networks.emplace(task.data, options);
  } catch (const DataError& error) {
    throw DataError(in_words(error.what(), task.row));
  }
}

// A trial on its way. Its address is known to `networks`.
struct Work {
  explicit Work(TrialTask from) : task(std::move(from)), options(checked(task.fit)) {}
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  TrialTask task;
  CheckedOptions options;
  std::optional<TrialNetworks> networks;
  std::vector<Descent> outputs;
  Index left = 0;  ///< outputs that are in training

  // Points, weights and steps; of an output whose gradient is zero no step is asked for.
  void begin(const Progress& progress) {
    const auto began = Clock::now();
    prepare(networks, task, options);
    task.row.cell.n = task.data.n();
    task.row.cell.d = task.data.d();
    task.data = {};  // the networks have points of their own
    left = networks->size();
    for (Index c = 0; c < left; ++c) {
      Descent one{&networks->X(), networks->y(c), networks->start(c), 0, 0, 0};
      one.step = networks->step(one.start, progress);
      one.residual = options.tolerance * networks->unit(c);
      one.max_steps = one.step > 0 ? options.max_steps : 0;
      outputs.push_back(std::move(one));
    }
    task.row.seconds += seconds_since(began);
  }

  void end(Index c, Descended ended) {
    Descent& one = outputs[static_cast<std::size_t>(c)];
    networks->end(c,
                  ended.diverged    ? Ending::diverged
                  : ended.converged ? Ending::converged
                                    : Ending::none,
                  ended.steps, one.step, {std::move(ended.W), std::move(one.start.v)});
    --left;
  }

  TrialRow row(double seconds, const Progress& progress) {
    const auto began = Clock::now();
    TrialRow row = task.row;
    row.trial = networks->trial(task.certify, progress);
    row.seconds += seconds + seconds_since(began);
    networks.reset();
    return row;
  }
};

void require_of_device(bool met, const std::string& what) {
  if (!met) throw std::invalid_argument("sweep: a device " + what);
}

}  // namespace

void check_together(const SweepOptions& o, const std::vector<Cell>& cells) {
  const std::string without = "; leave `device` out for it";
  require_of_device(optimizer(o.fit.optimizer).together,
                    fmt::format("trains by optimizer {} only, got {}{}",
                                optimizers_with(&OptimizerFacts::together), o.fit.optimizer, without));
  require_of_device(o.fit.space != "gram",
                    "takes every step in the space of weights, and `space=gram` asks for another" + without);
  require_of_device(!o.fit.residual,
                    "trains networks of one hidden layer, and residual asks for more" + without);
  require_of_device(!o.fit.polish && o.fit.patience == 0 && o.fit.max_seconds == 0,
                    "knows no polish, patience and max_seconds: leave them out");
  for (const Cell& cell : cells) {
    require_of_device(
        cell.depth == 1 && o.fit.widths.empty(),
        fmt::format("trains networks of one hidden layer, got depth {}{}", cell.depth, without));
    require_of_device(
        activation(cell.activation).rectifier(),
        fmt::format("trains relu networks only, got activation {}{}", cell.activation, without));
    require_of_device(
        Step(cell.step).kind != Step::Kind::theorem,
        "takes steps of a number or auto; a theorem's are left to the processor: leave `device` out");
  }
}

TrialSize size_of(const TrialTask& task) {
  const CheckedOptions options = checked(task.fit);
  std::optional<TrialNetworks> one;
  prepare(one, task, options);
  return {{one->X().rows(), one->X().cols(), options.width}, one->size()};
}

std::size_t together(const std::vector<TrialSize>& sizes, const DescentRules& rules,
                     const DescentEngine& engine) {
  // A device takes as long for fewer numbers as it takes to begin the operations of a step.
  constexpr double kCheap = 1e7, kShare = 0.25;
  const double memory = kShare * static_cast<double>(available_memory_bytes());
  DescentShape shape;
  Index networks = 0, most = 0;
  double own = 0, here = 0;
  std::size_t count = 0;
  for (const TrialSize& size : sizes) {
    const DescentShape larger = shape.with(size.shape);
    if (most == 0 || larger.numbers() > shape.numbers()) most = engine.at_once(larger, rules);
    shape = larger;
    networks += size.networks;
    const auto all = static_cast<double>(size.networks);
    own += all * size.shape.numbers();
    here += 8 * 4 * (all + 1) * size.shape.numbers() + 4096;  // points and weights, more than once
    const double filled = static_cast<double>(networks) * shape.numbers();
    const bool fits = here <= memory && networks <= most;
    if (count > 0 && (!fits || (filled > 2 * own && filled > kCheap))) break;
    ++count;
  }
  return count;
}

void compute_together(std::vector<TrialTask> tasks, DescentEngine& engine,
                      const std::function<void(const TrialRow&)>& done, Progress& progress) {
  if (tasks.empty()) return;
  Progress silent = progress.silent();
  std::vector<std::unique_ptr<Work>> works;
  for (TrialTask& task : tasks) works.push_back(std::make_unique<Work>(std::move(task)));
  parallel_for(std::ssize(works), [&](Index k) { works[static_cast<std::size_t>(k)]->begin(silent); });

  std::vector<Descent> list;
  std::vector<std::pair<Work*, Index>> places;
  for (const auto& work : works)
    for (std::size_t c = 0; c < work->outputs.size(); ++c) {
      list.push_back(work->outputs[c]);
      places.emplace_back(work.get(), static_cast<Index>(c));
    }
  const auto began = Clock::now();
  const auto ended = [&](std::vector<std::pair<std::size_t, Descended>> some) {
    std::vector<Work*> whole;
    for (auto& [k, one] : some) {
      const auto& [work, c] = places[k];
      work->end(c, std::move(one));
      if (work->left == 0) whole.push_back(work);
    }
    const double share = seconds_since(began) / static_cast<double>(works.size());
    parallel_for(std::ssize(whole),
                 [&](Index k) { done(whole[static_cast<std::size_t>(k)]->row(share, silent)); });
  };
  engine.train(list, {works.front()->options.precision, kDiverged}, ended, silent);
}

}  // namespace zeroloss::internal
