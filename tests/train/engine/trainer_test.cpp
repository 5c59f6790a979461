// The network in motion: gradients by finite differences, trajectories by PyTorch, both spaces, any threads.
#include "train/engine/trainer.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "support/two_layer.hpp"
#include "train/trajectory_oracle.hpp"

namespace zeroloss::test {
using namespace internal;
namespace {

Vector residual(const Trainer<double>& trainer, const Vector& y) { return trainer.f() - y; }

class EveryActivation : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Trainer, EveryActivation, testing::ValuesIn(activation_names()),
                         [](const auto& info) { return info.param; });

TEST_P(EveryActivation, GradientIsTheCentralDifference) {
  for (const auto& [n, d, m] : {std::tuple<Index, Index, Index>{7, 5, 9}, {1, 1, 1}, {3, 1, 34}, {1, 6, 2}}) {
    const Problem p = problem(GetParam(), n, d, m, 3, "ntk");
    const auto data = points<double>(p.X, Space::weights);
    const Trainer<double> trainer(data, p.network, p.phi, Space::weights);
    const Rows<double> gradient = trainer.gradient(residual(trainer, p.y));
    // Error h^2/6 |L'''| + u |L|/h: h = u^(1/3) makes both about u^(2/3) of the loss's scale. relu's kinks
    // lie farther away than h.
    const double h = std::cbrt(kUnit), scale = 1 + p.r().squaredNorm();
    for (Index j = 0; j < m; ++j)
      for (Index k = 0; k < d; ++k) {
        Problem ahead = p, behind = p;
        ahead.network.W(j, k) += h;
        behind.network.W(j, k) -= h;
        const double difference = (ahead.r().squaredNorm() - behind.r().squaredNorm()) / (4 * h);
        EXPECT_NEAR(gradient(j, k), difference, 20 * h * h * scale) << n << " " << d << " " << m;
      }
  }
}

TEST_P(EveryActivation, SpacesAgree) {
  for (const auto& [n, d, m] :
       {std::tuple<Index, Index, Index>{23, 6, 40}, {9, 30, 17}, {2, 3, 700}, {1, 1, 1}}) {
    Problem p = problem(GetParam(), n, d, m, 5, "ntk");
    const auto small = points<double>(p.X, Space::weights), gram = points<double>(p.X, Space::gram);
    Trainer<double> a(small, p.network, p.phi, Space::weights), b(gram, p.network, p.phi, Space::gram);
    const RowMatrix start = p.network.W;
    for (int k = 0; k < 30; ++k) {
      const double step = 0.02;
      const double moved = a.move(step * residual(a, p.y));
      EXPECT_NEAR(b.move(step * residual(b, p.y)), moved, rounding(p) * (k + 1) * moved);
      p.step(step);
    }
    const double allowed = 30 * rounding(p);
    EXPECT_LT(relative(a.f(), p.f()), allowed);
    EXPECT_LT(relative(b.f(), a.f()), allowed);
    EXPECT_LT(relative(b.weights(), a.weights()), allowed);
    EXPECT_LT(relative(a.weights(), p.network.W), allowed);
    b.refresh();
    EXPECT_LT(relative(b.f(), a.f()), allowed);

    const Travel x = a.travel(), y = b.travel();
    EXPECT_NEAR(x.distance, (p.network.W - start).norm(), allowed * start.norm());
    EXPECT_NEAR(y.distance, x.distance, allowed * start.norm());
    EXPECT_NEAR(x.max_distance, (p.network.W - start).rowwise().norm().maxCoeff(), allowed * start.norm());
    const Matrix before = p.X * start.transpose(), after = p.Z();
    const Index flipped = ((before.array() >= 0) != (after.array() >= 0)).count();
    EXPECT_EQ(x.flipped_fraction, static_cast<double>(flipped) / static_cast<double>(n * m));
    EXPECT_EQ(y.flipped_fraction, x.flipped_fraction);
  }
}

TEST_P(EveryActivation, JacobianProducts) {
  const Problem p = problem(GetParam(), 11, 4, 37);
  const Vector c = normals(11, 9);
  const Matrix J = p.jacobian().cast<double>();
  for (const Space space : {Space::weights, Space::gram}) {
    const auto data = points<double>(p.X, space);
    const Trainer<double> trainer(data, p.network, p.phi, space);
    EXPECT_LT(relative(trainer.gradient(c).reshaped<Eigen::RowMajor>(), J.transpose() * c), rounding(p));
    EXPECT_LT(relative(trainer.normal_product(c), J * (J.transpose() * c)), rounding(p));
    const Matrix S = trainer.scaled_pattern();
    EXPECT_LT(relative((S * S.transpose()).cwiseProduct(p.X * p.X.transpose()), J * J.transpose()),
              rounding(p));
  }
}

TEST_P(EveryActivation, SinglePrecisionFollows) {
  const Problem p = problem(GetParam(), 40, 20, 90, 2, "ntk");
  for (const Space space : {Space::weights, Space::gram}) {
    const auto exact = points<double>(p.X, space);
    const auto rounded = points<float>(p.X, space);
    Trainer<double> a(exact, p.network, p.phi, space);
    Trainer<float> b(rounded, p.network, p.phi, space);
    for (int k = 0; k < 20; ++k) {
      a.move(0.02 * (a.f() - p.y));
      b.move(0.02 * (b.f() - p.y));
    }
    EXPECT_LT(relative(b.f(), a.f()), 20 * rounding(p, 0x1p-24));
  }
}

TEST_P(EveryActivation, ThreadsChangeNoBit) {
  const Problem p = problem(GetParam(), 150, 12, 1111, 7, "ntk");
  const int before = omp_get_max_threads();
  for (const Space space : {Space::weights, Space::gram}) {
    RowMatrix W[2];
    Vector f[2];
    for (const int threads : {1, 3}) {
      omp_set_num_threads(threads);
      const auto data = points<double>(p.X, space);
      Trainer<double> trainer(data, p.network, p.phi, space);
      for (int k = 0; k < 5; ++k) trainer.move(0.01 * residual(trainer, p.y));
      W[threads / 2] = trainer.weights();
      f[threads / 2] = trainer.f();
    }
    EXPECT_TRUE(W[0] == W[1] && f[0] == f[1]);
  }
  omp_set_num_threads(before);
}

// PyTorch's autograd, float64, 200 steps.
TEST(Trainer, FollowsPyTorch) {
  for (const Trajectory& t : trajectories("gd"))
    for (const Space space : {Space::weights, Space::gram}) {
      const auto data = points<double>(t.X, space);
      Trainer<double> trainer(data, {t.W_0, t.v}, activation(t.activation), space);
      Problem p = t.problem();
      Drift drift;
      for (Index k = 0; k <= t.steps(); ++k) {
        drift.step(p, t.step);
        EXPECT_NEAR(residual(trainer, t.y).norm(), t.misfit(k), drift.outputs) << t.name << " step " << k;
        if (k < t.steps()) trainer.move(t.step * residual(trainer, t.y));
        p.step(t.step);
      }
      EXPECT_LT((trainer.weights() - t.W).norm(), drift.off) << t.name;
    }
}

TEST(Trainer, FollowsPyTorchOnBatches) {
  for (const char* method : {"sgd1", "sgd4"})
    for (const Trajectory& t : trajectories(method)) {
      const auto data = points<double>(t.X, Space::weights);
      Trainer<double> trainer(data, {t.W_0, t.v}, activation(t.activation), Space::weights);
      Problem p = t.problem();
      Drift drift;
      for (Index k = 0; k < t.steps(); ++k) {
        drift.step(p, t.step);
        const auto& batch = t.batches[static_cast<std::size_t>(k)];
        Vector r = trainer.batch_outputs(batch);
        for (std::size_t b = 0; b < batch.size(); ++b) r(static_cast<Index>(b)) -= t.y(batch[b]);
        trainer.batch_move(t.step * r);
        trainer.refresh();
        p.step(t.step, batch);
        Drift after = drift;
        after.step(p, t.step);
        EXPECT_NEAR(residual(trainer, t.y).norm(), t.misfit(k + 1), after.outputs) << t.name << " step " << k;
      }
      EXPECT_LT((trainer.weights() - t.W).norm(), drift.off) << t.name;
    }
}

TEST(Trainer, FollowsPyTorchInGaussNewtonSteps) {
  for (const Trajectory& t : trajectories("gauss_newton")) {
    const auto data = points<double>(t.X, Space::gram);
    Trainer<double> trainer(data, {t.W_0, t.v}, activation(t.activation), Space::gram);
    const Matrix G = t.X * t.X.transpose();
    // The step is not a contraction of which rounding is known: what PyTorch's two ways differ by is taken a
    // hundred times.
    const double allowed = 100 * t.spread;
    for (Index k = 0; k < t.steps(); ++k) {
      const Matrix S = trainer.scaled_pattern();
      Matrix K = (S * S.transpose()).cwiseProduct(G);
      K.diagonal().array() += t.damping;
      trainer.move(solve_by_ldlt(K, residual(trainer, t.y)));
      EXPECT_NEAR(residual(trainer, t.y).norm(), t.misfit(k + 1), allowed) << t.name << " step " << k;
    }
    EXPECT_LT((trainer.weights() - t.W).cwiseAbs().maxCoeff(), allowed) << t.name;
  }
}

TEST(Trainer, NonFiniteWeightsAreSeen) {
  Problem p = problem("relu", 5, 3, 8);
  p.network.W(2, 1) = std::numeric_limits<double>::quiet_NaN();
  for (const Space space : {Space::weights, Space::gram}) {
    const auto data = points<double>(p.X, space);
    EXPECT_FALSE(Trainer<double>(data, p.network, p.phi, space).f().allFinite());
  }
}

TEST(Trainer, StateGoesBack) {
  const Problem p = problem("softplus", 12, 5, 33);
  for (const Space space : {Space::weights, Space::gram}) {
    const auto data = points<double>(p.X, space);
    Trainer<double> trainer(data, p.network, p.phi, space);
    trainer.move(0.1 * residual(trainer, p.y));
    const auto state = trainer.state();
    trainer.move(0.1 * residual(trainer, p.y));
    const Vector f = trainer.f();
    trainer.restore(state);
    trainer.move(0.1 * residual(trainer, p.y));
    EXPECT_TRUE(f == trainer.f());
  }
}

TEST(Trainer, CheaperSpaceFollowsTheCost) {
  EXPECT_EQ(cheaper_space(100, 1000, false), Space::gram);
  EXPECT_EQ(cheaper_space(1000, 784, false), Space::gram);  // n < 2 d
  EXPECT_EQ(cheaper_space(2000, 784, false), Space::weights);
  EXPECT_EQ(cheaper_space(60000, 784, true), Space::weights);
}

}  // namespace
}  // namespace zeroloss::test
