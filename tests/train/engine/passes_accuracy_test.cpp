#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "support/targets.hpp"
#include "train/engine/passes.hpp"
#include "train/engine/phis.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss {
using namespace internal;
namespace {

using test::fuses;
using test::kAll;
using test::on_each_target;
using Real = long double;

// What the headers of src/kernel/activations state.
activations::Ulps stated(Phi phi, bool derivative) {
  return describe(phi, [&](auto description) {
    return derivative ? decltype(description)::dphi_ulps : decltype(description)::phi_ulps;
  });
}
std::optional<double> dphi_zero(Phi phi) {
  return describe(phi, [](auto description) -> std::optional<double> {
    if constexpr (requires { description.kDphiZero; }) return decltype(description)::kDphiZero;
    return {};
  });
}

constexpr Real kRoot = 0.707106781186547524400844362104849039L;  // 1/sqrt 2
constexpr Real kDensity = 0.398942280401432677939946059934381868L;
constexpr Real kErfSlope = 1.128379167095512573896158903121545172L;

Real gaussian(Real z, Real scale) {
  const Real square = z * z;
  return std::exp(-scale * square) * (1 - scale * std::fma(z, z, -square));
}

// x = -z/sqrt 2 has a rounding error, put back to first order; of kRoot's own, 1.9e-20, only where that is
// it.
Real normal_cdf(Real z) {
  if (z < -50) return 0;
  const Real x = -z * kRoot, rest = std::fma(-z, kRoot, -x) - (LDBL_MANT_DIG == 64 ? z * 1.895e-20L : 0);
  return 0.5L * (std::erfc(x) - rest * kErfSlope * std::exp(-x * x));
}

Real sigmoid(Real z) {
  const Real e = std::exp(-std::abs(z));
  return (z < 0 ? e : 1) / (1 + e);
}

Real dsigmoid(Real z) {
  const Real e = std::exp(-std::abs(z));
  return e / ((1 + e) * (1 + e));
}

Real exact(Phi phi, bool derivative, Real z) {
  switch (phi) {
    case Phi::relu:
      return derivative ? z >= 0 : std::max<Real>(z, 0);
    case Phi::softplus:
      return derivative ? sigmoid(z) : std::max<Real>(z, 0) + std::log1p(std::exp(-std::abs(z)));
    case Phi::tanh:
      return derivative ? 4 * dsigmoid(2 * z) : std::tanh(z);
    case Phi::sigmoid:
      return derivative ? dsigmoid(z) : sigmoid(z);
    case Phi::erf:
      return derivative ? kErfSlope * gaussian(z, 1) : std::erf(z);
    case Phi::gelu:
      return derivative ? normal_cdf(z) + z * kDensity * gaussian(z, 0.5) : z * normal_cdf(z);
    case Phi::silu:
      return derivative ? sigmoid(z) * (1 + z * sigmoid(-z)) : z * sigmoid(z);
    case Phi::quadratic:
      return derivative ? z : z * z / 2;
    case Phi::leaky_relu:
      return derivative ? (z < 0 ? 0.01 : 1) : z < 0 ? 0.01 * z : z;
    case Phi::sin:
      return derivative ? std::cos(z) : std::sin(z);
  }
  throw std::logic_error("no reference");
}

// |computed - value|, the exact one at z, over the error that is allowed: `ulps` of the value, 4 units where
// it is denormal, 2 u within 1/2 of a zero of the function.
template <class T>
Real excess(std::optional<double> zero, T z, Real value, T computed, double ulps) {
  using Limits = std::numeric_limits<T>;
  if (std::abs(value) > Limits::max()) return std::isinf(computed) && (computed > 0) == (value > 0) ? 0 : 1e9;
  const Real error = std::abs(computed - value);
  if (error == 0) return 0;
  if (zero && std::abs(z - *zero) < 0.5) return error / Limits::epsilon();
  if (std::abs(value) < Limits::min()) return error / (4 * Limits::denorm_min());
  int exponent;
  std::frexp(value, &exponent);
  return error / std::ldexp(Real{1}, exponent - Limits::digits) / std::max(ulps, 1e-9);
}

template <class T>
void expect_accuracy_of_map(Phi phi, bool derivative, const std::vector<T>& points,
                            const std::vector<Real>& expected, double activations::Ulps::*bound) {
  std::vector<T> values = points;
  passes::map(phi, derivative, values.data(), static_cast<Index>(values.size()));
  Real worst = 0;
  T place = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Real ratio = excess(derivative ? dphi_zero(phi) : std::nullopt, points[i], expected[i], values[i],
                              stated(phi, derivative).*bound);
    if (!(ratio <= worst)) worst = ratio, place = points[i];
  }
  EXPECT_LE(worst, 1) << test::name(phi) << (derivative ? "'" : "") << " at " << place;
}

// The same of map_both, where results above its kNegligible in size have the bound in ulp and others an
// absolute one.
template <class T>
void expect_accuracy_of_both(Phi phi, bool derivative, const std::vector<T>& points,
                             const std::vector<Real>& expected) {
  std::vector<T> values(points.size()), slopes(points.size());
  passes::map_both(phi, points.data(), static_cast<Index>(points.size()), values.data(), slopes.data());
  Real worst = 0;
  T place = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const T computed = derivative ? slopes[i] : values[i];
    if (std::abs(computed - expected[i]) <= passes::kNegligible<T>) continue;
    const Real ratio = excess(derivative ? dphi_zero(phi) : std::nullopt, points[i], expected[i], computed,
                              stated(phi, derivative).both);
    if (!(ratio <= worst)) worst = ratio, place = points[i];
  }
  EXPECT_LE(worst, 1) << test::name(phi) << (derivative ? "'" : "") << " of both at " << place;
}

