#include "audit/kernel_ridge_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "base/choices.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/kernel/activation.hpp"

namespace zeroloss::internal {
namespace {

constexpr Index kChosenOn = 1000;  // points
constexpr Index kMostExact = 60'000;
constexpr Index kInducing = 4000;  // where the kernel of all does not fit
constexpr int kRidges = 19;        // from 10^-3 to 10^1.5, four a decade

std::vector<double> ridges(const PredictorOptions& options) {
  if (options.ridge) return {*options.ridge};
  std::vector<double> grid(kRidges);
  for (int k = 0; k < kRidges; ++k) grid[static_cast<std::size_t>(k)] = std::pow(10.0, -3 + 0.25 * k);
  return grid;
}

/// `count` of n, ascending.
std::vector<Index> some(Index n, Index count, std::uint64_t seed, std::uint64_t purpose) {
  std::vector<Index> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), Index{0});
  if (count >= n) return all;
  Random random(seed, Stream::shuffle, purpose);
  for (Index k = 0; k < count; ++k)
    std::swap(all[static_cast<std::size_t>(k)],
              all[static_cast<std::size_t>(k) + random.below(static_cast<std::uint64_t>(n - k))]);
  all.resize(static_cast<std::size_t>(count));
  std::sort(all.begin(), all.end());
  return all;
}

double exact_bytes(Index n) { return Packed<double>::bytes(n) + 256.0 * 8 * static_cast<double>(n); }
double inducing_bytes(Index n, Index m) {
  return 8.0 * (1.5 * static_cast<double>(m) * static_cast<double>(m) + 3 * 1024 * static_cast<double>(m) +
                static_cast<double>(n));
}

/// How many inducing points: n for all.
Index inducing_points(Index n, Index d, double feature_bytes, const PredictorOptions& options,
                      const Group& group) {
  if (options.inducing > 0) return std::min(n, options.inducing);
  const double free = static_cast<double>(available_memory_bytes()) - feature_bytes;
  const double most = kMostExact * std::cbrt(group.size());
  const double needed = group.size() > 1 ? dealt_bytes(group, n, d) : exact_bytes(n);
  if (static_cast<double>(n) <= most && needed <= free) return n;
  Index m = std::min(n, kInducing);
  while (m > 250 && inducing_bytes(n, m) > free) m /= 2;
  return m;
}

}  // namespace

void check(const PredictorOptions& options, const char* who) {
  check_choices(who, options);
  if (options.activation != "auto") activation(options.activation);
  if (options.ridge && !(*options.ridge > 0 && std::isfinite(*options.ridge)))
    throw std::invalid_argument(fmt::format("{}: ridge must be > 0; got {}", who, *options.ridge));
  if (options.inducing < 0)
    throw std::invalid_argument(
        fmt::format("{}: inducing must be >= 1, or 0 for all; got {}", who, options.inducing));
}

void check_audited(const Dataset& data, const char* who) {
  check_dataset(data);
  require_targets(data, who);
  if (data.n() < 4)
    throw DataError(
        fmt::format("{}: {} has {}; labels are judged by others, of which there must be three at least", who,
                    data.name, count(data.n(), "sample", "samples")));
  if (data.task == Task::classification && data.classes() < 2)
    throw DataError(fmt::format("{}: all labels of {} are {}", who, data.name, data.class_names.front()));
  if (data.task != Task::regression) return;
  const double least = data.y.minCoeff(), most = data.y.maxCoeff();
  if (!(most / 2 - least / 2 > 0))
    throw DataError(fmt::format("{}: all targets of {} are {}", who, data.name, data.y(0)));
  if (std::ranges::all_of(data.y, [&](double y) { return y == most || y == least; }))
    throw DataError(fmt::format("{}: the targets of {} are {} and {} only; try `task=classification`", who,
                                data.name, least, most));
}

void check_against(const Dataset& data, const Dataset& test, const char* who) {
  check_dataset(test);
  if (test.d() != data.d())
    throw DataError(fmt::format("{}: `test` {} has {} features; {} has {}", who, test.name, test.d(),
                                data.name, data.d()));
  if (test.task != Task::none && (test.task != data.task || test.class_names != data.class_names))
    throw DataError(fmt::format("{}: `test` {} is for {}{}; {} is for {}{}", who, test.name, name(test.task),
                                test.class_names.empty() ? "" : " of " + excerpt(test.class_names), data.name,
                                name(data.task),
                                data.class_names.empty() ? "" : " of " + excerpt(data.class_names)));
  if (test.task == Task::regression && !(test.y.cwiseAbs().maxCoeff() <= 1e9 * data.y.cwiseAbs().maxCoeff()))
    throw DataError(fmt::format("{}: targets of `test` {} reach {:.3g}, those of {} {:.3g}: other units?",
                                who, test.name, test.y.cwiseAbs().maxCoeff(), data.name,
                                data.y.cwiseAbs().maxCoeff()));
}

