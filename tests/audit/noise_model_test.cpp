// Probabilities that labels are right, on labels whose noise is known.
#include "audit/noise_model.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "audit/noise_rate.hpp"
#include "audit/sampled.hpp"
#include "support/bounds.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss::internal {
namespace {

using test::Sampled;
using test::silent;

// Classes drawn from softmax(5 F), labels from the rows of T.
Sampled sampled(Index n, const Matrix& T, std::uint64_t seed) {
  const Index c = T.rows();
  Random random(seed, Stream::labels);
  Sampled s{Matrix(n, c), {}, {}};
  random.fill_normal(s.F);
  const auto draw = [&](const Vector& p) {
    double left = random.uniform() * p.sum();
    Index k = 0;
    while (k + 1 < p.size() && left >= p(k)) left -= p(k++);
    return k;
  };
  for (Index i = 0; i < n; ++i) {
    s.classes.push_back(draw((5 * s.F.row(i)).array().exp().matrix().transpose()));
    s.labels.push_back(draw(T.row(s.classes.back()).transpose()));
  }
  return s;
}

Matrix symmetric(Index c, double rate) {
  Matrix T = Matrix::Constant(c, c, rate / static_cast<double>(c - 1));
  T.diagonal().setConstant(1 - rate);
  return T;
}

TEST(NoiseModel, FindsSharpnessAndTransitions) {
  Matrix T(3, 3);
  T << 0.8, 0.2, 0, 0, 0.9, 0.1, 0.05, 0, 0.95;
  const Sampled s = sampled(20'000, T, 1);
  const NoiseFit model = fit_noise(s.F, s.labels, 10);
  EXPECT_NEAR(model.sharpness, 5, 0.3);
  // four standard deviations of a share of 0.2 of a third of the draws
  EXPECT_LT((model.transition - T).cwiseAbs().maxCoeff(), 4 * std::sqrt(0.16 / 6667)) << model.transition;
  const double rounding = test::gamma_of(3 * (3 + 2));  // three sums of three terms
  EXPECT_LE((model.classes.rowwise().sum().array() - 1).abs().maxCoeff(), rounding);
  EXPECT_LE((model.labels.rowwise().sum().array() - 1).abs().maxCoeff(), rounding);
}

// Of all samples to which it gives about the same probability, that fraction is right.
TEST(NoiseModel, ProbabilitiesAreFrequencies) {
  const Sampled s = sampled(50'000, symmetric(4, 0.2), 2);
  const NoiseFit model = fit_noise(s.F, s.labels, 50'000);
  std::vector<double> expected(10, 0), right(10, 0), all(10, 0);
  for (std::size_t i = 0; i < s.labels.size(); ++i) {
    const double p = model.classes(static_cast<Index>(i), s.labels[i]);
    const auto bin = static_cast<std::size_t>(std::min(9.0, 10 * p));
    expected[bin] += p;
    right[bin] += s.labels[i] == s.classes[i] ? 1 : 0;
    all[bin] += 1;
  }
  for (std::size_t b = 0; b < 10; ++b) {
    ASSERT_GT(all[b], 50);
    // four standard deviations of the draws, and 0.01 for the parameters that are estimated
    EXPECT_NEAR(right[b] / all[b], expected[b] / all[b], 4 * 0.5 / std::sqrt(all[b]) + 0.01) << b;
  }
}

// What it ends at is a maximum of the likelihood with its pseudo-samples.
TEST(NoiseModel, NothingNearIsMoreLikely) {
  const Sampled s = sampled(400, symmetric(3, 0.15), 3);
  const NoiseFit model = fit_noise(s.F, s.labels, 10);
  double wrong = 0;
  for (std::size_t i = 0; i < s.labels.size(); ++i)
    wrong += 1 - model.classes(static_cast<Index>(i), s.labels[i]);
  const Matrix prior = symmetric(3, wrong / 400);
  const auto value = [&](double sharpness, const Matrix& T) {
    double sum = (10 * prior.array() * T.array().log()).sum();
    for (Index i = 0; i < 400; ++i) {
      const Eigen::RowVectorXd odds = (sharpness * s.F.row(i)).array().exp();
      sum += std::log(odds.dot(T.col(s.labels[static_cast<std::size_t>(i)]).transpose()) / odds.sum());
    }
    return sum;
  };
  const double best = value(model.sharpness, model.transition);
  EXPECT_GT(best, value(model.sharpness * 1.03, model.transition));
  EXPECT_GT(best, value(model.sharpness / 1.03, model.transition));
  for (Index j = 0; j < 3; ++j)
    for (Index k = 0; k < 3; ++k) {
      if (j == k) continue;
      Matrix T = model.transition;
      T(j, k) *= 1.1;
      T.row(j) /= T.row(j).sum();
      EXPECT_GT(best, value(model.sharpness, T)) << j << k;
      T = model.transition;
      T(j, k) /= 1.1;
      T.row(j) /= T.row(j).sum();
      EXPECT_GT(best, value(model.sharpness, T)) << j << k;
    }
}

TEST(NoiseModel, IntervalsHoldTheRate) {
  int held = 0;
  constexpr int kTrials = 40;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Sampled s = sampled(400, symmetric(3, 0.1), 100 + static_cast<std::uint64_t>(trial));
    const NoiseModel model = noise_model(s.F, s.labels, nullptr, silent);
    const Estimate rate = integrate_noise(s.F, s.labels, model, nullptr, silent).rate;
    double wrong = 0;
    for (std::size_t i = 0; i < s.labels.size(); ++i) wrong += s.labels[i] != s.classes[i] ? 1 : 0;
    held += rate.low <= wrong / 400 && wrong / 400 <= rate.high ? 1 : 0;
    EXPECT_LE(rate.low, rate.value);
    EXPECT_GE(rate.high, rate.value);
  }
  EXPECT_GE(held, 34) << "0.95 of 40 is 38; below 34 with probability 0.003";
}

TEST(NoiseModel, LabelsThatAreAllAsPredictedAreRight) {
  Matrix F = Matrix::Zero(50, 2);
  std::vector<Index> labels;
  for (Index i = 0; i < 50; ++i) {
    labels.push_back(i % 2);
    F(i, i % 2) = 1;
  }
  const NoiseModel model = noise_model(F, labels, nullptr, silent);
  const IntegratedNoise noise = integrate_noise(F, labels, model, nullptr, silent);
  for (Index i = 0; i < 50; ++i) EXPECT_GT(noise.right(i), 0.99);
  EXPECT_EQ(noise.rate.low, 0);
  // // Half of the likelihood of 50 that are right is (1 - q)^25, of which 2.5 % lie above; the grid has
  // steps of 0.087 in the logarithm of the odds.
  EXPECT_LT(noise.rate.high, (1 - std::pow(0.025, 1 / 26.0)) * std::exp(0.087));
  EXPECT_GT(noise.rate.high, 0.1);
}

TEST(NoiseModel, NoBitDependsOnTheNumberOfDrawsBeforeOrThreads) {
  const Sampled s = sampled(200, symmetric(3, 0.2), 4);
  const NoiseModel model = noise_model(s.F, s.labels, nullptr, silent);
  const auto low = [&](std::uint64_t seed) {
    return estimate_confusions(s.F, s.labels, model, 40, seed, silent)[1].low;
  };
  EXPECT_EQ(low(7), low(7));
  EXPECT_NE(low(7), low(8));
}

}  // namespace
}  // namespace zeroloss::internal
