// Overlap and wrong labels told apart, where it is known which is which.
#include "audit/confusion_em.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "audit/logit_calibration.hpp"
#include "audit/noise_model.hpp"
#include "audit/noise_rate.hpp"
#include "audit/sampled.hpp"
#include "support/bounds.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss::internal {
namespace {

using test::Sampled;
using test::silent;

// One after the other: each label by the pseudo-samples and those of its class before it, which is Polya's
// urn.
double drawn_evidence(const Matrix& counts, double pseudo) {
  const Index c = counts.rows();
  const double rate = 1 - counts.trace() / counts.sum();
  double sum = 0;
  for (Index j = 0; j < c; ++j) {
    double before = 0;
    for (Index k = 0; k < c; ++k) {
      const double prior = pseudo * (j == k ? 1 - rate : rate / static_cast<double>(c - 1));
      for (double seen = 0; seen < counts(j, k); ++seen, ++before)
        sum += std::log((prior + seen) / (pseudo + before));
    }
  }
  return sum;
}

TEST(Overlap, EvidenceIsThatOfLabelsOneAfterTheOther) {
  const Matrix counts{{40, 3, 0}, {1, 55, 7}, {0, 0, 12}};
  for (const double pseudo : {0.3, 10.0, 118.0, 1e4}) {
    const double expected = drawn_evidence(counts, pseudo);
    // 20 logarithms of gamma, each with a series' end of 1e-12 and 8 u of x log x; the large ones are 12
    const double x = pseudo + counts.sum(), rounding = test::gamma_of(8) * 12 * x * std::log(x);
    EXPECT_NEAR(log_evidence(counts, pseudo), expected, 20 * 1e-12 + rounding) << pseudo;
  }
  EXPECT_EQ(log_evidence(Matrix{{5, 0}, {0, 5}}, 10), 0) << "all right, as the pseudo-samples are";
}

TEST(Overlap, TransitionsAreCountsAndPseudoSamples) {
  const Matrix counts{{8, 2}, {0, 10}};
  const Matrix T = transitions(counts, 10);  // a tenth is wrong
  const double rounding =
      test::gamma_of(4);  // ten times u in the rate, a product, a sum and a quotient, over 20
  EXPECT_NEAR(T(0, 1), (2 + 1) / 20.0, rounding);
  EXPECT_NEAR(T(1, 0), 1 / 20.0, rounding);
  EXPECT_LE((T.rowwise().sum().array() - 1).abs().maxCoeff(), rounding);
  EXPECT_EQ(transitions(Matrix{{1, 9}, {0, 10}}, 1e-9)(0, 0), 0.5);
}

// Four classes, of which 0 and 1 shade into each other: outputs go from one to the other, and classes are
// drawn by them, but less surely than outputs of 2 and 3 would say. Labels are wrong with probability `rate`:
// any other one, or the next.
Sampled sampled(Index n, double rate, bool next, std::uint64_t seed) {
  Random random(seed, Stream::labels);
  Sampled s{Matrix(n, 4), {}, {}};
  for (Index i = 0; i < n; ++i) {
    Index k = i % 4;
    for (Index j = 0; j < 4; ++j) s.F(i, j) = (j == k ? 0.9 : 0.03) + 0.1 * random.normal();
    if (k < 2) {
      const double along = 1.2 * random.uniform() - 0.1;
      s.F(i, 0) = 1 - along;
      s.F(i, 1) = along;
      k = random.uniform() < 1 / (1 + std::exp(-4 * (along - 0.5))) ? 1 : 0;
    }
    s.classes.push_back(k);
    const bool wrong = random.uniform() < rate;
    s.labels.push_back(!wrong ? k : next ? (k + 1) % 4 : (k + 1 + static_cast<Index>(random.below(3))) % 4);
  }
  return s;
}

double evidence(const Sampled& s, double pseudo) {
  const auto n = static_cast<double>(s.labels.size());
  const NoiseFit plain = fit_noise(s.F, s.labels, n), few = fit_noise(s.F, s.labels, 10);
  const auto from = [&](const Matrix& classes) {
    return explain(s.F, s.labels, plain.sharpness, 1, pseudo, classes).evidence;
  };
  return std::max(from(plain.classes), from(few.classes));
}

TEST(Overlap, EvidenceTellsWhetherLabelsAreWrongFromAnyClassToAnyOther) {
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    const Sampled any = sampled(800, 0.12, false, seed), next = sampled(800, 0.12, true, seed);
    EXPECT_GT(evidence(any, 800), evidence(any, 10)) << seed;
    EXPECT_GT(evidence(next, 10), evidence(next, 800)) << seed;
  }
}

