#include "graph/rounding.hpp"

#include <gtest/gtest.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <random>
#include <vector>

// Balls of numbers that are drawn over the whole range of doubles hold what exact arithmetic, and what
// float32, makes of any numbers within them.
namespace zeroloss::internal::graph {
namespace {

__extension__ using Quad = __float128;  // a product of two doubles is exact in it

constexpr Rounding kExactly, kSingly{.v = 0x1p-24, .lost = 0x1p-126, .largest = 0x1p127};

class Balls : public ::testing::Test {
 protected:
  double uniform(double low, double high) {
    return low + (high - low) * 0x1p-53 * static_cast<double>(bits() >> 11);
  }
  int whole(int count) { return static_cast<int>(bits() % static_cast<std::uint64_t>(count)); }

  // Of sizes from 2^low to 2^high, now and then 0.
  double number(int low, int high) {
    if (whole(20) == 0) return 0;
    const double size = std::ldexp(uniform(1, 2), low + whole(high - low));
    return whole(2) == 0 ? size : -size;
  }
  // Known exactly, to a few digits, or hardly.
  Ball ball(int low, int high) {
    const double h = number(low, high);
    constexpr double kOff[] = {0, 0x1p-50, 0x1p-20, 0.5, 3};
    return {h, std::abs(h) * kOff[whole(5)]};
  }
  // A double within the ball, often at its ends.
  double within(Ball b) {
    constexpr double kEnds[] = {-1, 1, 0};
    const double at = whole(2) == 0 ? kEnds[whole(3)] : uniform(-1, 1);
    const double x = b.h + at * b.e;
    const Quad off = Quad{x} - Quad{b.h};
    return (off < 0 ? -off : off) <= Quad{b.e} ? x : b.h;
  }
  // A float within the ball, as a runtime holds it; the ball is made wide enough for one.
  float single_within(Ball& b) {
    const auto x = static_cast<float>(within(b));
    b.e = std::max(b.e, std::abs(static_cast<double>(x) - b.h) * kUp);
    return x;
  }

