#include "zeroloss/data/summary.hpp"

#include <gtest/gtest.h>

namespace zeroloss {
namespace {

TEST(Summary, IsExactOnAHandCheckedTable) {
  Dataset data;
  data.X = RowMatrix{{1, 0, 5}, {0, 0, 0}, {1, 0, 5}, {-2, 0, 7}, {1, 0, 5}, {0, -0.0, 0}};
  data.task = Task::classification;
  data.class_names = {"a", "b"};
  data.y = Vector{{0, 1, 0, 1, 1, 1}};
  data.records = {10, 11, 12, 13, 14, 15};
  const Summary summary = summarize(data);
  EXPECT_EQ(summary.least, -2);
  EXPECT_EQ(summary.greatest, 7);
  EXPECT_EQ(summary.class_counts, (std::vector<Index>{2, 4}));
  EXPECT_EQ(summary.constant_columns, (std::vector<Index>{1}));
  EXPECT_EQ(summary.zero_rows, (std::vector<Index>{11, 15}));
  EXPECT_EQ(summary.duplicates, 3);
  EXPECT_EQ(summary.conflicts, 1) << "point 4 equals points 0 and 2, but is b";
}

TEST(Summary, KnowsRegressionTargets) {
  Dataset data;
  data.X = RowMatrix{{1}, {2}};
  data.task = Task::regression;
  data.y = Vector{{0.5, -3}};
  const Summary summary = summarize(data);
  EXPECT_EQ(summary.target_least, -3);
  EXPECT_EQ(summary.target_greatest, 0.5);
  EXPECT_EQ(summary.duplicates, 0);
  EXPECT_TRUE(summary.class_counts.empty());
}

}  // namespace
}  // namespace zeroloss
