#include "conv/evaluation.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace zeroloss {
using namespace internal;
namespace {

/// An output for comparisons.
float rank_of(float output) { return std::isnan(output) ? -std::numeric_limits<float>::infinity() : output; }

/// -log of the softmax of `label`.
double cross_entropy(const float* outputs, Index classes, Index label, double largest) {
  double sum = 0;
  for (Index k = 0; k < classes; ++k) sum += std::exp(static_cast<double>(outputs[k]) - largest);
  return std::log(sum) + largest - static_cast<double>(outputs[label]);
}

}  // namespace

internal::EvaluationSums::EvaluationSums(Index classes)
    : classes_(classes), numbers_(static_cast<std::size_t>(2 + classes * classes)) {}

void internal::EvaluationSums::add(const Logits& logits, std::span<const std::int64_t> labels) {
  const Index n = logits.rows();
  if (std::ssize(labels) != n)
    throw std::invalid_argument(fmt::format("evaluate: {} outputs for {} labels", n, labels.size()));
  for (Index i = 0; i < n; ++i) {
    const Index label = labels[static_cast<std::size_t>(i)];
    if (label < 0 || label >= classes_)
      throw std::invalid_argument(
          fmt::format("evaluate: label {} of image {}; expected 0 to {}", label, i, classes_ - 1));
    const float* outputs = logits.row(i).data();
    Index first = 0, before = 0;  // `before` counts classes that come before the label
    for (Index k = 0; k < classes_; ++k) {
      const float output = rank_of(outputs[k]), own = rank_of(outputs[label]);
      if (output > rank_of(outputs[first])) first = k;
      before += output > own || (output == own && k < label);
    }
    numbers_[0] += cross_entropy(outputs, classes_, label, static_cast<double>(rank_of(outputs[first])));
    numbers_[1] += before >= 5;
    confused(label, first) += 1;
  }
}

ConvEvaluation internal::EvaluationSums::evaluation() const {
  ConvEvaluation e;
  const auto classes = static_cast<std::size_t>(classes_);
  e.confusion.assign(classes, std::vector<Index>(classes));
  for (std::size_t label = 0; label < classes; ++label) {
    double all = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      const double count = numbers_[2 + label * classes + k];
      e.confusion[label][k] = static_cast<Index>(count);
      all += count;
    }
    const Index right = e.confusion[label][label];
    e.n += static_cast<Index>(all);
    e.wrong += static_cast<Index>(all) - right;
    e.per_class_error.push_back(1 - static_cast<double>(right) / all);
  }
  const auto n = static_cast<double>(e.n);
  e.loss = numbers_[0] / n;
  e.top1_error = static_cast<double>(e.wrong) / n;
  e.top5_error = numbers_[1] / n;
  return e;
}

ConvEvaluation evaluate(const Logits& logits, const std::vector<std::int64_t>& labels) {
  EvaluationSums sums(logits.cols());
  sums.add(logits, labels);
  return sums.evaluation();
}

}  // namespace zeroloss
