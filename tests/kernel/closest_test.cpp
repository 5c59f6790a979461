#include "kernel/closest.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernel/distances.hpp"

namespace zeroloss::internal {
namespace {

// A near pair is measured on its vectors, any other is known through rho, which a product may have rounded:
// beside a near pair at the very cut there may be one that counts as far and is closer.
TEST(Closest, SeparationCountsPairsBesideTheCut) {
  const double cut = std::sqrt(2 * kNear);
  for (const Index d : {1, 3, 50, 784, 100'000}) {
    const auto features = static_cast<double>(d);
    const auto error = static_cast<long double>(product_error(features));
    const long double unseen = std::sqrt(std::max(0.0L, 2 * static_cast<long double>(kNear) - 2 * error));
    EXPECT_LE(separation_bound({{1, 0, cut, false}}, 1, features), unseen) << d;
    EXPECT_GE(separation_bound({{1, 0, cut, false}}, 1, features), unseen - 2 * error / cut) << d;
    EXPECT_LE(separation_bound({{1, 0, cut / 2, false}}, 1, features), cut / 2) << d;
    EXPECT_LE(separation_bound({{1, 0, 2 * cut, false}}, 0, features), 2 * cut - error / (2 * cut)) << d;
  }
}

}  // namespace
}  // namespace zeroloss::internal
