#include "kernel/entries.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernel/distances.hpp"
#include "oracle_rows.hpp"
#include "support/bounds.hpp"
#include "support/targets.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr double u = 0x1p-53;

std::vector<double> points(std::size_t count) {
  std::vector<double> rho{0, 1, -1, 0.5, -0.5, 1e-300, 1 - 1e-9, -1 + 1e-9, 0x1p-30};
  Random random(3, Stream::points);
  while (rho.size() < count) rho.push_back(2 * random.uniform() - 1);
  rho.resize(count);
  return rho;
}

// What theory 3 proves of one entry, scalar or vectorised. gram() charges twice the error and 16 u, which is
// more.
double proved(const Kernel& kernel) { return kernel.dual.error + u * std::max(1.0, std::abs(kernel(1))); }

// Of one activation, or of a power of rho: points and exact entries to 22 digits.
struct Oracle {
  std::vector<double> rho;
  std::vector<long double> sigma, features;
};

Oracle oracle(const std::string& name) {
  static_assert(std::numeric_limits<long double>::digits >= 64, "22 digits");
  Oracle o;
  for (const auto& row : oracle_rows("entries_oracle.csv")) {
    if (row[0] != name) continue;
    o.rho.push_back(std::strtod(row[1].c_str(), nullptr));
    o.sigma.push_back(o.rho.back() * std::strtold(row[2].c_str(), nullptr));
    o.features.push_back(std::strtold(row[3].c_str(), nullptr));
  }
  return o;
}

void expect_proved_error(const Kernel& kernel, const std::vector<double>& rho,
                         const std::vector<long double>& exact) {
  auto values = rho;
  entries::map(kernel, values.data(), values.size());
  for (std::size_t i = 0; i < rho.size(); ++i) {
    ASSERT_LE(std::abs(values[i] - exact[i]), proved(kernel)) << kernel.name << " at " << rho[i];
    ASSERT_LE(std::abs(kernel(rho[i]) - exact[i]), proved(kernel)) << kernel.name << " at " << rho[i];
  }
}

// The vectorised kernel on every instruction set, and the scalar one, against exact entries that share
// nothing with them.
TEST(Entries, AreWithinTheProvedErrorOfTheExactKernel) {
  for (const auto& name : activation_names()) {
    const Oracle o = oracle(name);
    ASSERT_GT(o.rho.size(), 200u);
    test::on_each_target([&](std::int64_t) {
      expect_proved_error(sigma(activation(name)), o.rho, o.sigma);
      expect_proved_error(sigma_features(activation(name)), o.rho, o.features);
    });
  }
}

TEST(Entries, PowersAreWithinTheProvedError) {
  const auto rho = oracle("relu").rho;
  for (const int r : {1, 2, 3, 4, 7, 20}) {
    std::vector<long double> exact;
    for (const long double x : rho) exact.push_back(std::pow(x, r));
    test::on_each_target([&](std::int64_t) { expect_proved_error(power(r), rho, exact); });
  }
  EXPECT_THROW(power(0), std::invalid_argument);
}

// Every remainder of the vector length gives the bits of a full vector.
TEST(Entries, DoNotDependOnTheCount) {
  test::on_each_target([&](std::int64_t) {
    for (const auto& name : activation_names())
      for (const Kernel& kernel : {sigma(activation(name)), sigma_features(activation(name))}) {
        auto all = points(1000);
        entries::map(kernel, all.data(), all.size());
        for (const std::size_t count : {1, 7, 8, 31, 32, 33}) {
          auto values = points(count);
          entries::map(kernel, values.data(), count);
          for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(values[i], all[i]) << kernel.name << i;
        }
      }
  });
}

