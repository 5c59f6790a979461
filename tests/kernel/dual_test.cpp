#include "zeroloss/kernel/dual.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <stdexcept>

#include "oracle_rows.hpp"
#include "support/bounds.hpp"

namespace zeroloss {
namespace {

using std::numbers::pi;
using test::kInf;
using test::kUnit;

constexpr double kPanel = 1e-14;  // to which hermite() halves panels, relative to E[|f| + f^2]

double sum_of_squares(const HermiteSeries& series) {
  double sum = 0;
  for (double mu : series.mu) sum += mu * mu;
  return sum;
}

Activation user_softplus() {
  Activation a;
  a.name = "mine";
  a.phi = [](double z) { return std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z))); };
  a.dphi = [](double z) { return 1 / (1 + std::exp(-z)); };
  a.B = 1;
  a.M = 0.25;
  return a;
}

Activation user_hinge(double kink) {
  Activation a;
  a.name = "hinge";
  a.phi = [kink](double z) { return std::max(z - kink, 0.0); };
  a.dphi = [kink](double z) { return z >= kink ? 1.0 : 0.0; };
  a.B = 1;
  return a;
}

TEST(Dual, AgreesWithTheOracleWithinItsError) {
  for (const auto& row : oracle_rows("dual_oracle.csv")) {
    const double rho = std::strtod(row[1].c_str(), nullptr);
    for (bool derivative : {true, false}) {
      const Dual dual = dual_activation(activation(row[0]), derivative);
      const double exact = std::strtod(row[derivative ? 2 : 3].c_str(), nullptr);
      EXPECT_TRUE(dual.verified);
      EXPECT_LT(dual.error, 12 * kUnit);
      EXPECT_NEAR(dual(rho), exact, dual.error) << row[0] << derivative << " at " << rho;
      if (row[0] == "relu") {
        EXPECT_NEAR(dual(rho), exact, 40 * kUnit * exact) << derivative << " at " << rho;
      }
    }
  }
}

TEST(Dual, ReluKeepsItsDigitsNextToOppositePoints) {
  const Dual h = dual_activation(activation("relu"), true),
             h_tilde = dual_activation(activation("relu"), false);
  for (int k = 12; k <= 48; ++k) {
    const double psi = std::ldexp(1, -k) + 1.2246467991473532e-16;  // pi - theta, where pi is not the double
    const double theta = pi - std::ldexp(1, -k);
    const double cubic = psi * psi * psi / (6 * pi) * (1 - psi * psi / 10);  // next term: psi^4/280 < 2e-17
    EXPECT_NEAR(h.at_angle(theta), psi / (2 * pi), 8 * kUnit * psi) << k;
    EXPECT_NEAR(h_tilde.at_angle(theta), cubic, 40 * kUnit * cubic) << k;
  }
}

/// at_angle(theta) and operator() at the rounded cos theta: two errors and half an ulp of rho times the slope
/// there, 1/(2 pi sin theta) for relu's h.
TEST(Dual, AngleAndCosineAgree) {
  for (const std::string& name : activation_names())
    for (bool derivative : {false, true}) {
      const Dual dual = dual_activation(activation(name), derivative);
      for (double theta = 0.01; theta < 3.14; theta += 0.013) {
        const double slope = std::isinf(dual.plain_slope) ? 1 / (2 * pi * std::sin(theta)) : dual.plain_slope;
        EXPECT_NEAR(dual.at_angle(theta), dual(std::cos(theta)), 2 * dual.error + 2 * kUnit * slope)
            << name << theta;
      }
      EXPECT_NEAR(dual.at_angle(0), dual(1), 2 * dual.error);
      EXPECT_NEAR(dual.at_angle(pi), dual(-1), 2 * dual.error);
    }
}

TEST(Dual, ClampsRho) {
  for (const std::string& name : activation_names()) {
    const Dual dual = dual_activation(activation(name), true);
    EXPECT_EQ(dual(1 + 1e-9), dual(1));
    EXPECT_EQ(dual(-1 - 1e-9), dual(-1));
    EXPECT_TRUE(std::isnan(dual(std::nan(""))));
  }
}

