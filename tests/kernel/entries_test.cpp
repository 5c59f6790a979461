#include "kernel/entries.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "zeroloss/core/random.hpp"

namespace zeroloss {
namespace {

std::vector<double> points(std::size_t count) {
  std::vector<double> rho{0, 1, -1, 0.5, -0.5, 1e-300, 1 - 1e-9, -1 + 1e-9, 0x1p-30};
  Random random(3, Stream::points);
  while (rho.size() < count) rho.push_back(2 * random.uniform() - 1);
  rho.resize(count);
  return rho;
}

// Every kernel, every remainder of the vector length, against the scalar evaluation. Twice the dual's own
// bound and 16 u is what gram() charges for the vectorised one.
TEST(Entries, AgreeWithTheScalarKernelWithinTheChargedError) {
  for (const auto& name : activation_names())
    for (const Kernel& kernel : {sigma(activation(name)), sigma_features(activation(name))})
      for (const std::size_t count : {1, 7, 8, 31, 32, 33, 1000}) {
        auto values = points(count);
        const auto rho = values;
        entries::map(kernel, values.data(), count);
        const double scale = std::max(1.0, std::abs(kernel(1)));
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_LE(std::abs(values[i] - kernel(rho[i])), 3 * kernel.dual.error + 16 * 0x1p-53 * scale)
              << kernel.name << " at " << rho[i];
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
  double values[] = {1 + 1e-15, -1 - 1e-15};
  entries::map(kernel, values, 2);
  EXPECT_DOUBLE_EQ(values[0], 0.5);
  EXPECT_NEAR(values[1], 0, 1e-16);
}

TEST(Entries, LargestAndSingularSum) {
  const auto rho = points(77);
  double largest = 0, sum = 0;
  for (const double r : rho) {
    largest = std::max(largest, std::abs(r));
    if (1 - std::abs(r) > 1e-6) sum += 1 / (1 - r * r);
  }
  EXPECT_EQ(entries::largest(rho.data(), rho.size()), largest);
  EXPECT_EQ(entries::largest(rho.data(), 0), 0);
  EXPECT_NEAR(entries::singular_sum(rho.data(), rho.size(), 1e-6), sum, 1e-9 * sum);
}

TEST(Entries, PowersOfRho) {
  for (const int r : {1, 2, 3, 4, 7}) {
    double values[] = {0.3, -0.7, 1, -1, 0};
    const double rho[] = {0.3, -0.7, 1, -1, 0};
    entries::map(power(r), values, 5);
    for (int i = 0; i < 5; ++i) EXPECT_NEAR(values[i], std::pow(rho[i], r), 2 * r * 0x1p-53);
  }
  EXPECT_THROW(power(0), std::invalid_argument);
}

}  // namespace
}  // namespace zeroloss
