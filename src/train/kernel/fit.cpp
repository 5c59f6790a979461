#include "train/kernel/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>

#include "base/clock.hpp"
#include "base/even_choice.hpp"
#include "network/prepare.hpp"
#include "train/kernel/dealt_tiles.hpp"
#include "train/optimizers/optimizers.hpp"
#include "train/test_points.hpp"
#include "train/unseen.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/data/summary.hpp"
#include "zeroloss/kernel/conjugate_gradients.hpp"
#include "zeroloss/kernel/gram.hpp"
#include "zeroloss/kernel/ridge.hpp"
#include "zeroloss/kernel/tail.hpp"

namespace zeroloss::internal {
namespace {

// What Python's NTKClassifier chooses from, and how.
constexpr std::array kChosenFrom{"relu", "erf", "sigmoid"};  // from the roughest kernel to the smoothest
constexpr std::array kRidges{1e-6, 3.16e-6, 1e-5, 3.16e-5, 1e-4, 3.16e-4, 1e-3, 3.16e-3,
                             1e-2, 3.16e-2, 0.1,  0.316,   1.0,  3.16,    10.0};
constexpr Index kChosenOn = 2000;      // of more points, so many evenly spaced ones decide the activation
constexpr Index kMostExact = 20'000;   // 1.5 n^2 doubles are 4.8 GB
constexpr Index kChosenBeyond = 4000;  // beyond that so many decide activation and ridge

struct Choice {
  std::string activation;
  double ridge = 0;  // in units of k(1)
  double loss = 0;   // root mean square of the residuals of points left out
  RidgeSolution solution;
};

std::vector<double> ridges_of(const FitOptions& o) {
  if (o.ridge == "auto") return {kRidges.begin(), kRidges.end()};
  return {parsed_number(o.ridge).value_or(-1)};
}

// The best ridge of one activation; none where no system is numerically positive definite.
std::optional<Choice> best_ridge(const std::string& name, const RowMatrix& X, const Matrix& Y,
                                 const std::vector<double>& ridges, Progress& progress) {
  const Kernel kernel = sigma(activation(name));
  const double scale = kernel(1);
  std::optional<Choice> best;
  const auto take = [&](double ridge, std::optional<RidgeSolution> solution) {
    if (!solution) return;
    const double loss = std::sqrt(solution->residuals.squaredNorm() / static_cast<double>(Y.size()));
    if (!best || loss < best->loss) best = Choice{name, ridge, loss, std::move(*solution)};
  };
  Gram<double> gram = zeroloss::gram(X, kernel, progress);
  if (ridges.size() == 1) {
    progress.stage("ridge");
    take(ridges[0], solve_ridge(std::move(gram.K), {}, ridges[0] * scale, Y, progress));
    return best;
  }
  const RidgePath path(gram.K, {}, progress);
  progress.stage("leave-one-out");
  for (const double ridge : ridges) {
    progress.check();
    take(ridge, path.solve(ridge * scale, Y));
  }
  return best;
}

// The activation and ridge whose residuals of left-out points have the least mean square.
std::optional<Choice> chosen(const FitOptions& o, const RowMatrix& X, const Matrix& Y, Index most,
                             Progress& progress) {
  const std::vector<double> ridges = ridges_of(o);
  const auto best_of = [&](const RowMatrix& points, const Matrix& targets) {
    std::optional<Choice> best;
    for (const char* name : kChosenFrom)
      if (auto found = best_ridge(name, points, targets, ridges, progress);
          found && (!best || found->loss < best->loss))
        best = std::move(found);
    return best;
  };
  if (o.activation != "auto") return best_ridge(o.activation, X, Y, ridges, progress);
  if (X.rows() <= most) return best_of(X, Y);
  const std::vector<Index> some = drawn_choice(X.rows(), most);
  const auto among = best_of(X(some, Eigen::all), Y(some, Eigen::all));
  return among ? best_ridge(among->activation, X, Y, ridges, progress) : among;
}

struct Solved {
  Matrix coefficients;
  Matrix error;   // KernelNetwork::solution_error
  Matrix fitted;  // K C, what the points themselves get, less the offset
  KernelSolution how;
};

// With ridge 0 the bound needs one of lambda_min, which a pass over the points may prove.
double lambda_min_for(const Choice& choice, const RowMatrix& X, Progress& progress) {
  if (choice.ridge > 0 || X.rows() < 2) return 0;
  return tail_bound(X, activation(choice.activation), {}, 2, progress).lambda_min;
}

void keep_bound(const PredictorBound& bound, double ridge, const Matrix& Y, Solved& solved) {
  solved.fitted = Y - ridge * solved.coefficients - bound.residual;  // what the residual is of
  solved.how.residual = bound.relative;
  solved.how.error = bound.error.diagonal().maxCoeff();
  solved.how.verified = bound.verified && bound.error.allFinite();
  if (solved.how.verified) solved.error = bound.error;
}

Solved by_factor(Choice& choice, const RowMatrix& X, const Matrix& Y, Progress& progress) {
  const Kernel kernel = sigma(activation(choice.activation));
  Solved solved{std::move(choice.solution.coefficients), {}, {}, {.solver = "exact"}};
  const double lambda_min = lambda_min_for(choice, X, progress);
  progress.stage("what rounding did");
  const double ridge = choice.ridge * kernel(1);
  keep_bound(predictor_bound({X, {}, ridge, Y, solved.coefficients, lambda_min}, kernel, progress), ridge, Y,
             solved);
  return solved;
}

Solved by_conjugate_gradients(const Choice& choice, const RowMatrix& X, const Matrix& Y, const Group& group,
                              Progress& progress) {
  const Kernel kernel = sigma(activation(choice.activation));
  const auto tiles = dealt_tiles(group, X, kernel);
  ConjugateGradientsOptions options{.ridge = choice.ridge * kernel(1), .tiles = tiles.get()};
  options.lambda_min = lambda_min_for(choice, X, progress);
  ConjugateGradientsSolution found = solve_conjugate_gradients(X, kernel, {}, Y, options, progress);
  Solved solved{std::move(found.coefficients), {}, {}, {.solver = "cg", .steps = found.steps}};
  keep_bound(found.bound, options.ridge, Y, solved);
  return solved;
}

double relative(const Vector& r, const Vector& y) { return r.norm() / (y.norm() > 0 ? y.norm() : 1); }

// Of one output: before the equations are solved, and after.
OutputResult output_of(const std::string& label, const Vector& y, const Vector& f, double offset,
                       double tolerance) {
  OutputResult output;
  output.label = label;
  output.steps = 1;
  output.relative_misfit = relative(f - y, y);
  output.status = output.relative_misfit <= tolerance ? Status::converged : Status::solved;
  output.curve.push_back({.relative_misfit = relative(y.array() - offset, y)});
  output.curve.push_back({.step = 1, .time = 1, .relative_misfit = output.relative_misfit});
  return output;
}

std::optional<double> output_error(const TestPoints& test, const Matrix& f, Index c) {
  const Vector r = f.col(c) - test.Y.col(c);
  if (!r.allFinite()) return {};
  const auto n = static_cast<double>(r.size());
  if (!test.classes) return r.norm() / std::sqrt(n);
  return static_cast<double>(((f.col(c).array() >= 0) != (test.Y.col(c).array() > 0)).count()) / n;
}

std::string advice_without_weights(std::string_view option) {
  return fmt::format("{} is for networks with weights, and that of kernel is infinitely wide: leave `{}` out",
                     option, option);
}

}  // namespace

void check_kernel_ridge(const CheckedOptions& o) {
  if (!o.method->facts.infinite) {
    require_fit(o.ridge == "auto", fmt::format("ridge is for {}; {} has none: leave it out",
                                               optimizers_with(&OptimizerFacts::infinite), o.optimizer));
    require_fit(o.solver == "auto", fmt::format("solver is for {}; {} takes steps of its own: leave it out",
                                                optimizers_with(&OptimizerFacts::infinite), o.optimizer));
    return;
  }
  static const std::set<std::string_view> taken{
      "optimizer",          "activation", "ridge", "solver",     "center",
      "normalize",          "seed",       "test",  "checkpoint", "tolerance",
      "checkpoint_every_s", "resume"};
  fields_beside(static_cast<const FitOptions&>(o), FitOptions{},
                [](const Field& field, const auto& value, const auto& usual) {
                  require_fit(taken.contains(field.name) || value == usual,
                              advice_without_weights(field.name));
                });
  require_fit(o.tolerance == 0 || o.tolerance == o.method->facts.tolerance,
              advice_without_weights("tolerance"));
  const auto ridge = parsed_number(o.ridge);
  require_fit(o.ridge == "auto" || (ridge && *ridge >= 0 && std::isfinite(*ridge)),
              fmt::format("ridge must be a number >= 0, or auto; got \"{}\"", o.ridge));
}

FitResult fit_kernel(const Dataset& data, const CheckedOptions& options, Progress& progress,
                     const Group& group) {
  const auto began = std::chrono::steady_clock::now();
  progress.stage("preparing the points");
  if (data.stored)
    throw std::invalid_argument(
        "fit: points that stay in their file are for networks with weights, and that of kernel is infinitely "
        "wide");
  if (options.solver == "exact" && data.n() > kMostExact)
    throw std::invalid_argument(fmt::format(
        "fit: a factor of the kernel is for up to {} points, and {} has {}: `solver=cg`, or `n={}`",
        with_commas(kMostExact), data.name, with_commas(data.n()), kMostExact));
  const bool by_steps = options.solver == "cg" || data.n() > kMostExact;
  TrainingSet set = training_set(data, options.center, options.normalize);
  const Matrix& Y = set.Y;
  FitResult result;
  result.n = data.n();
  result.d = data.d();
  result.n_distinct = set.n_distinct;
  result.conflicts = std::move(set.conflicts);
  result.nearest = std::move(set.nearest);
  result.steps = 1;
  result.tolerance = options.tolerance;
  result.forecast_missing = fmt::format("for {} only", optimizers_with(&OptimizerFacts::forecast));
  Network like;  // for the checks of the test points alone
  like.center = set.center;
  like.standardization = set.standardization;
  const auto test = test_points(options.test, data, like);

  const Vector offset =
      data.task == Task::regression ? Vector(Y.colwise().mean().transpose()) : Vector(Vector::Zero(Y.cols()));
  const Matrix centred = Y.rowwise() - offset.transpose();
  std::optional<Choice> choice;
  Dataset looked_at;  // the points that the choice was made on, where these are not all
  Matrix their_Y;
  if (by_steps && data.n() > kChosenBeyond) {
    const std::vector<Index> some = drawn_choice(data.n(), kChosenBeyond);
    looked_at.X = set.points.X(some, Eigen::all);
    looked_at.y = set.points.y(some);
    looked_at.task = set.points.task;
    looked_at.class_names = set.points.class_names;
    their_Y = Y(some, Eigen::all);
    choice = chosen(options, looked_at.X, centred(some, Eigen::all), kChosenBeyond, progress);
  } else {
    choice = chosen(options, set.points.X, centred, by_steps ? kChosenBeyond : kChosenOn, progress);
  }
  if (!choice) {
    result.status = Status::stalled;
    result.outputs.emplace_back().status = Status::stalled;
    result.outputs.back().reason =
        "the kernel of these points is numerically singular: take a larger `ridge`";
    result.outputs.back().curve.push_back({.relative_misfit = relative(centred.reshaped(), Y.reshaped())});
    result.relative_misfit = result.outputs.back().relative_misfit =
        result.outputs.back().curve.back().relative_misfit;
    result.conclusion = fmt::format("not solved: {}", result.outputs.back().reason);
    result.seconds = seconds_since(began);
    return result;
  }
  const bool some = their_Y.size() > 0;
  result.leave_one_out_error =
      left_out_error(some ? looked_at : set.points, some ? their_Y : Y, choice->solution.residuals);
  result.guessing_error = guessing_error(some ? looked_at : set.points);
  Solved solved = by_steps ? by_conjugate_gradients(*choice, set.points.X, centred, group, progress)
                           : by_factor(*choice, set.points.X, centred, progress);
  solved.how.chosen_on = some ? looked_at.n() : data.n();
  if (options.activation == "auto")
    solved.how.activation_chosen_on = std::min(solved.how.chosen_on, by_steps ? kChosenBeyond : kChosenOn);
  solved.how.ridge_at_end =
      options.ridge == "auto" && (choice->ridge <= kRidges.front() || choice->ridge >= kRidges.back());
  KernelNetwork network{.activation = choice->activation,
                        .ridge = choice->ridge,
                        .points = std::move(set.points.X),
                        .coefficients = std::move(solved.coefficients),
                        .offset = offset,
                        .solution_error = std::move(solved.error),
                        .center = set.center,
                        .task = data.task,
                        .class_names = data.class_names,
                        .standardization = set.standardization,
                        .encoding = data.encoding};
  const Matrix f = solved.fitted.rowwise() + offset.transpose();
  if (test) progress.stage("asking the test points");
  const Matrix at_test = test ? outputs(network, test->X, progress) : Matrix();
  result.relative_misfit = relative((f - Y).reshaped(), Y.reshaped());
  const Matrix before = test ? Matrix(offset.transpose().replicate(test->X.rows(), 1)) : Matrix();
  result.status = Status::certified;
  for (Index c = 0; c < Y.cols(); ++c) {
    const std::string label = Y.cols() > 1 ? data.class_names[static_cast<std::size_t>(c)] : "";
    OutputResult output = output_of(label, Y.col(c), f.col(c), offset(c), result.tolerance);
    result.status = std::max(result.status, output.status);
    if (test) {
      output.curve.front().test_error = output_error(*test, before, c);
      output.curve.back().test_error = output_error(*test, at_test, c);
    }
    result.outputs.push_back(std::move(output));
  }
  if (test) result.test = judged(*test, at_test);
  const std::string among =
      some ? fmt::format(" on {} of the points", with_commas(solved.how.chosen_on)) : std::string();
  result.conclusion = fmt::format(
      "{}: kernel ridge regression of the infinitely wide {} network, ridge {:.3g}{}{}", name(result.status),
      network.activation, network.ridge, options.ridge == "auto" ? " by leave-one-out" + among : "",
      by_steps ? ", by conjugate gradients" : "");
  result.kernel = std::move(network);
  result.solution = solved.how;
  progress.finish();
  result.seconds = seconds_since(began);
  for (OutputResult& output : result.outputs) output.seconds = result.seconds;
  return result;
}

}  // namespace zeroloss::internal