/// Difference quotients of rho f_hat and f_hat stay below the slopes (up to evaluation error) and come near
/// them at 1: within the step times the next derivative, or its root for relu's h~, whose derivative h has a
/// root there.
TEST(Dual, SlopesAreSuprema) {
  const double step = 1e-5;
  for (const std::string& name : activation_names())
    for (bool derivative : {false, true}) {
      const Dual dual = dual_activation(activation(name), derivative);
      const bool kink = activation(name).piecewise_linear();
      if (kink && derivative) {
        EXPECT_EQ(dual.slope, kInf);
        EXPECT_EQ(dual.plain_slope, kInf);
        continue;
      }
      double slope = 0, plain = 0;
      for (double rho = 1; rho > -1 + step; rho -= 64 * step) {
        slope = std::max(slope, std::abs(rho * dual(rho) - (rho - step) * dual(rho - step)) / step);
        plain = std::max(plain, std::abs(dual(rho) - dual(rho - step)) / step);
      }
      const double noise = 4 * dual.error / step, gap = kink ? std::sqrt(step) : 20 * step;
      EXPECT_LE(slope, dual.slope + noise) << name << derivative;
      EXPECT_GE(slope, dual.slope - gap) << name << derivative;
      EXPECT_LE(plain, dual.plain_slope + noise) << name << derivative;
      EXPECT_GE(plain, dual.plain_slope - gap) << name << derivative;
    }
}

TEST(Dual, QuadraticIsExact) {
  EXPECT_EQ(dual_activation(activation("quadratic"), true)(0.3), 0.3);
  EXPECT_EQ(dual_activation(activation("quadratic"), false)(0.5), 0.375);
  EXPECT_EQ(dual_activation(activation("quadratic"), false)(1), 0.75);
}

TEST(Dual, MatchesMonteCarlo) {
  const double rho = 0.6;
  std::mt19937_64 bits(20240607);
  std::normal_distribution<double> normal;
  for (const char* name : {"tanh", "relu"}) {
    const Activation& a = activation(name);
    const int draws = 200000;
    double sum = 0, squares = 0;
    for (int i = 0; i < draws; ++i) {
      const double x = normal(bits), y = rho * x + std::sqrt(1 - rho * rho) * normal(bits);
      const double sample = rho * a.dphi(x) * a.dphi(y);  // an entry of Sigma
      sum += sample;
      squares += sample * sample;
    }
    const double mean = sum / draws, standard_error = std::sqrt((squares / draws - mean * mean) / draws);
    EXPECT_NEAR(mean, rho * dual_activation(a, true)(rho), 4 * standard_error) << name;
  }
}

TEST(Hermite, FirstCoefficientsOfTheDerivative) {
  EXPECT_NEAR(hermite(activation("relu"), true).mu[1], 1 / std::sqrt(2 * pi), 2 * kUnit);
  EXPECT_NEAR(hermite(activation("softplus"), true).mu[1], 0.2066, 5e-5);  // four digits
}

TEST(Hermite, LengthsAreThoseOfTheTheory) {
  const std::pair<const char*, size_t> lengths[] = {
      {"softplus", 44}, {"sigmoid", 51}, {"silu", 56}, {"gelu", 52}, {"tanh", 195}};
  for (auto [name, length] : lengths) {
    const HermiteSeries series = hermite(activation(name), true);
    EXPECT_LT(series.tail, 1e-17);  // as hermite() says; theory 2 cuts below 1e-16
    size_t terms = series.mu.size();
    for (double tail = series.tail; tail < 1e-16; --terms)
      tail += series.mu[terms - 1] * series.mu[terms - 1];
    EXPECT_EQ(terms + 1, length) << name;
  }
}

TEST(Hermite, ParsevalHoldsAgainstTheOracle) {
  for (const auto& row : oracle_rows("dual_oracle.csv")) {
    if (std::strtod(row[1].c_str(), nullptr) != 1) continue;
    for (bool derivative : {true, false}) {
      const HermiteSeries series = hermite(activation(row[0]), derivative);
      const double moment = std::strtod(row[derivative ? 2 : 3].c_str(), nullptr);  // f_hat(1) = E[f^2]
      const double rounding = (2 * series.error + series.mu.size() * kUnit) * moment;
      EXPECT_NEAR(sum_of_squares(series) + series.tail, moment, 4 * rounding) << row[0] << derivative;
    }
  }
}

TEST(Hermite, SeriesOfErfIsItsClosedForm) {
  for (bool derivative : {false, true}) {
    const HermiteSeries series = hermite(activation("erf"), derivative);
    const Dual dual = dual_activation(activation("erf"), derivative);
    for (double rho : {-1.0, -0.4, 0.0, 0.7, 1.0}) {
      double value = 0;
      for (size_t r = series.mu.size(); r-- > 0;) value = value * rho + series.mu[r] * series.mu[r];
      EXPECT_NEAR(value, dual(rho), 2 * dual.error) << rho;
    }
  }
}