  std::mt19937_64 bits{7};
};

// Whether an exact number is in a ball; the reference is itself off by 2^-111 of its size.
::testing::AssertionResult holds(Ball ball, Quad exact) {
  Quad off = exact - Quad{ball.h};
  if (off < 0) off = -off;
  const Quad size = exact < 0 ? -exact : exact;
  if (ball.e == kInfinite || off <= Quad{ball.e} + size * Quad{0x1p-111})
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << static_cast<double>(exact) << " is not within " << ball.e << " of " << ball.h;
}
::testing::AssertionResult holds_single(Ball ball, float x) {
  if (ball.e == kInfinite || std::abs(static_cast<double>(x) - ball.h) <= ball.e)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << x << " is not within " << ball.e << " of " << ball.h;
}

constexpr int kDraws = 20000;

TEST_F(Balls, SumsProductsQuotientsAndRootsOfAllSizesHoldExactOnes) {
  int known = 0;
  for (int k = 0; k < kDraws; ++k) {
    const int range = whole(3);  // all, ordinary, tiny
    const int low = range == 1 ? -30 : -1074, high = range == 0 ? 1023 : range == 1 ? 30 : -990;
    const Ball a = ball(low, high), b = ball(low, high);
    const Quad x = within(a), y = within(b);
    ASSERT_TRUE(holds(add(a, b, kExactly), x + y));
    ASSERT_TRUE(holds(subtract(a, b, kExactly), x - y));
    ASSERT_TRUE(holds(multiply(a, b, kExactly), x * y));
    const Ball quotient = divide(a, b, kExactly);
    if (quotient.e < kInfinite) ++known;
    if (y != 0) {
      ASSERT_TRUE(holds(quotient, x / y)) << a.h << ' ' << b.h;
    }
    const Ball square_root = root(a, kExactly);
    if (square_root.e == kInfinite || x < 0) continue;
    // sqrt(x) is within e of h where x is between the squares of h - e and h + e.
    const Quad least = Quad{square_root.h} - Quad{square_root.e},
               most = Quad{square_root.h} + Quad{square_root.e};
    ASSERT_TRUE(x <= most * most && (least < 0 || least * least <= x)) << a.h << " " << a.e;
  }
  EXPECT_GT(known, kDraws / 4);  // the test is of finite bounds, too
}

TEST_F(Balls, ErrorsOfExactNumbersAreThoseOfOneRounding) {
  for (int k = 0; k < 1000; ++k) {
    const double a = number(-100, 100), b = number(-100, 100);
    if (a == 0 || b == 0) continue;
    for (const Ball ball : {add({a, 0}, {b, 0}, kExactly), multiply({a, 0}, {b, 0}, kExactly),
                            divide({a, 0}, {b, 0}, kExactly), root({std::abs(a), 0}, kExactly)})
      EXPECT_LE(ball.e, 1.001 * u * std::abs(ball.h) + 4 * kTiny);
  }
}

TEST_F(Balls, HoldWhatFloat32MakesOfNumbersWithin) {
  for (int k = 0; k < kDraws; ++k) {
    const bool any = whole(2) == 0;
    Ball a = ball(any ? -149 : -10, any ? 126 : 10), b = ball(any ? -149 : -10, any ? 126 : 10);
    const float x = single_within(a), y = single_within(b);
    ASSERT_TRUE(holds_single(add(a, b, kSingly), x + y));
    ASSERT_TRUE(holds_single(subtract(a, b, kSingly), x - y));
    ASSERT_TRUE(holds_single(multiply(a, b, kSingly), x * y));
    if (y != 0) {
      ASSERT_TRUE(holds_single(divide(a, b, kSingly), x / y));
    }
    if (x >= 0) {
      ASSERT_TRUE(holds_single(root(a, kSingly), std::sqrt(x)));
    }
    // What is fused is rounded once instead of twice.
    ASSERT_TRUE(holds_single(add(multiply(a, b, kSingly), a, kSingly), std::fma(x, y, x)));
  }
}

#ifdef __SSE2__
TEST_F(Balls, HoldWhatAProcessorMakesThatTakesSubnormalNumbersForZero) {
  for (int k = 0; k < kDraws; ++k) {
    const Ball a{static_cast<double>(static_cast<float>(number(-149, whole(2) == 0 ? -110 : 60))), 0},
        b{static_cast<double>(static_cast<float>(number(-149, whole(2) == 0 ? -110 : 60))), 0};
    const volatile auto x = static_cast<float>(a.h), y = static_cast<float>(b.h);
    const Ball sum = add(a, b, kSingly), product = multiply(a, b, kSingly), quotient = divide(a, b, kSingly),
               square_root = root(a, kSingly);
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);  // results and arguments
    const float added = x + y, multiplied = x * y, divided = y == 0 ? 0 : x / y, rooted = std::sqrt(x);
    const bool zero = y == 0;
    _mm_setcsr(before);
    ASSERT_TRUE(holds_single(sum, added));
    ASSERT_TRUE(holds_single(product, multiplied)) << a.h << " * " << b.h;
    ASSERT_TRUE(quotient.e == kInfinite || (!zero && holds_single(quotient, divided))) << a.h << " / " << b.h;
    ASSERT_TRUE(square_root.e == kInfinite || holds_single(square_root, rooted)) << a.h;
  }
}
#endif

TEST_F(Balls, SumsInAnyOrderFusedOrNotHoldThoseOfFloat32) {
  for (int k = 0; k < 2000; ++k) {
    const int count = 1 + whole(40);
    std::vector<std::pair<float, float>> factors;
    Sum sum;
    for (int i = 0; i < count; ++i) {
      Ball a = ball(-30, 20), b = ball(-30, 20);
      const float x = single_within(a), y = single_within(b);
      factors.emplace_back(x, y);
      sum += multiply(a, b, kSingly);
    }
    std::shuffle(factors.begin(), factors.end(), bits);
    // Several partial sums, as vectors and threads have them.
    const int parts = 1 + whole(4);
    std::vector<float> partial(static_cast<std::size_t>(parts), 0);
    for (const auto& [x, y] : factors) {
      float& one = partial[static_cast<std::size_t>(whole(parts))];
      one = whole(2) == 0 ? std::fma(x, y, one) : one + x * y;
    }
    float all = 0;
    for (const float one : partial) all += one;
    ASSERT_TRUE(holds_single(sum.result(kSingly), all));
  }
}

TEST_F(Balls, SumsHoldExactOnesWhateverTheyCancel) {
  for (int k = 0; k < 2000; ++k) {
    Sum sum;
    Quad exact = 0;
    const int count = 1 + whole(40);
    for (int i = 0; i < count; ++i) {
      const Ball b = ball(-20, 20);
      exact += Quad{within(b)};
      sum += b;
    }
    ASSERT_TRUE(holds(sum.result(kExactly), exact));
  }
}

TEST(BallsBeyond, WhatOverflowsIsUnknown) {
  const Ball huge{0x1.8p1023, 0};
  EXPECT_EQ(add(huge, huge, kExactly).e, kInfinite);
  EXPECT_EQ(multiply(huge, {2, 0}, kExactly).e, kInfinite);
  EXPECT_EQ(divide(huge, {0.25, 0}, kExactly).e, kInfinite);
  Sum sum;
  sum += huge;
  sum += huge;
  sum += {-0x1.8p1023, 0};
  EXPECT_EQ(sum.result(kExactly).e, kInfinite);
  // Of float32 what exceeds its largest number, though double holds it.
  const Ball large{0x1p120, 0};
  EXPECT_EQ(multiply(large, large, kSingly).e, kInfinite);
  EXPECT_EQ(add({0x1p127, 0}, {0x1p127, 0}, kSingly).e, kInfinite);
  EXPECT_LT(add(large, large, kSingly).e, kInfinite);
  EXPECT_EQ(add({1, 0}, {1, 0x1p128}, kSingly).e, kInfinite);
}

TEST(BallsBeyond, NotANumberAndInfinityAreUnknown) {
  for (const double x : {std::nan(""), kInfinite, -kInfinite})
    for (const Rounding& r : {kExactly, kSingly}) {
      for (const Ball& bad : {Ball{x, 0}, Ball{1, std::abs(x)}}) {
        if (!is_masked(bad)) {
          EXPECT_FALSE(add(bad, {1, 0}, r).e < kInfinite);
          EXPECT_FALSE(add(bad, bad, r).e < kInfinite);
        }
        EXPECT_FALSE(multiply(bad, {0, 0}, r).e < kInfinite);
        EXPECT_FALSE(multiply(bad, {2, 1}, r).e < kInfinite);
        EXPECT_FALSE(divide(bad, {2, 0}, r).e < kInfinite);
        EXPECT_FALSE(root(bad, r).e < kInfinite);
      }
      EXPECT_FALSE(divide({1, 0}, {x, kInfinite}, r).e < kInfinite);
    }
}

// As masks have it: sums alone know minus infinity, and none with what may be infinite or not a number.
TEST(BallsBeyond, MinusInfinityAndWhatHasABoundIsMinusInfinity) {
  const Ball masked{-kInfinite, 0};
  for (const Rounding& r : {kExactly, kSingly}) {
    for (const Ball& other : {Ball{1, 0}, Ball{-1e30, 1e20}, Ball{0, 0}, masked}) {
      EXPECT_TRUE(is_masked(add(masked, other, r)));
      EXPECT_TRUE(is_masked(add(other, masked, r)));
    }
    for (const Ball& other : {Ball{kInfinite, 0}, Ball{std::nan(""), 0}, Ball{1, kInfinite},
                              Ball{1, std::nan("")}, Ball{-kInfinite, 1}}) {
      EXPECT_FALSE(add(masked, other, r).e < kInfinite) << other.h;
      EXPECT_FALSE(add(other, masked, r).e < kInfinite) << other.h;
    }
    EXPECT_FALSE(subtract(masked, masked, r).e < kInfinite);
  }
}

TEST(BallsBeyond, AQuotientIsUnknownWhereItsDivisorMayBeZero) {
  EXPECT_EQ(divide({1, 0}, {0, 0}, kExactly).e, kInfinite);
  EXPECT_EQ(divide({0, 0}, {1, 1}, kExactly).e, kInfinite);
  EXPECT_LT(divide({0, 0}, {1, 0.999}, kExactly).e, kInfinite);
}

TEST(BallsBeyond, ARootIsUnknownWhereItsArgumentMayBeBelowZero) {
  EXPECT_EQ(root({1, 1.001}, kExactly).e, kInfinite);
  EXPECT_EQ(root({-0x1p-1074, 0}, kExactly).e, kInfinite);
  EXPECT_EQ(root({0, 0}, kExactly).h, 0);
  EXPECT_LE(root({0, 0}, kExactly).e, 3 * kTiny);
  EXPECT_GE(root({1, 1}, kExactly).e, 1);  // of 0
}

TEST(BallsBeyond, WhatARuntimeFlushesToZeroIsWithin) {
  const Ball product = multiply({0x1p-70, 0}, {0x1p-60, 0}, kSingly);
  EXPECT_GE(product.e, 0x1p-130);
  // Twice the smallest normal number: a goal.
  EXPECT_LE(product.e, 0x1p-125);
}

}  // namespace
}  // namespace zeroloss::internal::graph
