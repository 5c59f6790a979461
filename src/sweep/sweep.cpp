#include "zeroloss/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>

#include "base/clock.hpp"
#include "sources/source_kind.hpp"
#include "sweep/batched_trials.hpp"
#include "sweep/distributed_trials.hpp"
#include "sweep/grid.hpp"
#include "sweep/summary.hpp"
#include "train/distributed_outputs.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
using namespace internal;
namespace {

// A sweep at work in this process.
class Sweep {
 public:
  Sweep(const std::string& source, const Dataset* data, const SweepOptions& options, Progress& progress,
        const Group& group, DescentEngine* engine)
      : group_(can_be_dealt(options.fit) ? group : Group()),
        engine_(engine),
        options_(checked(source, options)),
        cells_(cells_of(options_, engine)),
        maker_(source, data, options_),
        store_(options_.store, identity(source, maker_.digest(), options_)),
        progress_(progress) {}

  // Rounds until all are complete. Throws Interrupted once cancelled, or what a trial threw.
  void run() {
    read_rows();
    for (round_ = current_round(rows_, options_); !round_.missing.empty();
         round_ = current_round(rows_, options_)) {
      progress_.stage(options_.adaptive ? fmt::format("round {}: trials", round_.number) : "trials",
                      static_cast<double>(round_.missing.size()));
      next_ = 0;
      engine_ != nullptr ? run_together() : run_round();
      read_rows();
      if (done_now_ == 0) wait_for_others();
    }
  }

  bool close() { return store_.close(); }
  bool being_closed() { return store_.being_closed(); }
  void read_rows();
  SweepResult result() const;

 private:
  using Rows = std::vector<std::vector<std::optional<TrialRow>>>;

  static std::vector<Cell> cells_of(const SweepOptions& options, const DescentEngine* engine);
  void run_round();
  void run_together();
  void work();
  std::optional<Job> next_job();
  TrialTask task_of(const Job& job) const;
  void keep(const TrialRow& row);

  // All that is missing is in other hands.
  void wait_for_others() const {
    progress_.check();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }

  const Group group_;
  DescentEngine* const engine_;  // null: trials are trained here, one a thread
  const SweepOptions options_;
  const std::vector<Cell> cells_;
  const TrialMaker maker_;
  Store store_;
  Progress& progress_;
  Rows rows_;

