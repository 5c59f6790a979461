#include "audit/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "audit/noise_model.hpp"
#include "zeroloss/core/text.hpp"

namespace zeroloss::internal {
namespace {

void sort_issues(AuditResult& result) {
  std::sort(result.issues.begin(), result.issues.end(), [](const LabelIssue& a, const LabelIssue& b) {
    return a.score != b.score ? a.score < b.score : a.position < b.position;
  });
}

std::vector<Index> labels_of(const Dataset& data) {
  std::vector<Index> labels;
  for (Index i = 0; i < data.n(); ++i) labels.push_back(static_cast<Index>(data.y(i)));
  return labels;
}

NoiseModel model_of(const Dataset& train, const Predicted& own, const Dataset& asked, const Matrix& F) {
  const NoiseModel model = noise_model(own.f, labels_of(train));
  return &train == &asked ? model : noise_model(F, labels_of(asked), &model);
}

void judge_classes(const Dataset& train, const Predicted& own, const Dataset& asked, const Matrix& F,
                   const AuditOptions& options, AuditResult& result) {
  const auto& names = train.class_names;
  const Index c = F.cols();
  const std::vector<Index> labels = labels_of(asked);
  const NoiseModel model = model_of(train, own, asked, F);
  Index wrong = 0;
  for (Index i = 0; i < asked.n(); ++i) {
    Index winner = 0;
    F.row(i).maxCoeff(&winner);
    const Index label = labels[static_cast<std::size_t>(i)];
    const double score = std::clamp(model.right(i), 0.0, 1.0);
    const double confidence = std::clamp(model.labels(i, winner), 0.0, 1.0);
    result.scores.push_back(score);
    result.confidence.push_back(confidence);
    result.predicted.push_back(names[static_cast<std::size_t>(winner)]);
    if (winner == label) continue;
    ++wrong;
    if (score < 0.5)
      result.issues.push_back({sample(asked, i), i, result.predicted.back(), score, confidence});
  }
  result.error = static_cast<double>(wrong) / static_cast<double>(asked.n());

  const NoiseEstimates estimates =
      estimate_noise(F, labels, model, options.bootstrap, options.predictor.seed);
  result.noise_rate = estimates.rate;
  for (Index j = 0; j < c; ++j)
    for (Index k = 0; k < c; ++k)
      if (const Estimate& e = estimates.samples[static_cast<std::size_t>(j * c + k)];
          j != k && e.value >= 0.5)
        result.confusions.push_back(
            {names[static_cast<std::size_t>(k)], names[static_cast<std::size_t>(j)], e});
  std::stable_sort(result.confusions.begin(), result.confusions.end(),
                   [](const Confusion& a, const Confusion& b) { return a.samples.value > b.samples.value; });
}

void judge_numbers(const Dataset& train, const Predicted& own, const Dataset& asked,
                   const Predicted& predicted, const AuditOptions& options, AuditResult& result) {
  const Matrix& F = predicted.f;
  const double unit = train.y.cwiseAbs().maxCoeff();
  const Vector residuals = asked.y / unit - F.col(0) / unit, &precision = predicted.precision;
  const double range = train.y.maxCoeff() / unit - train.y.minCoeff() / unit;
  ResidualModel model = residual_model(train.y / unit - own.f.col(0) / unit, own.precision, range);
  if (&train != &asked) model = residual_model(residuals, precision, range, model.scale);
  for (Index i = 0; i < asked.n(); ++i) {
    result.scores.push_back(std::clamp(model.right(i), 0.0, 1.0));
    result.predicted.push_back(fmt::format("{:.6g}", F(i, 0)));
    if (model.right(i) < 0.5)
      result.issues.push_back({sample(asked, i), i, result.predicted.back(), result.scores.back()});
  }
  result.noise_rate =
      estimate_rate(residuals, precision, range, model, options.bootstrap, options.predictor.seed);
  const Vector part = train.y / unit;
  const double deviation =
      std::sqrt((part.array() - part.mean()).square().mean() * static_cast<double>(asked.n()));
  result.error = residuals.norm() / deviation;
}

}  // namespace

Index class_of(const Dataset& data, const std::string& name) {
  return std::find(data.class_names.begin(), data.class_names.end(), name) - data.class_names.begin();
}

void judge(const Dataset& train, const Predicted& own, const Dataset& asked, const Predicted& predicted,
           const AuditOptions& options, AuditResult& result) {
  if (train.task == Task::classification)
    judge_classes(train, own, asked, predicted.f, options, result);
  else
    judge_numbers(train, own, asked, predicted, options, result);
  sort_issues(result);
}

}  // namespace zeroloss::internal
