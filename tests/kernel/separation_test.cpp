#include "zeroloss/kernel/separation.hpp"

#include <gtest/gtest.h>

#include "support/points.hpp"

namespace zeroloss {
namespace {

using namespace test;

TEST(Separation, DistinctPointsDoNotCoincide) {
  const auto found = coincidences(sphere(500, 4));
  EXPECT_TRUE(found.groups.empty());
  EXPECT_TRUE(found.antipodal.empty());
  EXPECT_EQ(found.distinct.size(), 500u);
}

TEST(Separation, GroupsAntipodesAndTheRest) {
  RowMatrix X = sphere(8, 5);
  X.row(5) = X.row(2);
  X.row(7) = X.row(2);
  X.row(4) = -X.row(1);
  X.row(6) = -X.row(2);
  const auto found = coincidences(X);
  EXPECT_EQ(found.groups, (std::vector<std::vector<Index>>{{2, 5, 7}}));
  EXPECT_EQ(found.antipodal, (std::vector<std::pair<Index, Index>>{{1, 4}, {2, 6}}));
  EXPECT_EQ(found.distinct, (std::vector<Index>{0, 1, 2, 3, 4, 6}));
}

TEST(Separation, EqualMeansToEightRoundings) {
  for (const auto& [steps, equal] : {std::pair{2, true}, {200, false}}) {
    RowMatrix X = sphere(2, 3);
    X.row(1) = X.row(0);
    X(1, 0) += steps * 0x1p-53;
    EXPECT_EQ(coincidences(X).distinct.size(), equal ? 1u : 2u) << steps;
  }
}

TEST(Separation, OneDimensionHasTwoPointsAtMost) {
  RowMatrix X(5, 1);
  X << 1, -1, 1, 1, -1;
  const auto found = coincidences(X);
  EXPECT_EQ(found.distinct, (std::vector<Index>{0, 1}));
  EXPECT_EQ(found.groups, (std::vector<std::vector<Index>>{{0, 2, 3}, {1, 4}}));
  EXPECT_EQ(found.antipodal, (std::vector<std::pair<Index, Index>>{{0, 1}}));
}

TEST(Separation, AgreesWithComparingAllPairs) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed, Stream::noise);
    const RowMatrix base = sphere(12, 3, seed);
    RowMatrix X(60, 3);
    for (Index i = 0; i < 60; ++i) {
      const double sign = random.below(2) == 0 ? 1 : -1;
      X.row(i) = sign * base.row(static_cast<Index>(random.below(12)));
    }
    const auto found = coincidences(X);
    std::vector<Index> distinct;
    std::vector<std::pair<Index, Index>> antipodal;
    for (Index i = 0; i < 60; ++i) {
      bool first = true;
      for (Index j = 0; j < i; ++j) first &= X.row(i) != X.row(j);
      if (!first) continue;
      for (const Index j : distinct)
        if (X.row(i) == -X.row(j)) antipodal.emplace_back(j, i);
      distinct.push_back(i);
    }
    std::sort(antipodal.begin(), antipodal.end());
    EXPECT_EQ(found.distinct, distinct);
    EXPECT_EQ(found.antipodal, antipodal);
  }
}

TEST(Separation, DependentAntipodalPairs) {
  const RowMatrix base = sphere(3, 2);
  RowMatrix X(6, 2);
  X << base, -base;
  const auto found = coincidences(X);
  ASSERT_EQ(found.antipodal.size(), 3u);
  EXPECT_EQ(dependent_pairs(X, found.antipodal), 1);
  EXPECT_EQ(dependent_pairs(X, {{0, 3}, {1, 4}}), 0);
  EXPECT_EQ(dependent_pairs(X, {}), 0);
}

// Two partners of one point, 12 u apart, are not two pairs.
TEST(Separation, APointCountsInOnePairOnly) {
  RowMatrix X(3, 2);
  const double e = 6 * 0x1p-53;
  X << 0.6, 0.8, -0.6 - 0.8 * e, -0.8 + 0.6 * e, -0.6 + 0.8 * e, -0.8 - 0.6 * e;
  EXPECT_EQ(dependent_pairs(X, {{0, 1}, {0, 2}}), 0);
}

}  // namespace
}  // namespace zeroloss
