// What is done to data before proofs look at it.
#include "network/prepare.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "support/bounds.hpp"

namespace zeroloss {
using namespace internal;
namespace {

// The lengths of these are doubles, and every operation on the way to them is exact.
TEST(Prepare, NormsOfTargetsAreRoundedUp) {
  for (const double scale : {1.0, 0x1p-600, 0x1p600}) {
    EXPECT_GE(norm_above(scale * Vector{{3, 4}}), 5 * scale);
    EXPECT_LE(norm_above(scale * Vector{{3, 4}}), 5 * scale * (1 + 2 * test::gamma_of(2 + 8)));
  }
  EXPECT_GE(norm_above(Vector::Ones(1 << 20)), 1 << 10);
  EXPECT_EQ(norm_above(Vector::Zero(3)), 0);
}

// Rows 0 and 1 are the nearest; rows 2 and 3 are within 1e-6, too.
TEST(Prepare, TheNearPairThatIsNamedHasDifferentTargetsIfThereIsOne) {
  Dataset data;
  data.X = RowMatrix{{1, 0}, {1, 0x1p-40}, {0, 1}, {0x1p-22, 1}, {-1, 1}};
  data.task = Task::regression;
  using Rows = std::pair<Index, Index>;
  const auto named = [&](const Vector& y) {
    data.y = y;
    const auto pair = nearest(unit_points(data, false, true));
    return pair ? Rows(pair->first.record, pair->second.record) : Rows(-1, -1);
  };
  EXPECT_EQ(named(Vector{{1, 1, 2, 3, 1}}), Rows(2, 3));
  EXPECT_EQ(named(Vector{{1, 2, 3, 4, 1}}), Rows(0, 1));
  EXPECT_EQ(named(Vector{{1, 1, 2, 2, 1}}), Rows(0, 1));
}

}  // namespace
}  // namespace zeroloss
