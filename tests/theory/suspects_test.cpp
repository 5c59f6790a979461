#include "zeroloss/theory/suspects.hpp"

#include <gtest/gtest.h>

#include "support/bounds.hpp"

namespace zeroloss {
namespace {

Dataset targets(const Vector& y) {
  Dataset data;
  data.X = RowMatrix::Ones(y.size(), 1);
  data.y = y;
  data.task = Task::regression;
  for (Index i = 0; i < y.size(); ++i) data.records.push_back(10 * i);
  return data;
}

// Residuals 0, 1, -1, 2, -2, 30: median 1 (upper of the two middle ones), absolute deviations 1, 0, 2, 1, 3,
// 29, their median 2: the threshold is 6 x 1.4826 x 2 = 17.79.
TEST(Suspects, RegressionByMedianAbsoluteDeviation) {
  Vector y(6);
  y << 0, 1, -1, 2, -2, 30;
  const auto verdict = judge_labels(targets(y), y, Matrix::Zero(6, 1));
  ASSERT_EQ(verdict.suspects.size(), 1u);
  EXPECT_EQ(verdict.suspects[0].sample.record, 50);
  EXPECT_EQ(verdict.suspects[0].sample.label, "30");
  EXPECT_EQ(verdict.suspects[0].predicted, "0");
  EXPECT_NEAR(verdict.suspects[0].score, 30 / (6 * 1.4826 * 2), test::gamma_of(8));
  EXPECT_NEAR(verdict.error, y.norm() / (y.array() - 5).matrix().norm(),
              verdict.error * test::gamma_of(2 * (6 + 4)));
}

// The last point is far from the others: leave-one-out cannot know its target, and its precision says so.
TEST(Suspects, ARegressionsResidualsCountByTheirPrecision) {
  Vector y(6), precision = Vector::Ones(6);
  y << 0, 1, -1, 2, -2, 30;
  precision(5) = 0.01;
  EXPECT_TRUE(judge_labels(targets(y), y, Matrix::Zero(6, 1), precision).suspects.empty());
}

TEST(Suspects, ConstantTargetsHaveNoSpread) {
  const Vector y = Vector::Constant(49, 0.1);
  const auto verdict = judge_labels(targets(y), y, Matrix::Constant(49, 1, 0.2));
  EXPECT_NEAR(verdict.error, 0.7, test::gamma_of(49 + 4));  // ||residual|| = 0.1 sqrt(49)
  EXPECT_TRUE(verdict.suspects.empty());
}

TEST(Suspects, ClassesByTheLargestOutputWorstFirst) {
  Dataset data = targets(Vector::Zero(4));
  data.task = Task::classification;
  data.class_names = {"a", "b", "c"};
  data.y << 0, 1, 2, 0;
  Matrix predicted(4, 3);
  predicted << 1, 0, 0, 0.5, 0.25, 0, 1, 0, -1, 0, 0, 0.1;
  const auto verdict = judge_labels(data, {}, predicted);
  ASSERT_EQ(verdict.suspects.size(), 3u);
  EXPECT_EQ(verdict.suspects[0].sample.record, 20);
  EXPECT_EQ(verdict.suspects[0].predicted, "a");
  EXPECT_EQ(verdict.suspects[0].score, 2);
  EXPECT_EQ(verdict.suspects[1].score, 0.25);
  EXPECT_EQ(verdict.suspects[2].predicted, "c");
  EXPECT_EQ(verdict.error, 0.75);
}

TEST(Suspects, TwoClassesByTheSign) {
  Dataset data = targets(Vector::Zero(3));
  data.task = Task::classification;
  data.class_names = {"no", "yes"};
  data.y << 0, 1, 1;
  Matrix predicted(3, 1);
  predicted << -2, 0, -0.5;
  const auto verdict = judge_labels(data, {}, predicted);
  ASSERT_EQ(verdict.suspects.size(), 1u);
  EXPECT_EQ(verdict.suspects[0].predicted, "no");
  EXPECT_EQ(verdict.suspects[0].score, 1);
}

}  // namespace
}  // namespace zeroloss