// relu's Sigma for a pair that is nearly equal or antipodal, as gram() takes it from the two distances:
// within what theory 3 charges for the angle, times the slope, and for the evaluation. Exact: the normalised
// vectors' angle theta, or pi - theta, and cos(theta) (pi - theta)/(2 pi), in long double.
TEST(Entries, AnglesOfNearPairsAreWithinTheChargedError) {
  const Kernel kernel = sigma(activation("relu"));
  const long double pi = std::acos(-1.0L);
  Random random(5, Stream::points);
  for (const Index d : {2, 3, 30, 500})
    for (int k = 10; k <= 52; ++k)
      for (const int sign : {1, -1}) {
        std::vector<double> x(d), y(d);
        double length = 0, other = 0;
        for (double& value : x) length += std::pow(value = random.uniform() - 0.5, 2);
        for (double& value : x) value /= std::sqrt(length);
        for (Index i = 0; i < d; ++i) {
          y[i] = sign * (x[i] + std::ldexp(random.uniform() - 0.5, -k) / std::sqrt(d));
          other += y[i] * y[i];
        }
        for (double& value : y) value /= std::sqrt(other);
        long double xx = 0, yy = 0, apart = 0, across = 0;
        for (Index i = 0; i < d; ++i) {
          xx += static_cast<long double>(x[i]) * x[i];
          yy += static_cast<long double>(y[i]) * y[i];
        }
        for (Index i = 0; i < d; ++i) {
          const long double a = x[i] / std::sqrt(xx), b = y[i] / std::sqrt(yy);
          apart += (a - b) * (a - b);
          across += (a + b) * (a + b);
        }
        apart = std::sqrt(apart), across = std::sqrt(across);
        const long double theta = 2 * std::atan2(apart, across),
                          rest = 2 * std::atan2(across, apart);  // pi - theta
        const auto near = distances(x.data(), y.data(), d);
        const double computed = 2 * std::atan2(near.apart, near.across);
        const double rows = std::max(std::abs(std::sqrt(static_cast<double>(xx)) - 1),
                                     std::abs(std::sqrt(static_cast<double>(yy)) - 1));
        const double angle = 2.1 * rows + 30 * u;
        ASSERT_LE(std::abs(computed - theta), angle) << d << " features, 2^-" << k << sign;
        ASSERT_LE(std::abs(kernel.at_angle(computed) - std::cos(theta) * rest / (2 * pi)),
                  0.66 * angle + proved(kernel))
            << d << " features, 2^-" << k << sign;
      }
}

TEST(Entries, FloatAgreesToFloatPrecision) {
  for (const auto& name : activation_names()) {
    const Kernel kernel = sigma(activation(name));
    const auto rho = points(100);
    std::vector<float> values(rho.begin(), rho.end());
    entries::map(kernel, values.data(), values.size());
    for (std::size_t i = 0; i < rho.size(); ++i) {
      const double exact = kernel(static_cast<double>(static_cast<float>(rho[i])));
      // Horner in N terms and one rounding of every coefficient: (2 N + 8) units of the largest value.
      const double terms = static_cast<double>(kernel.dual.coefficients.size());
      ASSERT_NEAR(values[i], exact, (2 * terms + 16) * 0x1p-24 * std::max(1.0, std::abs(kernel(1))))
          << kernel.name;
    }
  }
}

TEST(Entries, ProductsBeyondOneAreClamped) {
  const Kernel kernel = sigma(activation("relu"));
  double values[] = {1 + 1e-15, -1 - 1e-15}, ends[] = {1, -1};
  entries::map(kernel, values, 2);
  entries::map(kernel, ends, 2);
  EXPECT_EQ(values[0], ends[0]);
  EXPECT_EQ(values[1], ends[1]);
}

TEST(Entries, LargestAndSingularSum) {
  const auto rho = points(77);
  double largest = 0, sum = 0, error = 0;
  for (const double r : rho) {
    largest = std::max(largest, std::abs(r));
    if (1 - std::abs(r) <= kNear) continue;
    const double term = 1 / (1 - r * r);
    sum += term;
    error += 2 * u * term * (term + 1);  // 1 - r^2 is off by u, twice
  }
  EXPECT_EQ(entries::largest(rho.data(), rho.size()), largest);
  EXPECT_EQ(entries::largest(rho.data(), 0), 0);
  EXPECT_NEAR(entries::singular_sum(rho.data(), rho.size(), kNear), sum,
              error + 2 * test::gamma_of(77) * sum);
}

}  // namespace
}  // namespace zeroloss