RowMatrix as_given(const Dataset& data, const Standardization& standardization,
                   const PredictorOptions& options) {
  return options.scale == "given" ? scaled(data.X, standardization) : data.X;
}

Targets::Targets(const Dataset& data) {
  if (data.task == Task::classification) {
    Y_ = Matrix::Zero(data.n(), data.classes());
    for (Index i = 0; i < data.n(); ++i) Y_(i, static_cast<Index>(data.y(i))) = 1;
    middle_ = Y_.colwise().mean();
    Y_.rowwise() -= middle_;
    return;
  }
  const double largest = data.y.cwiseAbs().maxCoeff();
  const Vector part = data.y / largest;
  const double mean = part.mean();
  const Vector rest = part.array() - mean;
  const double deviation = std::sqrt(rest.squaredNorm() / static_cast<double>(data.n()));
  Y_ = rest / deviation;
  middle_ = Eigen::RowVectorXd::Constant(1, mean * largest);
  unit_ = deviation * largest;
}

Matrix Targets::restored(const Matrix& f) const { return (unit_ * f).rowwise() + middle_; }

void KernelRidgeSetup::choose(const RowMatrix& X, const Matrix& Y, const PredictorOptions& options,
                              Progress& progress) {
  activation_ = options.activation == "auto" ? "relu" : options.activation;
  scale_ = options.scale == "auto" ? "columns" : options.scale;
  ridge_ = options.ridge.value_or(0);
  if (options.activation != "auto" && options.scale != "auto" && options.ridge) return;

  const auto rows = some(X.rows(), kChosenOn, 0, 0);
  const RowMatrix points = X(rows, Eigen::all);
  const Matrix targets = Y(rows, Eigen::all);
  const auto grid = ridges(options);
  double least = std::numeric_limits<double>::infinity();
  progress.stage("choosing a predictor");
  const auto try_it = [&](const std::string& scale, const std::string& activation) {
    progress.check();
    Progress silent = progress.silent();
    const Similarity similarity(points, scale, activation);
    const Choice choice = choose_ridge(similarities(similarity, similarity.features(points), nullptr, silent),
                                       targets, grid, silent);
    if (!(choice.error < least)) return;
    least = choice.error;
    ridge_ = choice.ridge;
    scale_ = scale;
    activation_ = activation;
  };
  const std::string first = activation_;
  try_it(scale_, first);
  if (options.scale == "auto") try_it("common", first);
  if (options.activation == "auto") try_it(scale_, "erf");
  if (!(ridge_ > 0)) ridge_ = grid.back();
}

KernelRidgeSetup::KernelRidgeSetup(const Dataset& data, const Targets& targets,
                                   const PredictorOptions& options, const Group& group, Progress& progress) {
  const RowMatrix X = as_given(data, data.standardization, options);
  const Index n = data.n();
  const Matrix& Y = targets.centred();
  choose(X, Y, options, progress);
  const double features = 24.0 * static_cast<double>(n) * static_cast<double>(data.d());
  inducing_ = inducing_points(n, data.d(), features, options, group);
  require_memory(features + (inducing_ != n     ? inducing_bytes(n, inducing_)
                             : group.size() > 1 ? dealt_bytes(group, n, data.d())
                                                : exact_bytes(n)),
                 fmt::format("audit: the predictor of {} samples", with_commas(n)),
                 "try a smaller `inducing` or `n`");
  similarity_ = std::make_unique<Similarity>(X, scale_, activation_);
  features_ = std::make_unique<Features>(similarity_->features(X));
  if (inducing_ == n) {
    auto all = group.size() > 1
                   ? factored(group, *similarity_, *features_, ridge_, nearest_, progress)
                   : factored(similarities(*similarity_, *features_, &nearest_, progress), ridge_, progress);
    predictor_ = std::make_unique<Predictor>(*similarity_, *features_, std::move(all), ridge_, Y, progress);
  } else {
    predictor_ = std::make_unique<Predictor>(*similarity_, *features_, some(n, inducing_, options.seed, 1),
                                             ridge_, Y, &nearest_, progress);
  }
}

}  // namespace zeroloss::internal