// Labels of 40 % that all go to one class, of 26, and of 5 % that go to all: SciPy's gammaln says the same.
TEST(Overlap, PseudoSamplesSayInHowManyWaysLabelsAreWrong) {
  Matrix one = Matrix::Zero(26, 26), all = Matrix::Constant(6, 6, 3);
  for (Index j = 0; j < 26; ++j) one(j, j) = 46, one(j, (j + 1) % 26) = 31;
  all.diagonal().setConstant(300);
  // the figures have nine digits behind the point, and at most 340 series' ends are off by 1e-12 each
  const double off = 0.5e-9 + 340 * 1e-12;
  EXPECT_NEAR(log_evidence(one, 1) - log_evidence(one, 10), 193.286598833, off);
  EXPECT_NEAR(log_evidence(all, 1) - log_evidence(all, 10), -61.966650169, off);
}

// Points of class 0 among those of class 1 contradict the predictor as much as labels 2 and 3 there do, which
// are wrong.
TEST(Overlap, RightLabelsOfOverlappingClassesAreNotNamedFirst) {
  const Sampled s = sampled(1200, 0.05, false, 9);
  const NoiseModel model = noise_model(s.F, s.labels, nullptr, silent);
  const IntegratedNoise noise = integrate_noise(s.F, s.labels, model, nullptr, silent);
  double overlapping = 0, wrong = 0, weights = 0;
  int first = 0, second = 0;
  for (Index i = 0; i < 1200; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (s.classes[at] > 1 || s.F(i, 1) < 0.8) continue;
    if (s.labels[at] == 0 && s.classes[at] == 0) {
      overlapping += noise.right(i);
      ++first;
    }
    if (s.labels[at] > 1) {
      wrong += noise.right(i);
      ++second;
    }
  }
  ASSERT_GT(first, 10);
  ASSERT_GT(second, 2);
  EXPECT_GT(overlapping / first, 0.7) << "0.15 of these points are of class 0, 0.017 of them are labelled so";
  EXPECT_LT(wrong / second, 0.1);
  for (const Reading& reading : model.readings) weights += reading.weight;
  EXPECT_NEAR(weights, 1, test::gamma_of(2 * static_cast<double>(model.readings.size()) + 1));
  EXPECT_NEAR(noise.rate.value, 0.05, 0.025) << "four standard deviations of the draw";
}

// // Of many classes the ways that explain the labels worse are left early.
TEST(Overlap, ManyClassesKeepTheBetterWays) {
  constexpr Index kClasses = 32, kSamples = 640;
  Random random(3, Stream::labels);
  Sampled s{Matrix(kSamples, kClasses), {}, {}};
  for (Index i = 0; i < kSamples; ++i) {
    const Index k = i % kClasses;
    for (Index j = 0; j < kClasses; ++j) s.F(i, j) = (j == k ? 0.8 : 0.006) + 0.08 * random.normal();
    s.classes.push_back(k);
    s.labels.push_back(random.uniform() < 0.1 ? (k + 1) % kClasses : k);
  }
  const NoiseModel model = noise_model(s.F, s.labels, nullptr, silent);
  EXPECT_LE(std::ssize(model.readings), 4);
  EXPECT_GT(model.readings.front().pseudo, 0) << "labels are wrong in one way";
  const IntegratedNoise noise = integrate_noise(s.F, s.labels, model, nullptr, silent);
  for (Index i = 0; i < kSamples; ++i) {
    const bool right = s.labels[static_cast<std::size_t>(i)] == s.classes[static_cast<std::size_t>(i)];
    EXPECT_EQ(noise.right(i) > 0.5, right) << i;
  }
}

// Links are compared by nearly what they are.
TEST(LogitCalibration, NearlyWithoutASampleIsNearTheLogitsWithoutIt) {
  const Sampled s = sampled(400, 0.05, false, 2);
  const LogitCalibration link(s.F, 5, 1, /*compared=*/true);
  const Matrix Q = softmax(s.F, 8), B = link.fit(Q, Matrix::Zero(5, 4));
  const Matrix moved = link.logits_without(Q, B) - link.logits(B),
               nearly = link.logits_nearly_without(Q, B) - link.logits(B);
  EXPECT_GT(moved.norm(), 0);
  EXPECT_GT(moved.cwiseProduct(nearly).sum(), 0.9 * moved.norm() * nearly.norm());
}

// It is called so where others were cancelled while this one waited.
TEST(Overlap, CancelledBeforeItBegins) {
  std::atomic<bool> cancel{true};
  const Progress cancelled({}, &cancel, 0);
  const Matrix F = Matrix::Identity(4, 2);
  EXPECT_NO_THROW(explain(F, {0, 1, 0, 1}, 1, 1, 1, softmax(F, 1), cancelled));
}

TEST(Overlap, HoldsWhereNothingIsKnown) {
  const std::vector<Index> labels{0, 1, 0, 1};
  const Matrix nothing = Matrix::Constant(4, 2, 0.5);
  for (const Matrix& F : {nothing, Matrix(1e6 * Matrix::Identity(4, 2))}) {
    const NoiseModel model = noise_model(F, labels, nullptr, silent);
    const IntegratedNoise noise = integrate_noise(F, labels, model, nullptr, silent);
    EXPECT_TRUE(noise.right.allFinite());
    EXPECT_TRUE(noise.rate.value >= 0 && noise.rate.value <= noise.rate.high);
  }
}

}  // namespace
}  // namespace zeroloss::internal
