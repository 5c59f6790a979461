// Overlap and wrong labels told apart, where it is known which is which.
#include "audit/overlap.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "audit/noise_model.hpp"
#include "zeroloss/core/random.hpp"

namespace zeroloss::internal {
namespace {

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
    // terms of up to 1e5 in rounding, and ten series' ends of 1e-12
    EXPECT_NEAR(log_evidence(counts, pseudo), expected, 1e-9) << pseudo;
  }
  EXPECT_EQ(log_evidence(Matrix{{5, 0}, {0, 5}}, 10), 0) << "all right, as the pseudo-samples are";
}

TEST(Overlap, TransitionsAreCountsAndPseudoSamples) {
  const Matrix counts{{8, 2}, {0, 10}};
  const Matrix T = transitions(counts, 10);  // a tenth is wrong
  EXPECT_NEAR(T(0, 1), (2 + 1) / 20.0, 1e-15);
  EXPECT_NEAR(T(1, 0), 1 / 20.0, 1e-15);
  EXPECT_LT((T.rowwise().sum().array() - 1).abs().maxCoeff(), 1e-15);
  EXPECT_EQ(transitions(Matrix{{1, 9}, {0, 10}}, 1e-9)(0, 0), 0.5);
}

struct Sampled {
  Matrix F;
  std::vector<Index> classes, labels;
};

// Four classes. Points of class 0 look like class 1 with probability `overlap`, the less so the nearer they
// are to 0's outputs; labels are wrong with probability `rate`: any other one, or the next.
Sampled sampled(Index n, double overlap, double rate, bool next, std::uint64_t seed) {
  Random random(seed, Stream::labels);
  Sampled s{Matrix(n, 4), {}, {}};
  for (Index i = 0; i < n; ++i) {
    const Index k = i % 4, like = k == 0 && random.uniform() < overlap ? 1 : k;
    for (Index j = 0; j < 4; ++j) s.F(i, j) = (j == like ? 0.9 : 0.03) + 0.1 * random.normal();
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
    const Sampled any = sampled(800, 0.05, 0.12, false, seed), next = sampled(800, 0.05, 0.12, true, seed);
    EXPECT_GT(evidence(any, 800), evidence(any, 10)) << seed;
    EXPECT_GT(evidence(next, 10), evidence(next, 800)) << seed;
  }
}

// Points of class 0 that look like class 1 contradict the predictor as much as wrong labels do. That there
// are many, and only of these classes, says that their labels are right.
TEST(Overlap, RightLabelsOfOverlappingClassesAreNotNamedFirst) {
  const Sampled s = sampled(1200, 0.1, 0.05, false, 9);
  const NoiseModel model = noise_model(s.F, s.labels);
  double overlapping = 0, wrong = 0, weights = 0;
  int first = 0, second = 0;
  for (Index i = 0; i < 1200; ++i) {
    const auto at = static_cast<std::size_t>(i);
    Index winner = 0;
    s.F.row(i).maxCoeff(&winner);
    if (s.labels[at] == s.classes[at] && s.classes[at] == 0 && winner == 1) {
      overlapping += model.right(i);
      ++first;
    } else if (s.labels[at] != s.classes[at] && s.labels[at] != winner &&
               !(s.labels[at] == 0 && winner == 1)) {
      wrong += model.right(i);
      ++second;
    }
  }
  ASSERT_GT(first, 20);
  ASSERT_GT(second, 30);
  EXPECT_GT(overlapping / first, 0.5);
  EXPECT_LT(wrong / second, 0.2);
  for (const Reading& reading : model.readings) weights += reading.weight;
  EXPECT_NEAR(weights, 1, 1e-14);
  EXPECT_NEAR(model.rate, 0.05, 0.025) << "four standard deviations of the draw";
}

TEST(Overlap, HoldsWhereNothingIsKnown) {
  const std::vector<Index> labels{0, 1, 0, 1};
  const Matrix nothing = Matrix::Constant(4, 2, 0.5);
  EXPECT_TRUE(noise_model(nothing, labels).right.allFinite());
  EXPECT_TRUE(noise_model(1e6 * Matrix::Identity(4, 2), labels).right.allFinite());
}

}  // namespace
}  // namespace zeroloss::internal
