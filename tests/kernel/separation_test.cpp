#include "zeroloss/kernel/separation.hpp"

#include <gtest/gtest.h>

#include "support/floats.hpp"
#include "support/points.hpp"
#include "zeroloss/data/dataset.hpp"

namespace zeroloss {
namespace {

using namespace test;

Coincidences coincidences_of(const RowMatrix& points, const Center& center = {}) {
  Dataset unit;
  unit.X = points;
  normalize_rows(unit, center);
  return coincidences(unit.X, points, center);
}

TEST(Separation, DistinctPointsDoNotCoincide) {
  const auto found = coincidences_of(sphere(500, 4));
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
  const auto found = coincidences_of(X);
  EXPECT_EQ(found.groups, (std::vector<std::vector<Index>>{{2, 5, 7}}));
  EXPECT_EQ(found.antipodal, (std::vector<std::pair<Index, Index>>{{1, 4}, {2, 6}}));
  EXPECT_EQ(found.distinct, (std::vector<Index>{0, 1, 2, 3, 4, 6}));
}

TEST(Separation, EqualMeansExactlyParallel) {
  RowMatrix X(6, 3);
  X.row(0) << 1, 3, -7;
  X.row(1) << 3, 9, -21;
  X.row(2) << 0.1, 0.3, -0.7;  // the doubles next to these numbers are not parallel to the first
  X.row(3) << 0.2, 0.6, -1.4;  // but they are to these
  X.row(4) << 1, 3, -7 - 0x1p-50;
  X.row(5) << -0x1p-1070, -3 * 0x1p-1070, 7 * 0x1p-1070;
  const auto found = coincidences_of(X);
  EXPECT_EQ(found.groups, (std::vector<std::vector<Index>>{{0, 1}, {2, 3}}));
  EXPECT_EQ(found.distinct, (std::vector<Index>{0, 2, 4, 5}));
  EXPECT_EQ(found.antipodal, (std::vector<std::pair<Index, Index>>{{0, 5}}));
  ASSERT_GE(found.near.size(), 2u);
  // Doubles beside each other are 2 u apart, relatively, and both rows are rounded.
  for (const Pair& pair : found.near) EXPECT_LE(pair.distance, 2 * kUnit + 2 * unit_row_error(3));
}

TEST(Separation, NumbersOfEverySizeStayApart) {
  RowMatrix X(4, 2);
  X << 1e300, 1e-300, 1e300, 2e-300, 1e300, -1e-300, 2e300, 2e-300;
  const auto found = coincidences_of(X);
  EXPECT_EQ(found.groups, (std::vector<std::vector<Index>>{{0, 3}}));
  EXPECT_EQ(found.distinct.size(), 3u);
}

// As doubles, all of them have the same unit row.
TEST(Separation, AnIdentifierColumnMakesNoTwoPointsOne) {
  RowMatrix X(40, 2);
  for (Index i = 0; i < 40; ++i) X.row(i) << 1e18, static_cast<double>(i % 20) * 0x1p-10;
  const auto found = coincidences_of(X);
  EXPECT_EQ(found.groups.size(), 20u);
  EXPECT_EQ(found.distinct.size(), 20u);
  EXPECT_FALSE(found.near.empty());
}

TEST(Separation, AfterCenteringTheCenterCounts) {
  RowMatrix X(5, 2);
  X << 1e18 + 256, 256, 1e18 + 512, 512, 1e18 - 256, -256, 1e18, 512, 1e18 + 512, 768;
  const Center center{Vector{{1e18, 0}}, Vector{{1, 0}}};
  EXPECT_TRUE(coincidences_of(X, center).groups.empty());
  RowMatrix Y(2, 2);
  Y << 1e18 + 256, 255, 1e18 + 512, 511;
  EXPECT_EQ(coincidences_of(Y, center).distinct.size(), 1u);
  const auto found = coincidences_of(X, {Vector{{1e18, 0}}, Vector{{0, 0}}});
  EXPECT_EQ(found.groups, (std::vector<std::vector<Index>>{{0, 1}}));
  EXPECT_EQ(found.antipodal, (std::vector<std::pair<Index, Index>>{{0, 2}}));
}

TEST(Separation, OneDimensionHasTwoPointsAtMost) {
  RowMatrix X(5, 1);
  X << 1, -1, 1, 1, -1;
  const auto found = coincidences_of(X);
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
    const auto found = coincidences_of(X);
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
  const auto found = coincidences_of(X);
  ASSERT_EQ(found.antipodal.size(), 3u);
  EXPECT_EQ(dependent_pairs(X, {}, found.antipodal), 1);
  EXPECT_EQ(dependent_pairs(X, {}, {{0, 3}, {1, 4}}), 0);
  EXPECT_EQ(dependent_pairs(X, {}, {}), 0);
}

TEST(Separation, DependenceIsExact) {
  RowMatrix X(6, 3);
  X << 1, 2, 3, 4, 5, 6, 5, 7, 9, -1, -2, -3, -4, -5, -6, -5, -7, -9;
  const std::vector<std::pair<Index, Index>> pairs{{0, 3}, {1, 4}, {2, 5}};
  EXPECT_EQ(dependent_pairs(X, {}, pairs), 1);
  X(2, 2) = 9 + 0x1p-49;
  X(5, 2) = -X(2, 2);
  EXPECT_EQ(dependent_pairs(X, {}, pairs), 0);
}

}  // namespace
}  // namespace zeroloss
