#include "conv/evaluation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/bounds.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/conv/evaluate.hpp"

namespace zeroloss {
using namespace internal;
namespace {

TEST(Evaluation, IsRightOnFourImages) {
  Logits logits(4, 3);
  logits << 1, 2, 3,  // class 2
      5, 5, 1,        // equal: the first
      0, 9, 0,        // class 1
      std::numeric_limits<float>::quiet_NaN(), -1, -2;
  const ConvEvaluation e = evaluate(logits, {2, 1, 1, 1});
  EXPECT_EQ(e.wrong, 1);
  EXPECT_DOUBLE_EQ(e.top1_error, 0.25);
  EXPECT_DOUBLE_EQ(e.top5_error, 0);
  EXPECT_EQ(e.confusion, (std::vector<std::vector<Index>>{{0, 0, 0}, {1, 2, 0}, {0, 0, 1}}));
  EXPECT_TRUE(std::isnan(e.per_class_error[0]));
  EXPECT_DOUBLE_EQ(e.per_class_error[1], 1.0 / 3);
  EXPECT_DOUBLE_EQ(e.per_class_error[2], 0);
}

// Processes count their images and add up: only the order of the loss's sum differs.
TEST(Evaluation, AddsUp) {
  const Logits logits = Logits::Random(31, 7);
  std::vector<std::int64_t> labels;
  for (Index i = 0; i < 31; ++i) labels.push_back(i % 6);
  const ConvEvaluation whole = evaluate(logits, labels);
  EvaluationSums first(7), second(7);
  first.add(logits.topRows(10), std::span(labels).first(10));
  second.add(logits.middleRows(10, 5), std::span(labels).subspan(10, 5));
  second.add(logits.bottomRows(16), std::span(labels).last(16));
  for (std::size_t k = 0; k < first.numbers().size(); ++k) first.numbers()[k] += second.numbers()[k];
  const ConvEvaluation sum = first.evaluation();
  EXPECT_EQ(sum.n, 31);
  EXPECT_EQ(sum.confusion, whole.confusion);
  EXPECT_EQ(sum.top1_error, whole.top1_error);
  EXPECT_EQ(sum.top5_error, whole.top5_error);
  EXPECT_NEAR(sum.loss, whole.loss, 31 * std::ldexp(whole.loss, -53));
  EXPECT_TRUE(std::isnan(sum.per_class_error[6]));
  EXPECT_THROW(first.add(logits, labels = {0}), std::invalid_argument);
}

// Sorting each row says the same.
TEST(Evaluation, AgreesWithSorting) {
  const Index n = 200, classes = 12;
  Random random(5, Stream::points);
  Logits logits(n, classes);
  std::vector<std::int64_t> labels;
  double loss = 0, size = 0;
  Index first = 0, fifth = 0;
  for (Index i = 0; i < n; ++i) {
    std::vector<std::pair<float, Index>> order;
    double sum = 0;
    for (Index k = 0; k < classes; ++k) {
      logits(i, k) = static_cast<float>(random.normal());
      order.emplace_back(-logits(i, k), k);
      sum += std::exp(static_cast<double>(logits(i, k)));
    }
    labels.push_back(static_cast<std::int64_t>(random.below(12)));
    const auto logit = static_cast<double>(logits(i, labels.back()));
    loss += std::log(sum) - logit;
    size += std::abs(std::log(sum)) + std::abs(logit) + 1;  // what sum is off by is absolute in its logarithm
    std::ranges::sort(order);
    const auto at = std::ranges::find(order, labels.back(), [](const auto& pair) { return pair.second; });
    first += at != order.begin();
    fifth += at - order.begin() >= 5;
  }
  const ConvEvaluation e = evaluate(logits, labels);
  EXPECT_EQ(e.wrong, first);
  EXPECT_DOUBLE_EQ(e.top5_error, static_cast<double>(fifth) / static_cast<double>(n));
  const auto terms = static_cast<double>(n + classes);
  EXPECT_NEAR(e.loss, loss / static_cast<double>(n),
              test::gamma_of(2 * terms + 16) * size / static_cast<double>(n));
}

TEST(Evaluation, KeepsLargeOutputsFinite) {
  Logits logits(1, 2);
  logits << 1e30F, -1e30F;
  EXPECT_DOUBLE_EQ(evaluate(logits, {0}).loss, 0);
  EXPECT_TRUE(std::isfinite(evaluate(logits, {1}).loss));
}

TEST(Evaluation, RefusesOtherSizes) {
  EXPECT_MESSAGE(std::invalid_argument, evaluate(Logits::Zero(2, 3), {0}), "2 outputs for 1 labels");
  EXPECT_MESSAGE(std::invalid_argument, evaluate(Logits::Zero(1, 3), {3}), "label 3 of image 0");
  EXPECT_MESSAGE(std::invalid_argument, evaluate(Logits::Zero(1, 3), {-1}), "expected 0 to 2");
}

}  // namespace
}  // namespace zeroloss
