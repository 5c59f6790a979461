// The heavy ball: the recurrence written down plainly, both spaces and precisions, its forecast.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/fit_cases.hpp"
#include "support/temp_folder.hpp"
#include "train/optimizers/optimizers.hpp"

namespace zeroloss::test {
namespace {

FitOptions heavy(const std::string& activation, Index steps) {
  FitOptions o = small("momentum", activation);
  o.step = "0.02";
  o.max_steps = steps;
  o.tolerance = 1e-300;
  o.certify_every = 0;
  o.record_every = 1;
  return o;
}

// Every number of the curve, and the weights, 60 steps long. The widest network takes several tiles of
// neurons.
TEST(Momentum, FollowsThePlainRecurrence) {
  for (const std::string& phi : activation_names())
    for (const char* space : {"weights", "gram"})
      for (const auto& [n, d, m] : {std::tuple<Index, Index, Index>{12, 5, 30}, {1, 1, 3}, {7, 9, 300}}) {
        SCOPED_TRACE(phi + " in " + space + ", width " + std::to_string(m));
        FitOptions o = heavy(phi, 60);
        o.space = space;
        o.width = m;
        o.momentum = 0.8;
        const Dataset data = sphere_data(n, d);
        const FitResult r = fit(data, o);
        EXPECT_EQ(r.space, space);
        ASSERT_EQ(r.outputs[0].curve.size(), 61u);

        Problem p{data.X, data.y, draw({.width = m, .d = d}), activation(phi)};
        const RowMatrix start = p.network.W;
        RowMatrix before = start;
        double path = 0, off_path = 0;
        Drift drift;
        for (const CurvePoint& point : r.outputs[0].curve) {
          const double off = drift.off, time = 0.02 * static_cast<double>(point.step);
          drift.step(p, 0.02, 0.8);
          EXPECT_NEAR(point.relative_misfit, p.r().norm() / data.y.norm(), drift.outputs / data.y.norm())
              << point.step;
          EXPECT_NEAR(point.path_length, path, off_path) << point.step;
          EXPECT_NEAR(point.distance, (p.network.W - start).norm(), off) << point.step;
          EXPECT_NEAR(point.time, time, test::gamma_of(60) * time);
          off_path += off + drift.off;
          const RowMatrix now = p.network.W;
          p.step(0.02);
          p.network.W += 0.8 * (now - before);
          before = now;
          path += (p.network.W - now).norm();
        }
        EXPECT_LE((r.network.outputs[0].W - before).norm(), drift.off);
        EXPECT_GT((before - start).norm(), 1e9 * drift.off);  // far above
      }
}

TEST(Momentum, ZeroIsGradientDescent) {
  for (const char* space : {"weights", "gram"}) {
    FitOptions o = heavy("tanh", 50), gd = o;
    o.space = gd.space = space;
    o.momentum = 0;
    gd.momentum = FitOptions().momentum;
    gd.optimizer = "gd";
    const Dataset data = sphere_data(12, 5);
    Problem p{data.X, data.y, draw({.width = 60, .d = 5}), activation("tanh")};
    Drift drift;
    for (int k = 0; k < 50; ++k, p.step(0.02)) drift.step(p, 0.02);
    EXPECT_LE((fit(data, o).network.outputs[0].W - fit(data, gd).network.outputs[0].W).norm(), drift.off);
  }
}

TEST(Momentum, SinglePrecisionFollows) {
  for (const char* space : {"weights", "gram"}) {
    FitOptions o = heavy("softplus", 40);
    o.space = space;
    const Dataset data = sphere_data(20, 10);
    const FitResult exact = fit(data, o);
    o.precision = "float32";
    const FitResult rounded = fit(data, o);
    EXPECT_EQ(rounded.network.precision, "float32");
    Problem p{data.X, data.y, draw({.width = 60, .d = 10}), activation("softplus")};
    RowMatrix before = p.network.W;
    Drift drift;
    double off_path = 0;
    for (int k = 0; k < 40; ++k) {
      off_path += drift.off;
      drift.step(p, 0.02, o.momentum, 0x1p-24);
      off_path += drift.off;
      const RowMatrix now = p.network.W;
      p.step(0.02);
      p.network.W += o.momentum * (now - before);
      before = now;
    }
    EXPECT_LE((rounded.network.outputs[0].W - exact.network.outputs[0].W).norm(), drift.off);
    EXPECT_NEAR(rounded.outputs[0].curve.back().path_length, exact.outputs[0].curve.back().path_length,
                off_path);
  }
}

// What it is for: fewer steps of the same size, by up to 1/(1 - momentum) = 10 times, where a small
// lambda_min makes gradient descent slow.
TEST(Momentum, TakesFewerStepsThanGradientDescent) {
  const Dataset data = sphere_data(40, 4);
  FitOptions o = small("momentum", "relu");
  o.width = 500;
  o.max_steps = 100'000;
  o.tolerance = 1e-4;
  o.certify_every = 0;
  const FitResult ball = fit(data, o);
  o.optimizer = "gd";
  const FitResult gd = fit(data, o);
  EXPECT_EQ(ball.step, gd.step);
  EXPECT_EQ(ball.status, Status::certified) << ball.conclusion;
  EXPECT_LT(3 * ball.steps, gd.steps);
}

TEST(Momentum, ForecastIsTheRecurrenceOfEachComponent) {
  const internal::Left left = internal::method("momentum").left;
  for (const double momentum : {0.0, 0.5, 0.9})
    for (const double x : {1e-3, 0.4, 1.5, 2.9, 3.9, 5.0}) {  // step h; stable below 2 (1 + momentum)
      FitOptions o;
      o.momentum = momentum;
      // Powers of the recurrence's matrix grow as k times those of its larger eigenvalue, and each step adds
      // a few roundings.
      const double half = (1 + momentum - x) / 2, square = half * half - momentum;
      const double growth =
          std::max(1.0, square > 0 ? std::abs(half) + std::sqrt(square) : std::sqrt(momentum));
      long double last = 1, e = 1;
      for (int k = 0; k <= 70; ++k) {
        const double error = test::gamma_of(16 * (k + 1) * (k + 1)) * std::pow(growth, 2 * k);
        EXPECT_NEAR(left(x / 0.25, 0.25, o, k), static_cast<double>(e * e), error)
            << momentum << " " << x << " " << k;
        const long double next = (1 + momentum - static_cast<long double>(x)) * e - momentum * last;
        last = e;
        e = next;
      }
      EXPECT_EQ(std::abs(e) + std::abs(last) < 3, x < 2 * (1 + momentum)) << momentum << " " << x;
    }
  FitOptions o = small("momentum", "softplus");
  o.width = 20'000;
  o.max_steps = 20;
  const CurvePoint last = fit(sphere_data(6, 12), o).outputs[0].curve.back();
  // J J^T fluctuates by some 1/sqrt(width) around its limit.
  EXPECT_NEAR(last.relative_misfit / last.forecast.value(), 1, 14 / std::sqrt(20'000));
}

TEST(Momentum, NoTheoremCoversIt) {
  const FitResult r = fit(sphere_data(9, 4), small("momentum", "relu"));
  EXPECT_TRUE(r.outputs[0].theorem.id.empty());
  EXPECT_EQ(r.outputs[0].theorem.reason, "no theorem covers relu with ntk scaling and momentum");
  EXPECT_FALSE(r.outputs[0].curve.back().bound_misfit);
}

TEST(Momentum, BadOptionsAreNamed) {
  const auto refused = [&](const char* what, auto change) {
    FitOptions o = small("momentum");
    change(o);
    EXPECT_MESSAGE(std::invalid_argument, fit(sphere_data(9, 4), o), what);
  };
  refused("momentum must be in [0, 1); got 1", [](FitOptions& o) { o.momentum = 1; });
  refused("momentum must be in [0, 1); got -0.1", [](FitOptions& o) { o.momentum = -0.1; });
  refused("momentum must be in [0, 1)", [](FitOptions& o) { o.momentum = std::nan(""); });
  refused("batch is for sgd; momentum uses all points", [](FitOptions& o) { o.batch = 2; });
  refused("step theorem: no theorem covers softplus", [](FitOptions& o) { o.step = "theorem"; });
}

}  // namespace
}  // namespace zeroloss::test
