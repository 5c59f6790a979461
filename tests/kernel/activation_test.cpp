#include "zeroloss/kernel/activation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "oracle_rows.hpp"
#include "support/floats.hpp"

namespace zeroloss {
namespace {

using test::kInf;
using test::kUnit;
const double kMax = std::numeric_limits<double>::max();

TEST(Activation, IsKnownByItsName) {
  const std::vector<std::string> first{"relu", "softplus", "tanh", "sigmoid",
                                       "erf",  "gelu",     "silu", "quadratic"};
  const auto names = activation_names();
  ASSERT_GE(names.size(), first.size());
  EXPECT_TRUE(std::equal(first.begin(), first.end(), names.begin()));
  for (const std::string& name : names) {
    const Activation& a = activation(name);
    EXPECT_EQ(a.name, name);
    EXPECT_TRUE(a.tabulated);
    EXPECT_NE(a.smooth(), a.piecewise_linear());
    EXPECT_EQ(bool(a.d2phi), a.smooth());
    EXPECT_EQ(a.rectifier(), name == "relu");
  }
}

// phi(z) = z for z >= 0, leak z below, to the bit but for the rounding of that product.
TEST(Activation, LeaksAreExact) {
  for (const std::string& name : activation_names()) {
    const Activation& a = activation(name);
    if (!a.piecewise_linear()) continue;
    EXPECT_TRUE(*a.leak >= 0 && *a.leak < 1) << name;
    for (const double z : {5e-324, 1e-3, 0.7, 3.0, 1e300}) {
      EXPECT_EQ(a.phi(z), z) << name;
      EXPECT_EQ(a.dphi(z), 1) << name;
      EXPECT_EQ(a.phi(-z), -(*a.leak * z)) << name;
      EXPECT_EQ(a.dphi(-z), *a.leak) << name;
    }
    EXPECT_EQ(a.phi(0), 0);
    EXPECT_EQ(a.dphi(0), 1);
  }
}

TEST(Activation, UnknownNameListsTheKnownOnes) {
  try {
    activation("Relu");
    FAIL();
  } catch (const std::invalid_argument& e) {
    const std::string message = e.what();
    EXPECT_NE(message.find("\"Relu\""), std::string::npos);
    for (const std::string& name : activation_names())
      EXPECT_NE(message.find(name), std::string::npos) << message;
  }
}

/// What activation.hpp promises.
long double allowed(const std::string& name, int order, long double exact) {
  const bool cancels = (order > 0 && name == "silu") || (order == 1 && name == "gelu");
  return 16 * kUnit * std::abs(exact) + (cancels ? 5 * kUnit : 0) + std::ldexp(1, -1062);
}

// The worst points of every activation that scripts/check_libm.py found, and its neighbours: exact to 22
// digits.
TEST(Activation, KeepsItsPromiseAtTheWorstPoints) {
  static_assert(std::numeric_limits<long double>::digits >= 64, "22 digits");
  int checked = 0;
  for (const auto& row : oracle_rows("activation_worst.csv")) {
    const Activation& a = activation(row[0]);
    const int order = std::stoi(row[1]);
    const double z = std::strtod(row[2].c_str(), nullptr);
    const long double exact = std::strtold(row[3].c_str(), nullptr);
    const double value = (order == 0 ? a.phi : order == 1 ? a.dphi : a.d2phi)(z);
    const long double error = std::abs(value - exact);
    ASSERT_LE(error, allowed(a.name, order, exact)) << a.name << " order " << order << " at " << z;
    ++checked;
  }
  EXPECT_GT(checked, 2000);
}

TEST(Activation, AgreesWithTheOracle) {
  int checked = 0, expected = 0;
  for (const std::string& name : activation_names()) expected += 55 * (activation(name).d2phi ? 3 : 2);
  for (const auto& row : oracle_rows("activation_oracle.csv")) {
    const Activation& a = activation(row[0]);
    const double z = std::strtod(row[1].c_str(), nullptr);
    int order = 0;
    for (const auto& f : {a.phi, a.dphi, a.d2phi}) {
      const std::string& field = row[2 + order];
      if (f && !field.empty()) {
        const double exact = std::strtod(field.c_str(), nullptr), value = f(z);
        if (value != exact) {  // also where both are infinite
          EXPECT_NEAR(value, exact, allowed(a.name, order, exact))
              << a.name << " order " << order << " at " << z;
        }
        ++checked;
      }
      ++order;
    }
  }
  EXPECT_EQ(checked, expected);
}

TEST(Activation, HasItsLimitsAtInfinity) {
  for (const std::string& name : activation_names()) {
    const Activation& a = activation(name);
    for (double z : {-kInf, -kMax, kMax, kInf}) {
      if (name == "sin" && std::isinf(z)) {  // no limits
        EXPECT_TRUE(std::isnan(a.phi(z)) && std::isnan(a.dphi(z)) && std::isnan(a.d2phi(z)));
        continue;
      }
      EXPECT_FALSE(std::isnan(a.phi(z))) << name << z;
      EXPECT_FALSE(std::isnan(a.dphi(z))) << name << z;
      EXPECT_FALSE(a.d2phi && std::isnan(a.d2phi(z))) << name << z;
    }
    EXPECT_EQ(a.dphi(-0.0), a.dphi(0.0));
    EXPECT_TRUE(std::isnan(a.phi(std::nan("")))) << name;
  }
  for (const char* name : {"relu", "softplus", "gelu", "silu"}) {
    EXPECT_EQ(activation(name).phi(kInf), kInf);
    EXPECT_EQ(activation(name).phi(1e308), 1e308);
    EXPECT_EQ(activation(name).phi(-kInf), 0);
    EXPECT_EQ(activation(name).dphi(-kInf), 0);
    EXPECT_EQ(activation(name).dphi(kInf), 1);
  }
  EXPECT_EQ(activation("softplus").phi(-740), std::exp(-740.0));
  EXPECT_EQ(activation("softplus").phi(-800), 0);
  EXPECT_EQ(activation("relu").dphi(0), 1);
}

/// Central differences err by h^2/6 times the next derivative but one (below 8 for all of these) and by 16
/// u/h of the function's size; z and z +- h are exact.
TEST(Activation, DerivativesMatchDifferences) {
  const double h = std::ldexp(1, -17);
  for (const std::string& name : activation_names()) {
    const Activation& a = activation(name);
    for (double z = -12; z <= 12; z += 0.125) {
      if (!a.smooth() && z == 0) continue;
      const double size = std::max({1.0, std::abs(a.phi(z + h)), std::abs(a.phi(z - h))});
      const double tolerance = h * h * 8 / 6 + 16 * kUnit * size / h;
      EXPECT_NEAR((a.phi(z + h) - a.phi(z - h)) / (2 * h), a.dphi(z), tolerance) << name << z;
      if (a.d2phi) {
        EXPECT_NEAR((a.dphi(z + h) - a.dphi(z - h)) / (2 * h), a.d2phi(z), tolerance * size) << name << z;
      }
    }
  }
}

/// A point of the grid lies within h/2 of where the maximum is, so its value is below it by at most (h/2)^2/2
/// times the second derivative there, which is below 8 for all of them.
TEST(Activation, BoundsAreSuprema) {
  constexpr double h = 1 / 4096.0;
  for (const std::string& name : activation_names()) {
    const Activation& a = activation(name);
    double slope = 0, curvature = 0;
    for (int k = -50 * 4096; k <= 50 * 4096; ++k) {
      const double z = k * h;
      slope = std::max(slope, std::abs(a.dphi(z)));
      if (a.d2phi) curvature = std::max(curvature, std::abs(a.d2phi(z)));
    }
    if (name != "quadratic") {
      EXPECT_LE(slope, a.B * (1 + 16 * kUnit)) << name;
      EXPECT_GE(slope, a.B - h * h) << name;
    }
    if (a.smooth()) {
      EXPECT_LE(curvature, a.M * (1 + 16 * kUnit)) << name;
      EXPECT_GE(curvature, a.M - h * h) << name;
    }
  }
  // The suprema to 22 digits (mpmath), where they are not 1 or simple fractions: bounds are rounded up.
  EXPECT_GE(activation("silu").B, 1.099839320128866916958L);
  EXPECT_GE(activation("gelu").B, 1.128904145185154786341L);
  EXPECT_GE(activation("erf").B, 1.128379167095512573896L);
  EXPECT_GE(activation("tanh").M, 0.7698003589195010193455L);
  EXPECT_GE(activation("sigmoid").M, 0.09622504486493762741819L);
  EXPECT_GE(activation("erf").M, 0.9678828980765733991913L);
  EXPECT_GE(activation("gelu").M, 0.7978845608028653558799L);
  EXPECT_EQ(activation("quadratic").B, kInf);
  EXPECT_EQ(activation("relu").M, kInf);
  EXPECT_NEAR(activation("tanh").M, 4 / (3 * std::sqrt(3)), 2 * kUnit);
  EXPECT_NEAR(activation("sigmoid").M, 1 / (6 * std::sqrt(3)), kUnit);
  EXPECT_NEAR(activation("gelu").M, 2 / std::sqrt(2 * M_PI), 2 * kUnit);
}

TEST(Activation, ParityOfTheDerivativeIsAsStated) {
  for (const std::string& name : activation_names()) {
    const Activation& a = activation(name);
    bool even = true, odd = true;
    for (double z : {0.1, 0.7, 1.9, 3.0}) {
      even = even && a.dphi(z) == a.dphi(-z);
      odd = odd && a.dphi(z) == -a.dphi(-z);
    }
    EXPECT_EQ(a.dphi_parity, even ? Parity::even : odd ? Parity::odd : Parity::constant_plus_odd) << name;
  }
}

}  // namespace
}  // namespace zeroloss
