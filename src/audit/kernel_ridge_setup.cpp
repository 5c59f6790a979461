#include "audit/kernel_ridge_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "audit/draw.hpp"
#include "base/choices.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/kernel/activation.hpp"

namespace zeroloss::internal {
namespace {

constexpr Index kChosenOn = 1000;  // points
constexpr Index kMostExact = 60'000;
constexpr Index kInducing = 4000;       // where the kernel of all does not fit
constexpr double kInducingWork = 1e12;  // n m^2 for m of them
constexpr int kRidges = 19;             // from 10^-3 to 10^1.5, four a decade
constexpr double kMostlyOthers = 0.75;  // share of derived features in the kernel of both

std::vector<double> ridges(const PredictorOptions& options) {
  if (options.ridge) return {*options.ridge};
  std::vector<double> grid(kRidges);
  for (int k = 0; k < kRidges; ++k) grid[static_cast<std::size_t>(k)] = std::pow(10.0, -3 + 0.25 * k);
  return grid;
}

double exact_bytes(Index n) { return Packed<double>::bytes(n) + 256.0 * 8 * static_cast<double>(n); }
double inducing_bytes(Index n, Index m) {
  return 8.0 * (1.5 * static_cast<double>(m) * static_cast<double>(m) + 3 * 1024 * static_cast<double>(m) +
                static_cast<double>(n));
}

/// How many inducing points: n for all.
Index inducing_points(Index n, Index columns, double feature_bytes, const PredictorOptions& options,
                      const Group& group) {
  if (options.inducing > 0) return std::min(n, options.inducing);
  const double free = static_cast<double>(available_memory_bytes()) - feature_bytes;
  const double most = kMostExact * std::cbrt(group.size());
  const double needed = group.size() > 1 ? dealt_bytes(group, n, columns) : exact_bytes(n);
  if (static_cast<double>(n) <= most && needed <= free) return n;
  const double affordable = std::sqrt(kInducingWork / static_cast<double>(n));
  Index m = std::min({n, kInducing, std::max<Index>(250, static_cast<Index>(affordable / 50) * 50)});
  while (m > 250 && inducing_bytes(n, m) > free) m /= 2;
  return m;
}

/// Their size, if points are images that have patches; height 0: they are not.
PictureSize images_with_patches(const Dataset& data) {
  const PictureSize size = picture_of(data);
  return std::min(size.height, size.width) >= PatchFeatures::kLeast ? size : PictureSize{};
}

/// Numbers of points as the options take them: those that `standardize` made, or as they were read.
RowMatrix as_given(const Dataset& data, const Standardization& standardization,
                   const PredictorOptions& options) {
  return options.scale == "given" ? scaled(data.X, standardization) : data.X;
}

/// Features that may count beside those that are given, or in place of them.
struct Derived {
  std::unique_ptr<PatchFeatures> patches;  // null: the embedding that somebody gave
  RowMatrix some;                          // of the samples that choices are made on
};

/// Of images, and of images and mirror images; none where there are no patches with contrast.
std::vector<Derived> patches_of(const Dataset& data, const PictureSize& size, const std::vector<Index>& rows,
                                std::uint64_t seed, Progress& progress) {
  Progress silent = progress.silent();
  const RowMatrix images = data.X(rows, Eigen::all);
  std::vector<Derived> made;
  auto plain =
      std::make_unique<PatchFeatures>(data.X, size, PatchOptions{.mirror = false, .seed = seed}, silent);
  if (plain->width() == 0) return made;
  auto both = std::make_unique<PatchFeatures>(plain->filters(), true);
  for (auto* patches : {&plain, &both}) {
    RowMatrix some = (**patches)(images, silent);
    made.push_back({std::move(*patches), std::move(some)});
  }
  return made;
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

namespace {

/// Throws DataError for an embedding of other samples, or with numbers that are none.
void check_embedding(const Dataset& data, const char* who) {
  const RowMatrix& E = data.embedding;
  if (E.size() == 0) return;
  if (E.rows() != data.n())
    throw DataError(fmt::format("{}: `embedding` has {}; {} has {}", who, count(E.rows(), "row", "rows"),
                                data.name, count(data.n(), "sample", "samples")));
  for (Index i = 0; i < E.rows(); ++i)
    for (Index k = 0; k < E.cols(); ++k)
      if (!std::isfinite(E(i, k)))
        throw DataError(fmt::format("{}: `embedding` has {} in row {}, column {}", who, E(i, k), i, k));
}

}  // namespace

void check_audited(const Dataset& data, const char* who) {
  check_dataset(data);
  check_embedding(data, who);
  require_targets(data, who);
  if (data.n() < 4)
    throw DataError(
        fmt::format("{}: {} has {}; labels are judged by others, of which there must be three at least", who,
                    data.name, count(data.n(), "sample", "samples")));
  if (data.task == Task::classification && data.classes() < 2)
    throw DataError(
        fmt::format("{}: all labels of {} are {}; name another `target`, or `shuffle` before `n` keeps some",
                    who, data.name, data.class_names.front()));
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
  check_embedding(test, who);
  if (test.embedding.cols() != data.embedding.cols())
    throw DataError(fmt::format("{}: `test` {} has an embedding of {}, {} one of {}", who, test.name,
                                count(test.embedding.cols(), "number", "numbers"), data.name,
                                count(data.embedding.cols(), "number", "numbers")));
  const PictureSize size = picture_of(data), its = picture_of(test);
  if (size.height > 0 && its.height > 0 && size != its)
    throw DataError(fmt::format("{}: images of `test` {} are laid out otherwise than those of {}", who,
                                test.name, data.name));
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

Inputs KernelRidgeSetup::inputs(const Dataset& data, Progress& progress) const {
  Inputs points;
  if (share_ < 1) points.X = as_given(data, standardization_, options_);
  if (patches_) points.derived = (*patches_)(data.X, progress);
  if (embedding_ > 0) points.derived = data.embedding;
  return points;
}

void KernelRidgeSetup::choose(const Dataset& data, const Matrix& Y, Progress& progress) {
  const std::string& how = options_.image_features;
  const PictureSize size = images_with_patches(data);
  if (size.height == 0 && how != "auto")
    throw DataError(fmt::format(
        "`image_features={0}` is for images of {1} x {1} pixels and more, and {2} has none that is known as "
        "such",
        how, PatchFeatures::kLeast, data.name));
  if (size.height > 0) image_features_ = "pixels";
  activation_ = options_.activation == "auto" ? "relu" : options_.activation;
  scale_ = options_.scale == "auto" ? "columns" : options_.scale;
  ridge_ = options_.ridge.value_or(0);
  const bool patches = size.height > 0 && how != "pixels", embedding = data.embedding.size() > 0;
  if (!patches && !embedding && options_.activation != "auto" && options_.scale != "auto" && options_.ridge)
    return;

  const auto rows = draw_rows(data.n(), kChosenOn, 0, Drawn::choice);
  const bool own = how != "patches",
             alone = how != "both";  // whether given features count, and may without others
  Inputs points;
  if (own) points.X = as_given(data, standardization_, options_)(rows, Eigen::all);
  progress.stage("choosing a predictor");
  std::vector<Derived> others;
  if (patches) others = patches_of(data, size, rows, options_.seed, progress);
  if (patches && others.empty() && !(own && alone))
    throw DataError(fmt::format("`image_features={}`: images of {} have no contrast", how, data.name));
  if (embedding) others.push_back({nullptr, data.embedding(rows, Eigen::all)});

  const Matrix targets = Y(rows, Eigen::all);
  const auto grid = ridges(options_);
  double least = std::numeric_limits<double>::infinity();
  Derived* chosen = nullptr;
  const auto try_it = [&](const std::string& scale, const std::string& activation, Derived* other,
                          double share) {
    progress.check();
    Progress silent = progress.silent();
    if (other != nullptr) points.derived = other->some;
    const Similarity similarity(points, scale, activation, share);
    const Choice choice = choose_ridge(similarities(similarity, similarity.features(points), nullptr, silent),
                                       targets, grid, silent);
    if (!(choice.error < least)) return choice.error;
    least = choice.error;
    ridge_ = choice.ridge;
    scale_ = share == 1 ? "columns" : scale;
    activation_ = activation;
    chosen = other;
    share_ = share;
    return choice.error;
  };
  const std::string first = activation_;
  if (own && (alone || others.empty())) {
    try_it(scale_, first, nullptr, 0);
    if (options_.scale == "auto") try_it("common", first, nullptr, 0);
    if (options_.activation == "auto") try_it(scale_, "erf", nullptr, 0);
  }
  const std::string of_own = scale_;
  Derived* best = nullptr;
  double least_of_others = std::numeric_limits<double>::infinity();
  for (Derived& other : others)
    if (const double error = try_it(of_own, first, &other, alone ? 1 : kMostlyOthers);
        error < least_of_others) {
      least_of_others = error;
      best = &other;
    }
  if (best != nullptr && own && alone) try_it(of_own, first, best, kMostlyOthers);
  if (best != nullptr && !alone && options_.scale == "auto") try_it("common", first, best, kMostlyOthers);
  if (chosen != nullptr && options_.activation == "auto") try_it(scale_, "erf", chosen, share_);
  if (chosen != nullptr && chosen->patches) {
    patches_ = std::move(chosen->patches);
    mirrored_ = patches_->mirror();
    image_features_ = share_ < 1 ? "both" : "patches";
  } else if (chosen != nullptr) {
    embedding_ = data.embedding.cols();
    if (share_ == 1) image_features_.clear();
  }
  if (!(ridge_ > 0)) ridge_ = grid.back();
}

KernelRidgeSetup::KernelRidgeSetup(const Dataset& data, const Matrix& Y, const PredictorOptions& options,
                                   const Group& group, Progress& progress)
    : options_(options), standardization_(data.standardization) {
  const Index n = data.n();
  choose(data, Y, progress);
  const Index derived = patches_ ? patches_->width() + 1 : embedding_ > 0 ? embedding_ + 1 : 0;
  const Index columns = (share_ < 1 ? 3 * data.d() + 1 : 0) + derived;
  const double features =
      8.0 * static_cast<double>(n) * static_cast<double>(columns + 2 * derived + 4 * Y.cols());
  inducing_ = inducing_points(n, columns, features, options, group);
  require_memory(features + (inducing_ != n     ? inducing_bytes(n, inducing_)
                             : group.size() > 1 ? dealt_bytes(group, n, columns)
                                                : exact_bytes(n)),
                 fmt::format("audit: the predictor of {} samples", with_commas(n)),
                 "try a smaller `inducing` or `n`");
  {
    const Inputs points = inputs(data, progress);
    similarity_ = std::make_unique<Similarity>(points, scale_, activation_, share_);
    features_ = std::make_unique<Features>(similarity_->features(points));
  }
  if (inducing_ == n) {
    auto all = group.size() > 1
                   ? factored(group, *similarity_, *features_, ridge_, nearest_, progress)
                   : factored(similarities(*similarity_, *features_, &nearest_, progress), ridge_, progress);
    predictor_ = std::make_unique<Predictor>(*similarity_, *features_, std::move(all), ridge_, Y, progress);
  } else {
    predictor_ = std::make_unique<Predictor>(*similarity_, *features_,
                                             draw_rows(n, inducing_, options.seed, Drawn::inducing), ridge_,
                                             Y, &nearest_, progress);
  }
}

}  // namespace zeroloss::internal
