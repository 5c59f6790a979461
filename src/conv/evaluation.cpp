#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "zeroloss/conv/evaluate.hpp"

namespace zeroloss {
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

ConvEvaluation evaluate(const Logits& logits, const std::vector<std::int64_t>& labels) {
  const Index n = logits.rows(), classes = logits.cols();
  if (std::ssize(labels) != n)
    throw std::invalid_argument(fmt::format("evaluate: {} outputs for {} labels", n, labels.size()));
  ConvEvaluation e;
  e.n = n;
  e.confusion.assign(static_cast<std::size_t>(classes),
                     std::vector<Index>(static_cast<std::size_t>(classes)));
  Index missed = 0;
  for (Index i = 0; i < n; ++i) {
    const Index label = labels[static_cast<std::size_t>(i)];
    if (label < 0 || label >= classes)
      throw std::invalid_argument(
          fmt::format("evaluate: label {} of image {}; expected 0 to {}", label, i, classes - 1));
    const float* outputs = logits.row(i).data();
    Index first = 0, before = 0;  // `before` counts classes that come before the label
    for (Index k = 0; k < classes; ++k) {
      const float output = rank_of(outputs[k]), own = rank_of(outputs[label]);
      if (output > rank_of(outputs[first])) first = k;
      before += output > own || (output == own && k < label);
    }
    e.predicted.push_back(first);
    ++e.confusion[static_cast<std::size_t>(label)][static_cast<std::size_t>(first)];
    e.wrong += first != label;
    missed += before >= 5;
    e.loss += cross_entropy(outputs, classes, label, static_cast<double>(rank_of(outputs[first])));
  }
  const auto count = static_cast<double>(n);
  e.loss /= count;
  e.top1_error = static_cast<double>(e.wrong) / count;
  e.top5_error = static_cast<double>(missed) / count;
  for (std::size_t k = 0; k < e.confusion.size(); ++k) {
    Index all = 0;
    for (const Index found : e.confusion[k]) all += found;
    e.per_class_error.push_back(1 - static_cast<double>(e.confusion[k][k]) / static_cast<double>(all));
  }
  return e;
}

}  // namespace zeroloss