TEST(Hermite, QuadratureReproducesTheTable) {
  const HermiteSeries table = hermite(activation("softplus"), false), mine = hermite(user_softplus(), false);
  const HermiteSeries dtable = hermite(activation("softplus"), true), dmine = hermite(user_softplus(), true);
  ASSERT_LE(mine.mu.size(), table.mu.size());
  ASSERT_LE(dmine.mu.size(), dtable.mu.size());
  for (size_t r = 0; r < mine.mu.size(); ++r) EXPECT_NEAR(mine.mu[r], table.mu[r], kPanel) << r;
  for (size_t r = 0; r < dmine.mu.size(); ++r) EXPECT_NEAR(dmine.mu[r], dtable.mu[r], kPanel) << r;
  EXPECT_LE(mine.tail, 1e-16 * sum_of_squares(table));  // as hermite() says
  EXPECT_GE(mine.tail, 0);
  EXPECT_LT(mine.error, kPanel);

  const Dual dual = dual_activation(user_softplus(), true),
             tabulated = dual_activation(activation("softplus"), true);
  EXPECT_FALSE(dual.verified);
  EXPECT_LT(dual.error, 2 * kPanel);
  for (double rho = -1; rho <= 1; rho += 0.125)
    EXPECT_NEAR(dual(rho), tabulated(rho), dual.error + tabulated.error);
  EXPECT_EQ(dual.plain_slope, 0.0625);  // M^2, a bound of E[phi''^2] = 0.0448
}

/// For relu as a user's function quadrature reaches 512 terms; the closed form tells what they leave.
TEST(Hermite, PowerLawTailIsReported) {
  double mu = 1 / std::sqrt(2 * pi), rest = 0.25 - mu * mu,
         derivative_rest = 0.25;  // 1/2 less mu_0^2, mu_1^2
  for (int r = 2; r <= 512; r += 2) {
    mu *= (3 - r) / std::sqrt(r * (r - 1.0));
    derivative_rest -= r * mu * mu;
    if (r < 512) rest -= mu * mu;
  }
  const HermiteSeries phi = hermite(user_hinge(0), false), dphi = hermite(user_hinge(0), true);
  EXPECT_EQ(phi.mu.size(), 512u);
  const double error =
      kPanel + test::gamma_of(3 * 512);  // of 256 squares, 3 roundings for each mu after another
  EXPECT_NEAR(phi.tail, rest, error);
  EXPECT_NEAR(dphi.tail, derivative_rest, error);
  EXPECT_GT(dphi.tail, 1e-3);  // far above rounding
  EXPECT_EQ(dual_activation(user_hinge(0), true).slope, kInf);
  EXPECT_NEAR(dual_activation(user_hinge(0), false).slope, 1, 3e-10);  // twice rounded up by 1e-10
  EXPECT_GE(dual_activation(user_hinge(0), true).error, dphi.tail);
}

TEST(Hermite, FindsAKinkBetweenNodes) {
  const double kink = 0.3, density = std::exp(-kink * kink / 2) / std::sqrt(2 * pi);
  const double above = std::erfc(kink / std::sqrt(2)) / 2;
  const HermiteSeries phi = hermite(user_hinge(kink), false), dphi = hermite(user_hinge(kink), true);
  EXPECT_NEAR(phi.mu[0], density - kink * above, kPanel);
  EXPECT_NEAR(dphi.mu[0], above, kPanel);
  EXPECT_NEAR(dphi.mu[1], density, kPanel);
  EXPECT_NEAR(sum_of_squares(dphi) + dphi.tail, above, kPanel + test::gamma_of(512) * above);
}

TEST(Hermite, RefusesWhatIsNotFiniteOrMissing) {
  Activation bad = user_softplus();
  bad.name = "leaky log";
  bad.phi = [](double z) { return std::log(z); };
  try {
    hermite(bad, false);
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("leaky log"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("z = -"), std::string::npos) << e.what();
  }
  EXPECT_NO_THROW(hermite(bad, true));
  bad.dphi = nullptr;
  EXPECT_THROW(hermite(bad, true), std::invalid_argument);
  bad.tabulated = true;
  EXPECT_THROW(hermite(bad, false), std::invalid_argument);
}

}  // namespace
}  // namespace zeroloss