  Round round_;
  std::mutex mutex_;  // of everything below, and of progress_
  std::size_t next_ = 0;
  std::vector<Job> claimed_;
  Index done_now_ = 0, done_ = 0;
  std::exception_ptr failure_;
};

void Sweep::read_rows() {
  rows_.assign(cells_.size(), {});
  for (TrialRow& row : store_.rows()) {
    auto& trials = rows_.at(static_cast<std::size_t>(row.job.cell));
    const auto trial = static_cast<std::size_t>(row.job.trial);
    if (trials.size() <= trial) trials.resize(trial + 1);
    trials[trial] = std::move(row);
  }
}

// One thread a trial, here and in the other processes; the first exception ends the round.
void Sweep::run_round() {
  done_now_ = 0;
  claimed_.clear();
  const auto guarded = [&](const auto& work) {
    try {
      work();
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  };
  std::jthread dealer;
  if (group_.size() > 1) {
    group_.call(kTrialService);
    dealer = std::jthread([&] {
      guarded([&] {
        deal_trials(
            group_,
            [&]() -> std::optional<TrialTask> {
              const std::optional<Job> job = next_job();
              return job ? std::optional(task_of(*job)) : std::nullopt;
            },
            [&](const TrialRow& row) { keep(row); });
      });
    });
  }
#pragma omp parallel
  guarded([&] { work(); });
  if (dealer.joinable()) dealer.join();
  if (failure_) std::rethrow_exception(failure_);
}

// What a device does not go with is said before there is a store.
std::vector<Cell> Sweep::cells_of(const SweepOptions& options, const DescentEngine* engine) {
  std::vector<Cell> cells = grid(options);
  if (engine != nullptr) check_together(options, cells);
  return cells;
}

// Trials of whatever cells, those with the largest networks first, as many at once as go well together.
void Sweep::run_together() {
  done_now_ = 0;
  std::vector<TrialSize> of_cell(cells_.size());
  std::vector<char> known(cells_.size(), 0);
  const auto size = [&](const Job& job) -> const TrialSize& {
    const auto cell = static_cast<std::size_t>(job.cell);
    if (known[cell] == 0) of_cell[cell] = size_of(task_of(job)), known[cell] = 1;
    return of_cell[cell];
  };
  for (const Job& job : round_.missing) size(job);
  std::ranges::stable_sort(round_.missing, std::greater(),
                           [&](const Job& job) { return size(job).shape.numbers(); });
  std::vector<TrialSize> sizes;
  for (const Job& job : round_.missing) sizes.push_back(size(job));
  for (auto first = round_.missing.begin(); first != round_.missing.end();) {
    progress_.check();
    const std::size_t count = together(sizes, {options_.fit.precision, kDiverged}, *engine_);
    const auto end = first + static_cast<std::ptrdiff_t>(count);
    std::vector<TrialTask> tasks;
    for (const Job& job : store_.claim({first, end})) tasks.push_back(task_of(job));
    compute_together(
        std::move(tasks), *engine_, [&](const TrialRow& row) { keep(row); }, progress_);
    sizes.erase(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(count));
    first = end;
  }
}

void Sweep::work() {
  Progress own = progress_.silent();
  while (true) {
    const std::optional<Job> job = next_job();
    if (!job) return;
    keep(compute(task_of(*job), own));
  }
}

void Sweep::keep(const TrialRow& row) {
  store_.save(row);
  const std::scoped_lock lock(mutex_);
  ++done_now_;
  ++done_;
  progress_.advance(1);
}

// Claims a few trials at a time.
std::optional<Job> Sweep::next_job() {
  constexpr std::size_t kClaim = 8;
  const std::scoped_lock lock(mutex_);
  while (claimed_.empty() && !failure_ && next_ < round_.missing.size()) {
    const std::size_t end = std::min(next_ + kClaim, round_.missing.size());
    const auto at = [&](std::size_t k) { return round_.missing.begin() + static_cast<std::ptrdiff_t>(k); };
    claimed_ = store_.claim({at(next_), at(end)});
    next_ = end;
  }
  if (claimed_.empty() || failure_) return std::nullopt;
  const Job job = claimed_.back();
  claimed_.pop_back();
  return job;
}

TrialTask Sweep::task_of(const Job& job) const {
  const auto began = Clock::now();
  const Cell& cell = cells_[static_cast<std::size_t>(job.cell)];
  TrialTask task{{job, cell, seed_of(cell, job.trial, options_.read.seed), {}, 0}, {}, {}, options_.certify};
  try {
    task.data = maker_.data(cell, task.row.seed);
  } catch (const DataError& error) {
    throw DataError(in_words(error.what(), task.row));
  }
  task.fit = maker_.fit(cell, task.row.seed);
  task.row.seconds = seconds_since(began);
  return task;
}

CellResult summary(const Cell& cell, const std::vector<std::optional<TrialRow>>& rows) {
  CellResult result;
  result.cell = cell;
  std::vector<double> misfits;
  for (const auto& row : rows) {
    if (!row) continue;
    const Trial& trial = row->trial;
    ++result.trials;
    result.cell.n = row->cell.n;
    result.cell.d = row->cell.d;
    result.successes += succeeded(trial.status) ? 1 : 0;
    result.diverged += trial.status == Status::diverged ? 1 : 0;
    result.certified += trial.status == Status::certified ? 1 : 0;
    result.mean_steps += static_cast<double>(trial.steps);
    const bool finite = trial.status != Status::diverged && std::isfinite(trial.relative_misfit);
    misfits.push_back(finite ? trial.relative_misfit : std::numeric_limits<double>::infinity());
  }
  result.interval = wilson(result.successes, result.trials);
  if (result.trials == 0) return result;
  const auto count = static_cast<double>(result.trials);
  result.probability = static_cast<double>(result.successes) / count;
  result.mean_steps /= count;
  std::sort(misfits.begin(), misfits.end());
  const std::size_t half = misfits.size() / 2;
  result.median_misfit = misfits.size() % 2 == 1 ? misfits[half] : (misfits[half - 1] + misfits[half]) / 2;
  return result;
}

SweepResult Sweep::result() const {
  SweepResult result;
  result.digest = maker_.digest();
  for (std::size_t c = 0; c < cells_.size(); ++c) result.cells.push_back(summary(cells_[c], rows_[c]));
  for (const CellResult& cell : result.cells) result.trials += cell.trials;
  result.before = result.trials - done_;
  result.rounds = round_.number;
  result.panels = panels(options_.axes, result.cells);
  return result;
}

SweepResult sweep(const std::string& source, const Dataset* data, const SweepOptions& options,
                  Progress& progress, const Group& group, DescentEngine* engine) {
  const auto began = Clock::now();
  const SerialBlas serial;  // trials are the threads
  Sweep work(source, data, options, progress, group, engine);
  bool complete = true, last = false;
  if (work.being_closed()) {
    work.read_rows();
  } else {
    try {
      work.run();
    } catch (const Interrupted&) {
      complete = false;
      work.read_rows();
    }
    last = complete && work.close();
  }
  SweepResult result = work.result();
  progress.finish();
  result.source = source;
  result.named = data == nullptr;
  if (engine != nullptr) result.engine = engine->name();
  result.complete = complete;
  result.last = last;
  result.conclusion = conclusion(result);
  result.seconds = seconds_since(began);
  return result;
}

}  // namespace

SweepResult sweep(const std::string& source, const SweepOptions& options, Progress& progress,
                  const Group& group) {
  return sweep(source, nullptr, options, progress, group, nullptr);
}

SweepResult sweep(const Dataset& data, const SweepOptions& options, Progress& progress, const Group& group) {
  check_dataset(data);
  return sweep(is_generated(data.name) ? "data " + data.name : data.name, &data, options, progress, group,
               nullptr);
}

SweepResult sweep(const std::string& source, const SweepOptions& options, Progress& progress,
                  DescentEngine& engine) {
  return sweep(source, nullptr, options, progress, {}, &engine);
}

Services sweep_services() { return {{kTrialService, serve_trials}}; }

SweepResult sweep(const std::string& source, const SweepOptions& options) {
  Progress silent;
  return sweep(source, options, silent);
}

}  // namespace zeroloss
