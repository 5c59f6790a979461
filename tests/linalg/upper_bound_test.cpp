#include "linalg/upper_bound.hpp"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>

#include "support/floats.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss::internal {
namespace {

using Exact = boost::multiprecision::number<
    boost::multiprecision::cpp_bin_float<400, boost::multiprecision::digit_base_2, void, std::int32_t>>;

// Chains of operations on numbers of all sizes, products that leave every range included: never below the
// exact.
TEST(UpperBound, IsNeverBelowTheExactNumber) {
  Random random(3, Stream::points);
  for (int trial = 0; trial < 2000; ++trial) {
    UpperBound bound = 1.0;
    Exact exact = 1;
    for (int k = 0; k < 44; ++k) {
      // Every second trial goes below long doubles, and comes back.
      const double exponent = trial % 2 == 0 ? random.uniform() * 2140 - 1074
                              : k < 20       ? random.uniform() * 100 - 1074
                                             : random.uniform() * 20 + 1000;
      const double x = std::ldexp(1 + random.uniform(), static_cast<int>(exponent));
      const double kind = trial % 2 == 0 ? random.uniform() : 0;
      if (kind < 0.6) {
        bound = bound * x;
        exact *= Exact(x);
      } else if (kind < 0.8) {
        bound += x;
        exact += Exact(x);
      } else {
        bound = sqrt(bound);
        exact = sqrt(exact);
      }
      const auto value = static_cast<double>(bound);
      EXPECT_TRUE(std::isinf(value) || Exact(value) >= exact) << trial << " " << k;
    }
  }
}

TEST(UpperBound, IsCloseWhereNothingUnderflows) {
  UpperBound sum;
  for (int k = 0; k < 1000; ++k) sum += UpperBound(0.5) * UpperBound(0.25);
  // 2000 operations in long double, each rounded up, and one to double.
  EXPECT_LE(static_cast<double>(sum), 125 * (1 + 2000 * 0x1p-61 + 6 * test::kUnit));
  EXPECT_EQ(static_cast<double>(UpperBound(0.0) * UpperBound(1e300)), 0);
  EXPECT_TRUE(
      std::isnan(static_cast<double>(UpperBound(0.0) * UpperBound(std::numeric_limits<double>::infinity()))));
  EXPECT_EQ(static_cast<double>(min(UpperBound(2.0), UpperBound(3.0))), static_cast<double>(UpperBound(2.0)));
}

}  // namespace
}  // namespace zeroloss::internal
