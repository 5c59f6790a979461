// The trainer of small networks against plain matrices and PyTorch, on every instruction set of this machine.
#include "train/engine/small_trainer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/targets.hpp"
#include "support/two_layer.hpp"
#include "train/trajectory_oracle.hpp"

namespace zeroloss::test {
using namespace internal;
namespace {

template <class T>
constexpr double kUnitOf = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;

// Kinks: no pre-activation so near 0 that rounding decides its sign.
bool clear_of_kinks(const Problem& p, double margin) {
  return p.phi.smooth() || p.Z().cwiseAbs().minCoeff() > margin;
}

struct Size {
  Index n, d, m;
};
// Around every width of vectors, blocks and parts: fewer than one, one, one more.
const Size kSizes[] = {{1, 1, 1},   {2, 1, 3},     {3, 4, 2},    {5, 2, 7},    {15, 3, 4},  {16, 5, 5},
                       {17, 8, 9},  {31, 9, 6},    {33, 16, 12}, {48, 17, 13}, {64, 4, 17}, {65, 1, 20},
                       {100, 6, 1}, {113, 25, 25}, {129, 31, 3}, {200, 33, 35}};

class SmallSteps : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Every, SmallSteps, testing::ValuesIn(activation_names()),
                         [](const auto& info) { return info.param; });

template <class T>
void expect_plain_steps(const std::string& name) {
  std::uint64_t seed = 1;
  for (const auto& [n, d, m] : kSizes) {
    ++seed;
    Problem p = problem(name, n, d, m, seed, seed % 2 == 0 ? "ntk" : "balanced");
    p.network.W = p.network.W.cast<T>().template cast<double>();
    p.network.v = p.network.v.cast<T>().template cast<double>();
    p.X = p.X.cast<T>().template cast<double>();
    p.y = p.y.cast<T>().template cast<double>();
    constexpr double kStep = 0x1p-5;
    SmallTrainer<T> trainer(p.X, p.y, p.network, p.phi, kStep);
    EXPECT_EQ(trainer.weights(), p.network.W);
    const double scale = p.y.norm() + p.f().norm();
    for (int k = 1; k <= 3; ++k) {
      if (!clear_of_kinks(p, 100 * rounding(p, kUnitOf<T>))) break;
      const double allowed = k * rounding(p, kUnitOf<T>);
      EXPECT_LE((trainer.residual() - p.r()).norm(), allowed * scale) << n << " " << d << " " << m;
      EXPECT_NEAR(trainer.residual_norm(), p.r().norm(), allowed * scale);
      EXPECT_EQ(trainer.descend(1), 1);
      p.step(kStep);
      EXPECT_LE(relative(trainer.weights(), p.network.W), allowed) << n << " " << d << " " << m;
    }
  }
}

TEST_P(SmallSteps, StepsAreThoseOfPlainMatrices) {
  on_each_target([&](std::int64_t) {
    expect_plain_steps<double>(GetParam());
    expect_plain_steps<float>(GetParam());
  });
}

TEST_P(SmallSteps, FollowsPyTorch) {
  for (const Trajectory& t : trajectories("gd")) {
    if (t.activation != GetParam()) continue;
    SmallTrainer<double> trainer(t.X, t.y, {t.W_0, t.v}, activation(t.activation), t.step);
    Problem p = t.problem();
    Drift drift;
    for (Index k = 0; k <= t.steps(); ++k) {
      drift.step(p, t.step);
      ASSERT_NEAR(trainer.residual_norm(), t.misfit(k), drift.outputs) << t.name << " step " << k;
      if (k < t.steps()) trainer.descend(1);
      p.step(t.step);
    }
    EXPECT_LE((trainer.weights() - t.W).norm(), drift.off) << t.name;
  }
}

TEST_P(SmallSteps, ManyStepsAtOnceAreTheSameSteps) {
  const Problem p = problem(GetParam(), 41, 7, 11, 3);
  SmallTrainer<float> one(p.X, p.y, p.network, p.phi, 0.05),
      many = SmallTrainer<float>(p.X, p.y, p.network, p.phi, 0.05);
  EXPECT_EQ(many.descend(37), 37);
  for (int k = 0; k < 37; ++k) one.descend(1);
  EXPECT_EQ(one.weights(), many.weights());
  EXPECT_EQ(one.residual_norm(), many.residual_norm());
}

TEST(SmallTrainer, GoesOnFromPlacedWeights) {
  const Problem p = problem("tanh", 30, 5, 9, 4);
  SmallTrainer<float> all(p.X, p.y, p.network, p.phi, 0.05), rest(p.X, p.y, p.network, p.phi, 0.05);
  all.descend(5);
  rest.place(all.weights());
  EXPECT_EQ(rest.residual_norm(), all.residual_norm());
  all.descend(5);
  rest.descend(5);
  EXPECT_EQ(rest.weights(), all.weights());
}

TEST(SmallTrainer, StopsWhereTheResidualLeavesTheInterval) {
  const Problem p = problem("softplus", 20, 10, 30, 5);
  SmallTrainer<double> trainer(p.X, p.y, p.network, p.phi, 0.1);
  const double target = trainer.residual_norm() / 2;
  const Index taken = trainer.descend(100'000, target);
  EXPECT_LE(trainer.residual_norm(), target);
  SmallTrainer<double> again(p.X, p.y, p.network, p.phi, 0.1);
  again.descend(taken - 1);
  EXPECT_GT(again.residual_norm(), target);

  SmallTrainer<double> wild(p.X, p.y, p.network, activation("quadratic"), 1e6);
  EXPECT_LT(wild.descend(1000, 0, 1e9), 1000);
  EXPECT_FALSE(wild.residual_norm() < 1e9);
}

TEST(SmallTrainer, DivergesToNumbersThatAreNotFinite) {
  const Problem p = problem("quadratic", 20, 3, 5, 6);
  on_each_target([&](std::int64_t) {
    SmallTrainer<float> trainer(p.X, p.y, p.network, p.phi, 1e3);
    EXPECT_LT(trainer.descend(1000), 1000);
    EXPECT_FALSE(std::isfinite(trainer.residual_norm()));
  });
}

// Saturated neurons, whose slopes would be denormal numbers: the network may not move by more than they say.
TEST(SmallTrainer, SaturatedNeuronsStayWhereTheyAre) {
  for (const char* name : {"softplus", "tanh", "sigmoid", "erf", "gelu", "silu"}) {
    Problem p = problem(name, 24, 4, 6, 7);
    p.X = p.X.cwiseAbs();
    p.network.W = -1000 * p.network.W.cwiseAbs().array() - 1000;
    SmallTrainer<float> trainer(p.X, p.y, p.network, p.phi, 0.1);
    const RowMatrix before = trainer.weights();
    trainer.descend(100);
    EXPECT_EQ(trainer.weights(), before) << name;
  }
}

TEST(SmallTrainer, ZeroPointsAndZeroTargets) {
  Problem p = problem("relu", 18, 3, 8, 8, "ntk");
  p.X.row(4).setZero();
  p.y.setZero();
  SmallTrainer<double> trainer(p.X, p.y, p.network, p.phi, 0x1p-5);
  trainer.descend(1);
  p.step(0x1p-5);
  EXPECT_LE(relative(trainer.weights(), p.network.W), rounding(p));
}

}  // namespace
}  // namespace zeroloss::test
