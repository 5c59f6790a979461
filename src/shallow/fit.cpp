#include "zeroloss/shallow/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "shallow/prepare.hpp"
#include "shallow/train.hpp"
#include "zeroloss/core/error.hpp"
#include "zeroloss/core/memory.hpp"
#include "zeroloss/core/text.hpp"
#include "zeroloss/kernel/separation.hpp"

namespace zeroloss {
namespace {

void require(bool met, const std::string& what) {
  if (!met) throw std::invalid_argument("fit: " + what);
}

void one_of(const char* option, const std::string& value, std::initializer_list<const char*> allowed) {
  const bool known = std::find(allowed.begin(), allowed.end(), value) != allowed.end();
  require(known, fmt::format("{} must be one of {}; got \"{}\"", option, fmt::join(allowed, ", "), value));
}

// Optimizers that have no form in Gram space.
bool weights_only(const FitOptions& o) {
  return o.optimizer == "sgd" || o.optimizer == "flow" || o.optimizer == "output_layer";
}

void check(const FitOptions& o) {
  one_of("scaling", o.scaling, {"ntk", "balanced"});
  one_of("optimizer", o.optimizer, {"gd", "sgd", "gauss_newton", "flow", "output_layer"});
  one_of("precision", o.precision, {"float64", "float32"});
  one_of("stop", o.stop, {"tolerance", "certificate"});
  one_of("space", o.space, {"auto", "weights", "gram"});
  require(o.width >= 1, fmt::format("width must be >= 1; got {}", o.width));
  require(o.max_steps >= 0, fmt::format("max_steps must be >= 0; got {}", o.max_steps));
  require(o.tolerance >= 0 && std::isfinite(o.tolerance),
          fmt::format("tolerance must be > 0, or 0 for the default; got {}", o.tolerance));
  require(o.certify_every >= 0, fmt::format("certify_every must be >= 0; got {}", o.certify_every));
  require(o.record_every >= 0, fmt::format("record_every must be >= 0; got {}", o.record_every));
  require(o.flow_tolerance > 0 && o.flow_tolerance < 1,
          fmt::format("flow_tolerance must be in (0, 1); got {}", o.flow_tolerance));
  require(o.failure_probability > 0 && o.failure_probability < 1,
          fmt::format("failure_probability must be in (0, 1); got {}", o.failure_probability));
  std::error_code error;
  const auto folder = std::filesystem::absolute(o.checkpoint, error).parent_path();
  require(o.checkpoint.empty() || std::filesystem::is_directory(folder, error),
          fmt::format("checkpoint: there is no folder {}", folder.string()));
  require(o.checkpoint_every_s > 0,
          fmt::format("checkpoint_every_s must be > 0; got {}", o.checkpoint_every_s));

  const bool descent = o.optimizer == "gd" || o.optimizer == "sgd";
  if (o.step != "auto" && o.step != "theorem") {
    char* end = nullptr;
    const double step = std::strtod(o.step.c_str(), &end);
    require(!o.step.empty() && *end == '\0' && step > 0 && std::isfinite(step),
            fmt::format("step must be a number > 0, auto or theorem; got \"{}\"", o.step));
  }
  require(descent || o.step == "auto",
          fmt::format("step is for gd and sgd; {} chooses its own: leave step out", o.optimizer));
  require(descent || o.precision == "float64",
          fmt::format("precision float32 is for gd and sgd; {} needs float64", o.optimizer));
  require(o.batch >= 1, fmt::format("batch must be >= 1; got {}", o.batch));
  require(o.optimizer == "sgd" || o.batch == 1,
          fmt::format("batch is for sgd; {} uses all points in every step", o.optimizer));
  require(!o.polish || (o.activation == "relu" && o.optimizer != "output_layer"),
          "polish is for relu with trained hidden weights");
  require(!weights_only(o) || o.space != "gram", fmt::format("space gram is not for {}", o.optimizer));
}

// Equal points with equal labels become one; groups with different labels are reported and left as they are.
void merge_duplicates(Dataset& data, FitResult& result) {
  const auto found = coincidences(data.X);
  std::vector<Index> rows = found.distinct;
  for (const auto& group : found.groups) {
    const auto same = [&](Index i) { return data.y(i) == data.y(group.front()); };
    if (std::all_of(group.begin(), group.end(), same)) continue;
    std::vector<Sample> samples;
    for (const Index i : group) samples.push_back(sample(data, i));
    result.conflicts.push_back(std::move(samples));
    for (std::size_t k = 1; k < group.size(); ++k)  // a row a label
      if (std::none_of(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(k),
                       [&](Index i) { return data.y(i) == data.y(group[k]); }))
        rows.push_back(group[k]);
  }
  std::sort(rows.begin(), rows.end());
  keep(data, rows);
}

Space space_of(const FitOptions& options, Index n, Index d) {
  if (weights_only(options) || options.space == "weights") return Space::weights;
  return options.space == "gram" ? Space::gram : cheaper_space(n, d, options.activation == "relu");
}

void require_training_memory(const FitOptions& options, Space space, Index n, Index d, Index outputs) {
  const auto N = static_cast<double>(n), D = static_cast<double>(d), m = static_cast<double>(options.width);
  const double bytes = options.precision == "float32" ? 4 : 8;
  const double moving = space == Space::gram ? N * N + 2 * N * m + m * D : N * m + 2 * m * D;
  const double kept = 8 * m * D * static_cast<double>(outputs + 2);
  const double saved =
      options.checkpoint.empty() ? 0 : (8 + bytes) * (space == Space::gram ? 2 * N * m : N * m + m * D);
  require_memory(bytes * (moving + 2 * N * D) + kept + saved,
                 fmt::format("a network of width {}", options.width),
                 "try a smaller width or fewer points (n)");
}

// What decides the course of a run: a checkpoint of another one is refused.
Checkpoint::Identity identity(const FitOptions& o, const RowMatrix& X, const Matrix& Y) {
  const auto text = [](const auto& value) { return fmt::format("{}", value); };
  return {{"data (SHA-256 of the points and targets)", points_digest(X, Y)},
          {"activation", o.activation},
          {"width", text(o.width)},
          {"scaling", o.scaling},
          {"optimizer", o.optimizer},
          {"step", o.step},
          {"batch", text(o.batch)},
          {"precision", o.precision},
          {"max_steps", text(o.max_steps)},
          {"tolerance", text(o.tolerance)},
          {"stop", o.stop},
          {"certify_every", text(o.certify_every)},
          {"record_every", text(o.record_every)},
          {"flow_tolerance", text(o.flow_tolerance)},
          {"space", o.space},
          {"polish", text(o.polish)},
          {"failure_probability", text(o.failure_probability)},
          {"seed", text(o.seed)}};
}

// All outputs' certificates as one: what holds of every output.
Certificate combine(const std::vector<OutputResult>& outputs) {
  Certificate all = outputs.front().certificate;
  for (const OutputResult& output : outputs) {
    const Certificate& c = output.certificate;
    if (!c.holds || !all.holds)
      all.kind = "none";
    else if (c.kind != "descent")
      all.kind = c.kind;
    if (all.holds && !c.holds) all.reason = c.reason;
    if (c.holds && all.holds && all.reason.empty()) all.reason = c.reason;
    all.holds = all.holds && c.holds;
    all.radius = std::max(all.radius, c.radius);
    all.margin = std::min(all.margin, c.margin);
    all.misfit = std::hypot(&c == &outputs.front().certificate ? 0 : all.misfit, c.misfit) * (1 + 0x1p-50);
    all.lambda_min = std::min(all.lambda_min, c.lambda_min);
    all.norm_J = all.norm_J > 0 && c.norm_J > 0 ? std::max(all.norm_J, c.norm_J) : 0;
    all.step = std::min(all.step, c.step);
    all.rate = std::min(all.rate, c.rate);
    all.kinks = std::max(all.kinks, c.kinks);
    all.kink_bound = std::max(all.kink_bound, c.kink_bound);
  }
  if (!all.holds) all.radius = all.step = all.rate = 0;
  if (all.kind != "descent") all.step = all.rate = 0;
  return all;
}

void conclude(FitResult& result, std::size_t expected) {
  const std::string misfit = decimal(result.relative_misfit, 2, Rounding::up);
  const bool several = expected > 1;
  const auto failed = std::find_if(result.outputs.begin(), result.outputs.end(),
                                   [&](const OutputResult& o) { return o.status == result.status; });
  const std::string whose = several && failed != result.outputs.end() && !failed->label.empty()
                                ? fmt::format(" (class {})", failed->label)
                                : "";
  switch (result.status) {
    case Status::certified:
      result.conclusion =
          fmt::format("zero loss: certified at step {}{}: {} within {} of these weights", result.steps,
                      several ? fmt::format(" for all {} classes", expected) : "",
                      several ? "exact solutions lie" : "an exact solution lies",
                      decimal(result.certificate.radius, 2, Rounding::up));
      break;
    case Status::converged:
      result.conclusion = fmt::format("converged to misfit {} in {} steps, not certified{}: {}", misfit,
                                      result.steps, whose, failed->certificate.reason);
      break;
    case Status::budget_spent:
      result.conclusion = fmt::format("not converged{}: misfit {}: {}", whose, misfit, failed->reason);
      break;
    case Status::diverged:
      result.conclusion =
          fmt::format("diverged after {} steps{}{}: {}", failed->steps,
                      failed->step > 0 ? fmt::format(" of {:.4g}", failed->step) : "", whose, failed->reason);
      break;
    case Status::interrupted:
      result.conclusion =
          fmt::format("interrupted at step {}{}, misfit {}", result.outputs.back().steps,
                      several ? fmt::format(" of output {} of {}", result.outputs.size(), expected) : "",
                      decimal(result.outputs.back().relative_misfit, 2, Rounding::up));
  }
  if (!result.conflicts.empty())
    result.conclusion = "zero loss is impossible: " + conflict_text(result.conflicts) +
                        more_conflicts(result.conflicts) + "\n" + result.conclusion;
}

// What the outputs amount to together.
void gather(RunState state, const Run& run, const Matrix& Y, FitResult& result) {
  if (state.current) state.finished.push_back(std::move(*state.current));
  double squares = 0;
  bool polished = true;
  Network with_kinks = result.network;
  result.status = Status::certified;
  result.certified_at = 0;
  for (std::size_t c = 0; c < state.finished.size(); ++c) {
    OutputState& output = state.finished[c];
    OutputResult& r = output.result;
    const double norm = Y.col(static_cast<Index>(c)).norm();
    squares += std::pow(r.relative_misfit * (norm > 0 ? norm : 1), 2);
    result.status = std::max(result.status, r.status);
    result.steps = std::max(result.steps, r.steps);
    if (!r.curve.empty()) {
      result.max_distance = std::max(result.max_distance, r.curve.back().max_distance);
      result.flipped_fraction = std::max(result.flipped_fraction, r.curve.back().flipped_fraction);
    }
    if (!r.certified_at || !result.certified_at)
      result.certified_at.reset();
    else
      result.certified_at = std::max(*result.certified_at, *r.certified_at);
    result.network.outputs.push_back(std::move(output.network));
    polished = polished && output.polished.v.size() > 0;
    with_kinks.outputs.push_back(std::move(output.polished));
    result.outputs.push_back(std::move(r));
  }
  const double norm_Y = Y.leftCols(static_cast<Index>(state.finished.size())).norm();
  result.relative_misfit = std::sqrt(squares) / (norm_Y > 0 ? norm_Y : 1);
  result.step = result.outputs.front().step;
  result.tolerance = run.options.tolerance;
  result.certificate = combine(result.outputs);
  if (polished) result.polished = std::move(with_kinks);
  result.forecast_missing = run.options.optimizer == "gd" || run.options.optimizer == "flow"
                                ? run.theory.missing
                                : "for gd and flow only";
}

}  // namespace

std::string name(Status status) {
  constexpr std::array names{"certified", "converged", "budget_spent", "diverged", "interrupted"};
  return names[static_cast<std::size_t>(status)];
}

FitResult fit(const Dataset& data, const FitOptions& given, Progress& progress) {
  const auto began = std::chrono::steady_clock::now();
  check(given);
  const Activation& phi = activation(given.activation);
  if (data.task == Task::none)
    throw DataError(fmt::format("{}: fit needs targets; none were found (target)", data.name));
  FitOptions options = given;
  if (options.tolerance == 0)
    options.tolerance = options.precision == "float32"        ? 1e-4
                        : options.optimizer == "gauss_newton" ? 1e-9
                                                              : 1e-6;

  FitResult result;
  result.n = data.n();
  result.d = data.d();
  result.network = {options.activation, options.scaling, options.precision, {}, {},
                    options.normalize,  data.task,       data.class_names};
  progress.stage("preparing the points");
  Dataset points_used = unit_points(data, options.center, options.normalize, &result.network.mean);
  merge_duplicates(points_used, result);
  const RowMatrix& X = points_used.X;
  const Matrix Y = targets(points_used);
  result.n_distinct = X.rows();
  for (Index c = 0; c < Y.cols(); ++c)
    if (const double norm = norm_above(Y.col(c)); norm != 0 && !(norm > 1e-140 && norm < 1e140))
      throw DataError(
          fmt::format("{}: targets of norm {:.3g} are out of scale: divide them by it", data.name, norm));
  require(options.batch <= X.rows(), fmt::format("batch {} exceeds {} points", options.batch, X.rows()));

  const Space space = space_of(options, X.rows(), X.cols());
  result.space = space == Space::gram ? "gram" : "weights";
  require_training_memory(options, space, X.rows(), X.cols(), Y.cols());
  Run run{options, phi, X, Y, space, point_theory(X, phi, options, progress)};
  if (options.precision == "float32")
    run.points32 = points<float>(X, space);
  else
    run.points64 = points<double>(X, space);

  Checkpoint checkpoint(options.checkpoint, options.checkpoint_every_s, identity(options, X, Y));
  RunState state = options.resume ? checkpoint.load() : RunState{};
  for (auto c = static_cast<Index>(state.finished.size()); c < Y.cols(); ++c) {
    const std::string label = Y.cols() > 1 ? data.class_names[static_cast<std::size_t>(c)] : "";
    train_output(run, c, label, state, checkpoint, progress);
    if (state.current) break;  // interrupted
  }
  gather(std::move(state), run, Y, result);
  conclude(result, static_cast<std::size_t>(Y.cols()));
  progress.finish();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return result;
}

FitResult fit(const Dataset& data, const FitOptions& options) {
  Progress silent;
  return fit(data, options, silent);
}

}  // namespace zeroloss
