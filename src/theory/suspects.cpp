#include "zeroloss/theory/suspects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linalg/median.hpp"

namespace zeroloss {
using namespace internal;
namespace {

LabelVerdict judge_classes(const Dataset& data, const Matrix& predicted) {
  LabelVerdict verdict;
  const bool two = predicted.cols() == 1;  // one output: its sign decides
  for (Index i = 0; i < data.n(); ++i) {
    const auto label = static_cast<Index>(data.y(i));
    Index winner = 0;
    if (two)
      winner = predicted(i, 0) >= 0 ? 1 : 0;
    else
      predicted.row(i).maxCoeff(&winner);
    if (winner == label) continue;
    const double score = two ? 2 * std::abs(predicted(i, 0)) : predicted(i, winner) - predicted(i, label);
    verdict.suspects.push_back({sample(data, i), data.class_names[static_cast<std::size_t>(winner)], score});
  }
  verdict.error = static_cast<double>(verdict.suspects.size()) / static_cast<double>(data.n());
  return verdict;
}

LabelVerdict judge_numbers(const Dataset& data, const Matrix& Y, const Matrix& predicted,
                           const Vector& precision) {
  LabelVerdict verdict;
  Vector residual = Y.col(0) - predicted.col(0);
  const double error = residual.norm();
  if (precision.size() > 0) residual.array() *= precision.array().sqrt();
  std::vector<double> deviation(residual.data(), residual.data() + residual.size());
  const double center = median(deviation);
  for (double& value : deviation) value = std::abs(value - center);
  const double threshold = 6 * 1.4826 * median(deviation);
  for (Index i = 0; i < data.n(); ++i)
    if (threshold > 0 && std::abs(residual(i)) > threshold)
      verdict.suspects.push_back(
          {sample(data, i), fmt::format("{:.6g}", predicted(i, 0)), std::abs(residual(i)) / threshold});
  const bool constant = Y.maxCoeff() == Y.minCoeff();
  verdict.error = error / (constant ? 1 : (Y.array() - Y.mean()).matrix().norm());
  return verdict;
}

}  // namespace

LabelVerdict judge_labels(const Dataset& data, const Matrix& Y, const Matrix& predicted,
                          const Vector& precision) {
  auto verdict = data.task == Task::classification ? judge_classes(data, predicted)
                                                   : judge_numbers(data, Y, predicted, precision);
  std::sort(verdict.suspects.begin(), verdict.suspects.end(), [](const Suspect& a, const Suspect& b) {
    return a.score != b.score ? a.score > b.score : a.sample.record < b.sample.record;
  });
  return verdict;
}

}  // namespace zeroloss
