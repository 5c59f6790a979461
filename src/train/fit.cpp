#include "zeroloss/train/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "base/clock.hpp"
#include "network/prepare.hpp"
#include "train/deep/fit.hpp"
#include "train/distributed_outputs.hpp"
#include "train/fit_options.hpp"
#include "train/kernel/dealt_tiles.hpp"
#include "train/kernel/fit.hpp"
#include "train/loop.hpp"
#include "train/optimizers/optimizers.hpp"
#include "train/run_summary.hpp"
#include "train/start.hpp"
#include "train/unseen.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss {
using namespace internal;
namespace {

Space space_of(const CheckedOptions& options, Index n, Index d) {
  if (!options.method->facts.gram || options.engine != nullptr || trains_small(options, n, d) ||
      options.space == "weights")
    return Space::weights;
  return options.space == "gram" ? Space::gram
                                 : cheaper_space(n, d, activation(options.activation).rectifier());
}

/// Random features of twice as many units as points tell these apart with something to spare.
Index width_of(const CheckedOptions& options, Index n_distinct) {
  if (options.width > 0) return options.width;
  if (!options.start.drawn()) return options.start.width();
  return options.method->facts.hidden ? kUsualWidth : std::max(kUsualWidth, 2 * n_distinct);
}

void require_training_memory(const CheckedOptions& options, Space space, Index n, Index d, Index outputs) {
  const auto N = static_cast<double>(n), D = static_cast<double>(d), m = static_cast<double>(options.width);
  const double bytes = options.precision == "float32" ? 4 : 8;
  const double moving = options.engine != nullptr ? 0  // where that is
                        : space == Space::gram    ? N * N + 2 * N * m + m * D
                                                  : N * m + 2 * m * D;
  const double kept = 8 * m * D * static_cast<double>(outputs + 2);
  const double saved =
      options.checkpoint.empty() ? 0 : (8 + bytes) * (space == Space::gram ? 2 * N * m : N * m + m * D);
  const double signs = options.engine != nullptr ? 0 : N * m;
  const double more = options.method->bytes == nullptr ? 0 : options.method->bytes(options, n, d, space);
  require_memory(bytes * (moving + 2 * N * D) + signs + kept + saved + more,
                 fmt::format("a network of width {}", options.width),
                 "try a smaller width or fewer points (n)");
}

// What the outputs amount to together.
void gather(RunState state, const Run& run, const Matrix& Y, FitResult& result) {
  if (state.current) state.finished.push_back(std::move(*state.current));
  Network with_kinks = result.network;
  with_kinks.precision = "float64";  // kinks at zero would not survive rounding
  for (OutputState& output : state.finished) {
    result.network.outputs.push_back(std::move(output.network));
    result.witnesses.push_back(std::move(output.polished));
  }
  with_kinks.outputs = result.witnesses;
  gather_results(state, Y, false, result);
  result.tolerance = run.options.tolerance;
  if (std::ranges::all_of(result.witnesses, [](const TwoLayer& w) { return w.v.size() > 0; }))
    result.polished = std::move(with_kinks);
  if (run.test && result.status != Status::interrupted) result.test = test_result(*run.test, result.network);
  result.forecast_missing = run.options.method->facts.forecast
                                ? run.theory.missing
                                : fmt::format("for {} only", optimizers_with(&OptimizerFacts::forecast));
}

}  // namespace

std::string name(Status status) {
  constexpr std::array names{"certified", "converged", "solved",     "budget_spent",
                             "stalled",   "diverged",  "interrupted"};
  return names[static_cast<std::size_t>(status)];
}

FitResult internal::fit_checked(const Dataset& data, CheckedOptions options, Progress& progress) {
  if (options.method->facts.infinite) return fit_kernel(data, options, progress);
  if (options.deep()) return fit_deep(data, std::move(options), progress);
  const auto began = std::chrono::steady_clock::now();
  const Activation& phi = activation(options.activation);
  progress.stage("preparing the points");
  TrainingSet set = training_set(data, options.center, options.normalize);
  check_start(options, data, set);
  if (const double largest = set.Y.cwiseAbs().maxCoeff();
      options.precision == "float32" && largest != 0 && !(largest > 1e-15 && largest < 1e15))
    throw DataError(fmt::format("{}: targets of up to {:.3g} are out of scale for float32: divide them by it",
                                data.name, largest));
  const RowMatrix& X = set.points.X;
  const Matrix& Y = set.Y;

  FitResult result;
  result.n = data.n();
  result.d = data.d();
  result.n_distinct = set.n_distinct;
  result.width = options.width = width_of(options, set.n_distinct);
  result.conflicts = std::move(set.conflicts);
  result.nearest = std::move(set.nearest);
  result.network = {options.activation, options.scaling,  options.precision,   {},           set.center, true,
                    data.task,          data.class_names, set.standardization, data.encoding};
  if (options.batch > X.rows())
    throw std::invalid_argument(fmt::format("fit: batch {} exceeds {} points", options.batch, X.rows()));

  const Space space = space_of(options, X.rows(), X.cols());
  result.space = space == Space::gram ? "gram" : "weights";
  if (options.engine != nullptr) result.engine = options.engine->name();
  require_training_memory(options, space, X.rows(), X.cols(), Y.cols());
  auto test = test_points(options.test, data, result.network);
  const CertifiedPoints distinct(set.X(), set.counts, unit_row_error(X.cols()), options.engine);
  expect_of_unseen(set, options, options.method->facts.hidden ? sigma(phi) : sigma_features(phi), result,
                   progress);
  PointTheory theory = point_theory(set, phi, options, progress);
  Run run{options, phi, set, distinct, X, Y, space, std::move(theory), std::move(test)};
  if (options.precision == "float32")
    run.points32 = points<float>(X, space);
  else
    run.points64 = points<double>(X, space);

  Checkpoint checkpoint(options.checkpoint, options.checkpoint_every_s,
                        run_identity(options, data.X, set.standardization, Y));
  RunState state = options.resume ? checkpoint.load() : RunState{};
  Outputs here;
  Outputs& outputs = options.outputs != nullptr ? *options.outputs : here;
  outputs.train(Y.cols(), state, checkpoint, [&](Index c, RunState& into, Checkpoint& kept) {
    const std::string label = Y.cols() > 1 ? data.class_names[static_cast<std::size_t>(c)] : "";
    train_output(run, c, label, into, kept, progress);
  });
  gather(std::move(state), run, Y, result);
  conclude(result, static_cast<std::size_t>(Y.cols()));
  progress.finish();
  result.seconds = seconds_since(began);
  return result;
}

FitResult fit(const Dataset& data, const FitOptions& options, Progress& progress, const Group& group) {
  CheckedOptions settings = checked(options);
  if (settings.method->facts.infinite) return fit_kernel(data, settings, progress, group);
  if (group.size() == 1 || !can_be_dealt(options)) return fit_checked(data, settings, progress);
  const std::unique_ptr<Outputs> outputs = dealt_outputs(group, data, options);
  settings.outputs = outputs.get();
  return fit_checked(data, settings, progress);
}

FitResult fit(const Dataset& data, const FitOptions& options, Progress& progress,
              const TangentEngine& engine) {
  CheckedOptions settings = checked(options);
  settings.engine = &engine;
  check_engine(settings);
  return fit_checked(data, settings, progress);
}

Services fit_services() { return {{kOutputService, serve_outputs}, {kTilesService, serve_tiles}}; }

FitResult fit(const Dataset& data, const FitOptions& options) {
  Progress silent;
  return fit(data, options, silent);
}

}  // namespace zeroloss