// Of all functions; on_targets(f) calls f(fused) with each set of instructions that is to be tried.
template <class T, class OnTargets>
void expect_accuracy(const std::vector<T>& points, const OnTargets& on_targets) {
  std::vector<Real> expected(points.size());
  for (const Phi phi : kAll)
    for (const bool derivative : {false, true}) {
      std::ranges::transform(points, expected.begin(), [&](T z) { return exact(phi, derivative, z); });
      on_targets([&](bool fused) {
        expect_accuracy_of_map(phi, derivative, points, expected,
                               fused ? &activations::Ulps::fused : &activations::Ulps::not_fused);
        expect_accuracy_of_both(phi, derivative, points, expected);
      });
    }
}

void on_all_targets(const std::function<void(bool fused)>& check) {
  on_each_target([&](std::int64_t target) { check(fuses(target)); });
}

// Bit patterns over the whole range of T, then the ranges where the functions bend and where their tails end.
template <class T>
std::vector<T> sweep(std::size_t count) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const Bits last = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  std::vector<T> points;
  for (std::size_t k = 0; k < count; ++k) {
    const Bits bits = last / count * k + 977 * k % 4096;
    points.push_back(std::bit_cast<T>(bits));
    points.push_back(-points.back());
  }
  Random random(5, Stream::points);
  for (const double end : {1.0, 6.0, 20.0, sizeof(T) == 4 ? 110.0 : 760.0})
    for (std::size_t k = 0; k < count; ++k)
      points.push_back(static_cast<T>(end * (2 * random.uniform() - 1)));
  return points;
}

TEST(PassAccuracy, FloatIsAccurateOverTheWholeRange) {
  auto points = sweep<float>(50000);
  points.push_back(28.243080139160156f);  // sin's worst, of all floats
  points.push_back(92.73951721191406f);   // that of its slope
  expect_accuracy(points, on_all_targets);
}

TEST(PassAccuracy, DoubleIsAccurateOverTheWholeRange) {
  if (LDBL_MANT_DIG < 64) GTEST_SKIP() << "long double is no more than double here";
  expect_accuracy(sweep<double>(50000), on_all_targets);
}

TEST(PassAccuracy, SlowFloatIsAccurateAtMillionsOfNumbers) {
  std::vector<float> points;
  for (std::uint32_t bits = 0x3c000000; bits < 0x43000000; bits += 53) {  // 2^-7 .. 2^7
    points.push_back(std::bit_cast<float>(bits));
    points.push_back(-points.back());
  }
  expect_accuracy(points, [](const auto& check) { check(test::best_target_fuses()); });
}

template <class T>
class PassAccuracyOf : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(PassAccuracyOf, Types);

TYPED_TEST(PassAccuracyOf, LimitsAreThoseOfTheScalarFunctions) {
  using Limits = std::numeric_limits<TypeParam>;
  on_each_target([](std::int64_t) {
    for (const Phi phi : kAll) {
      const Activation& scalar = activation(test::name(phi));
      for (const TypeParam size : {Limits::infinity(), Limits::max(), TypeParam{0}})
        for (const TypeParam z : {size, -size})
          for (const bool derivative : {false, true}) {
            TypeParam value = z;
            passes::map(phi, derivative, &value, 1);
            const auto expected = static_cast<TypeParam>(derivative ? scalar.dphi(z) : scalar.phi(z));
            if (std::isnan(expected))
              EXPECT_TRUE(std::isnan(value)) << scalar.name << derivative << " at " << z;
            else if (size == 0)
              EXPECT_NEAR(value, expected, Limits::epsilon()) << scalar.name << derivative << " at " << z;
            else if (phi == Phi::leaky_relu && std::isfinite(expected))  // a float's slope is rounded
              EXPECT_NEAR(value / expected, 1, 2 * Limits::epsilon());
            else
              EXPECT_EQ(value, expected) << scalar.name << derivative << " at " << z;
          }
    }
  });
}

TYPED_TEST(PassAccuracyOf, ReluCountsZeroOfEitherSignAsActive) {
  TypeParam values[] = {0, -TypeParam{0}, -std::numeric_limits<TypeParam>::denorm_min()};
  passes::map(Phi::relu, true, values, 3);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], 1);
  EXPECT_EQ(values[2], 0);
}

TEST(PassAccuracy, DoubleAgreesWithTheScalarFunctions) {
  Random random(6, Stream::points);
  std::vector<double> points;
  for (const double end : {3.0, 700.0})
    for (int k = 0; k < 20000; ++k) points.push_back(end * (2 * random.uniform() - 1));
  for (const Phi phi : kAll) {
    const Activation& scalar = activation(test::name(phi));
    for (const bool derivative : {false, true}) {
      auto values = points;
      passes::map(phi, derivative, values.data(), static_cast<Index>(values.size()));
      for (std::size_t i = 0; i < points.size(); ++i) {
        const double expected = derivative ? scalar.dphi(points[i]) : scalar.phi(points[i]);
        const double allowed = 18 * DBL_EPSILON * std::abs(expected) + 0x1p-1060 +
                               (derivative && points[i] < 0 && points[i] > -2 ? DBL_EPSILON * 3 : 0);
        ASSERT_NEAR(values[i], expected, allowed) << scalar.name << derivative << " at " << points[i];
      }
    }
  }
}

}  // namespace
}  // namespace zeroloss
