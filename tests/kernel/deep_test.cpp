#include "zeroloss/kernel/deep.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <tuple>

#include "kernel/distances.hpp"
#include "kernel/entries.hpp"
#include "most_charged.hpp"
#include "oracle_rows.hpp"
#include "support/points.hpp"
#include "support/targets.hpp"
#include "zeroloss/kernel/spectrum.hpp"

namespace zeroloss {
using namespace internal;
namespace {

using Long = long double;
constexpr Long kPi = std::numbers::pi_v<Long>;

struct DeepOracle {
  std::vector<double> rho;
  std::vector<Long> features, tangent;
};
using DeepOracles = std::map<std::tuple<std::string, Index, double>, DeepOracle>;

// Compositions at 50 digits, a = 0 for plain layers.
DeepOracles deep_oracles() {
  DeepOracles oracles;
  for (const auto& row : oracle_rows("deep_oracle.csv")) {
    DeepOracle& o = oracles[{row[0], std::stoll(row[1]), std::stod(row[2])}];
    o.rho.push_back(std::strtod(row[3].c_str(), nullptr));
    o.features.push_back(std::strtold(row[4].c_str(), nullptr));
    o.tangent.push_back(std::strtold(row[5].c_str(), nullptr));
  }
  return oracles;
}

Depth depth_of(Index layers, double scale) {
  return {.layers = layers, .residual = scale > 0, .scale = scale > 0 ? scale : 1};
}

void expect_close(const Kernel& kernel, const std::vector<double>& rho, const std::vector<Long>& exact) {
  ASSERT_TRUE(kernel.verified());
  const Long most = kernel.error();
  auto values = rho;
  entries::map(kernel, values.data(), values.size());
  for (std::size_t i = 0; i < rho.size(); ++i) {
    ASSERT_LE(std::abs(kernel(rho[i]) - exact[i]), most) << kernel.name << " at " << rho[i];
    if (std::abs(rho[i]) < 1 - kNear) {
      ASSERT_LE(std::abs(values[i] - exact[i]), most) << kernel.name << " at " << rho[i] << " from the table";
    }
  }
}

TEST(Deep, KernelsAreWithinTheProvedErrorOfTheExactOnes) {
  for (const auto& oracle : deep_oracles()) {
    const std::string& name = std::get<0>(oracle.first);
    const Index layers = std::get<1>(oracle.first);
    const Depth depth = depth_of(layers, std::get<2>(oracle.first));
    const DeepOracle& o = oracle.second;
    ASSERT_GT(o.rho.size(), 20u);
    const Kernel features = deep_features(activation(name), depth),
                 both = deep_tangent(activation(name), depth);
    EXPECT_NEAR(features(1), 1, 4 * test::kUnit) << features.name;
    test::on_each_target([&](std::int64_t) {
      expect_close(features, o.rho, o.features);
      expect_close(both, o.rho, o.tangent);
    });
  }
}

// The smallest error that could be charged: a proof that gives away a digit too many would prove nothing.
TEST(Deep, ProvedErrorsAreSmall) {
  for (const auto& name : activation_names())
    for (const Index layers : {1, 3, 10}) {
      const Kernel kernel = deep_tangent(activation(name), {.layers = layers});
      EXPECT_LE(kernel.error(), 1e-11 * kernel(1)) << kernel.name;  // a goal: eleven digits
    }
}

TEST(Deep, SlopesBoundTheDerivative) {
  for (const auto& [which, o] : deep_oracles()) {
    const auto& [name, layers, scale] = which;
    for (const bool of_features : {true, false}) {
      const Kernel kernel = of_features ? deep_features(activation(name), depth_of(layers, scale))
                                        : deep_tangent(activation(name), depth_of(layers, scale));
      const Edge edge = kernel.edge();
      const auto& exact = of_features ? o.features : o.tangent;
      const double error = 2 * kernel.error();  // of a difference
      for (std::size_t i = 0; i < o.rho.size(); ++i) {
        const double rho = o.rho[i], root = std::sqrt((1 - rho) * (1 + rho)), step = 1e-4 * root * root;
        if (!(root > 0)) continue;
        if (edge.share > 0) {  // of a leak, also in its angle
          const double apart = std::acos(rho), turn = 1e-6;
          const double slope = (kernel.at_angle(apart + turn) - kernel.at_angle(apart)) / turn;
          EXPECT_LE(
              std::abs(slope),
              (edge.most * (root + turn) + edge.share / (2 * std::numbers::pi)) * 1.0001 + error / turn);
        }
        if (step < 1e-8) continue;
        const double slope = (kernel(rho + step) - static_cast<double>(exact[i])) / step;
        EXPECT_LE(std::abs(slope),
                  (edge.most + edge.share / (2 * std::numbers::pi * root)) * 1.01 + error / step)
            << kernel.name << " at " << rho;
      }
      EXPECT_EQ(std::isinf(kernel.slope()), edge.share > 0);
    }
  }
}

// h~(1) Theta_1 = Sigma + Sigma~.
TEST(Deep, OneLayerIsTheSumOfTheTwoKernels) {
  for (const auto& name : activation_names()) {
    const Activation& phi = activation(name);
    const Kernel one = deep_tangent(phi, {}), hidden = sigma(phi), features = sigma_features(phi);
    const double error = one.error() * features(1) + hidden.error() + features.error() * (1 + one(1)) +
                         4 * test::kUnit * (hidden(1) + features(1));
    for (double rho = -1; rho <= 1; rho += 0.015625)
      EXPECT_NEAR(one(rho) * features(1), hidden(rho) + features(rho), error) << one.name;
  }
}

TEST(Deep, OnePlainLayerOfTangentIsSigma) {
  const Activation& relu = activation("relu");
  EXPECT_EQ(tangent(relu, {}).name, sigma(relu).name);
  EXPECT_EQ(tangent(relu, {}).deep, nullptr);
  EXPECT_NE(tangent(relu, {.layers = 2}).deep, nullptr);
  EXPECT_NE(tangent(relu, {.residual = true}).deep, nullptr);
}

TEST(Deep, SettingsOutOfRangeAreRefused) {
  const Activation& relu = activation("relu");
  for (const Index layers : {-1, 0, 1001})
    EXPECT_THROW(deep_tangent(relu, {.layers = layers}), std::invalid_argument);
  for (const double scale : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")})
    EXPECT_THROW(deep_features(relu, {.residual = true, .scale = scale}), std::invalid_argument);
}

// relu at 64 bits, by complements as no cancellation allows otherwise: a second way than that of the library,
// through the difference of 1 and rho.
Long relu_tangent(Long theta, Index layers) {
  Long tangent = std::cos(theta);
  for (Index l = 0; l < layers; ++l) {
    const Long q = (kPi - theta) / kPi;
    const Long below = theta < 0.02L
                           ? theta * theta * theta * (1 - theta * theta / 10 * (1 - theta * theta / 28)) / 3
                           : std::sin(theta) - theta * std::cos(theta);
    const Long half = std::sin(theta / 2), gap = 2 * half * half - below / kPi;
    tangent = 1 - gap + tangent * q;
    theta = 2 * std::asin(std::min(1.0L, std::sqrt(gap / 2)));
  }
  return tangent;
}

Long exact_angle(const RowMatrix& X, Index i, Index j) {
  Long apart = 0, across = 0;
  const Eigen::Matrix<Long, 1, Eigen::Dynamic> x = X.row(i).cast<Long>().normalized(),
                                               y = X.row(j).cast<Long>().normalized();
  apart = (x - y).norm();
  across = (x + y).norm();
  return 2 * std::atan2(apart, across);
}

RowMatrix rows_with_close_pairs(Index n, Index d) {
  RowMatrix X = test::sphere(n, d);
  for (Index k = 0; 2 * k + 1 < n && k < 24; ++k) {  // nearer and nearer, equal and opposite
    X.row(2 * k + 1) = k % 3 == 0 ? X.row(2 * k) : RowMatrix(-X.row(2 * k));
    if (k > 1) X(2 * k + 1, k % d) += std::ldexp(1.0, -2 * static_cast<int>(k));
    X.row(2 * k + 1).normalize();
  }
  return X;
}

TEST(Deep, GramIsWithinItsOwnBound) {
  Progress progress;
  for (const auto& [n, d] : {std::pair<Index, Index>{1, 1}, {2, 1}, {9, 1}, {3, 2}, {60, 5}, {530, 7}}) {
    const RowMatrix X = rows_with_close_pairs(n, d);
    for (const Index layers : {1, 2, 6}) {
      const Kernel kernel = deep_tangent(activation("relu"), {.layers = layers});
      const auto result = gram(X, kernel, progress);
      Long squares = 0;
      for (Index j = 0; j < n; ++j)
        for (Index i = j; i < n; ++i) {
          const Long exact = relu_tangent(i == j ? 0 : exact_angle(X, i, j), layers);
          const Long error = result.K(i, j) - exact;
          squares += (i == j ? 1 : 2) * error * error;
          if (i == j) {
            EXPECT_EQ(result.K(i, i), static_cast<double>(layers + 1));
          }
        }
      EXPECT_LE(std::sqrt(squares), result.entry_error) << n << " x " << d;
      EXPECT_LE(result.entry_error, static_cast<double>(n) * test::most_charged(kernel, d))
          << n << " x " << d;
      const RowMatrix across = cross_gram(X, X, kernel, progress);
      for (Index j = 0; j < n; ++j)
        for (Index i = j + 1; i < n; ++i) EXPECT_NEAR(across(i, j), result.K(i, j), 2 * result.entry_error);
    }
  }
}

TEST(Deep, FloatsAreThoseOfTheDoubles) {
  Progress progress;
  const RowMatrix X = test::sphere(300, 9);
  const Kernel kernel = deep_tangent(activation("tanh"), {.layers = 4});
  const auto exact = gram(X, kernel, progress);
  const auto rounded = gram(Rows<float>(X.cast<float>()), kernel, progress);
  // An entry sums rows of 9 numbers, each rounded once, and a table's polynomial of degree 10.
  const double close = ((9 + 4) * kernel.slope() + (2 * 10 + 16) * kernel(1)) * 0x1p-24;
  for (Index j = 0; j < 300; ++j)
    for (Index i = j; i < 300; ++i) EXPECT_NEAR(rounded.K(i, j), exact.K(i, j), close);
}

// Of orthogonal rows every entry beside the diagonal is k(0).
TEST(Deep, LambdaMinOfOrthogonalRowsIsProved) {
  Progress progress;
  const RowMatrix X = RowMatrix::Identity(40, 40);
  for (const auto& name : activation_names()) {
    const Kernel kernel = deep_tangent(activation(name), {.layers = 5, .residual = name == "relu"});
    const auto found = lambda_min(X, kernel, progress);
    const double exact = kernel(1) - kernel(0);
    ASSERT_TRUE(found.verified.holds) << name;
    EXPECT_LE(found.verified.lambda_min, exact + 2 * kernel.error());
    const double error = test::backward_error(40) * 40 * kernel(1);  // of the eigenvalue that is proved
    EXPECT_GE(found.verified.lambda_min, exact * (1 - 2e-7) - 2 * found.verified.loss - error);  // theory 3
  }
}

TEST(Deep, NothingIsVerifiedOfAUsersActivation) {
  Activation own;
  own.name = "own tanh";
  own.phi = [](double z) { return std::tanh(z); };
  own.dphi = [](double z) { return 1 - std::tanh(z) * std::tanh(z); };
  own.B = 1;
  own.M = 0.77;
  const Depth depth{.layers = 3};
  const Kernel computed = deep_tangent(own, depth), exact = deep_tangent(activation("tanh"), depth);
  EXPECT_FALSE(computed.verified());
  for (const double rho : {-0.9, 0.0, 0.3, 0.99})
    EXPECT_NEAR(computed(rho), exact(rho), computed.error() + exact.error());
}

}  // namespace
}  // namespace zeroloss
