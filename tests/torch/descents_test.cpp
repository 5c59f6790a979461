#include "zeroloss/torch/descents.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>

#include "support/points.hpp"
#include "support/sweep_cases.hpp"
#include "torch/cuda.hpp"
#include "torch/descent_batch.hpp"
#include "torch/device.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/sources/readers.hpp"

// Networks trained side by side, on the processor and, where there is one, on a GPU: against the recurrence
// written out, each against itself alone, and sweeps against those of the processor.
namespace zeroloss::test {
namespace {

using namespace internal;

class DescentsOn : public SweepStore, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("cuda") && cuda::devices() == 0) GTEST_SKIP() << "no GPU";
  }
  static std::unique_ptr<DescentEngine> engine() { return torch_descents(GetParam()); }

  Progress progress;
};

INSTANTIATE_TEST_SUITE_P(Torch, DescentsOn, testing::Values("cpu", "cuda"),
                         [](const auto& info) { return std::string(info.param); });

// ---- networks ----

// Some that converge, some that diverge, some whose steps are over before; one of no steps at all.
struct Family {
  std::vector<RowMatrix> points;
  std::vector<Descent> list;

  Family(Index count, Index n, Index d, Index m) {
    for (Index k = 0; k < count; ++k) points.push_back(sphere(n, d, static_cast<std::uint64_t>(k)));
    for (Index k = 0; k < count; ++k) {
      Random random(static_cast<std::uint64_t>(k), Stream::probes);
      Matrix y(n, 1);
      random.fill_normal(y);
      Draw drawn{m, d};
      drawn.seed = static_cast<std::uint64_t>(k);
      Descent one{&points[static_cast<std::size_t>(k)], y.col(0), draw(drawn), 0, 0, 0};
      one.step = k % 5 == 3 ? 40 : 0.2 + 0.1 * static_cast<double>(k % 4);
      one.residual = (k % 3 == 0 ? 0.3 : 0.01) * one.y.norm();
      one.max_steps = k == 7 ? 0 : 30 * (1 + k % 6);
      list.push_back(std::move(one));
    }
  }
};

// W <- W - eta J^T r in doubles, as theory 6 writes it.
Descended plainly(const Descent& one, double growth) {
  const RowMatrix& X = *one.X;
  Descended now{one.start.W, 0, false, false};
  double most = 0;
  while (true) {
    const RowMatrix Z = X * now.W.transpose();
    const Vector r = Z.cwiseMax(0) * one.start.v - one.y;
    if (now.steps == 0) most = growth * r.norm();
    now.diverged = !std::isfinite(r.norm()) || r.norm() > most;
    now.converged = !now.diverged && r.norm() <= one.residual;
    if (now.diverged || now.converged || now.steps == one.max_steps) return now;
    const RowMatrix slopes = (Z.array() >= 0).cast<double>();
    now.W -= one.step * (one.start.v.asDiagonal() * slopes.transpose() * r.asDiagonal() * X);
    ++now.steps;
  }
}

std::map<std::size_t, Descended> trained(DescentEngine& engine, const std::vector<Descent>& list,
                                         const DescentRules& rules) {
  std::map<std::size_t, Descended> all;
  Progress progress;
  engine.train(
      list, rules,
      [&](auto some) {
        EXPECT_FALSE(some.empty());
        for (auto& [k, one] : some) EXPECT_TRUE(all.emplace(k, std::move(one)).second) << k;
      },
      progress);
  EXPECT_EQ(all.size(), list.size());
  return all;
}

void expect_alike(const Descended& found, const Descended& expected, double error) {
  EXPECT_EQ(found.steps, expected.steps);
  EXPECT_EQ(found.converged, expected.converged);
  EXPECT_EQ(found.diverged, expected.diverged);
  if (expected.diverged) return;
  EXPECT_LE((found.W - expected.W).norm(), error * expected.W.norm());
}

TEST_P(DescentsOn, FollowTheRecurrence) {
  const Family family(40, 9, 5, 14);
  // At most 180 steps, each of which adds some n + d + m roundings to W and to r.
  const std::map<std::string, double> errors{{"float64", 180 * 28 * 0x1p-53},
                                             {"float32", 180 * 28 * 0x1p-24}};
  for (const auto& [precision, error] : errors) {
    SCOPED_TRACE(precision);
    const auto device = engine();
    const auto all = trained(*device, family.list, {precision, 1000});
    int converged = 0, diverged = 0, spent = 0;
    for (const auto& [k, one] : all) {
      SCOPED_TRACE(k);
      const Descended expected = plainly(family.list[k], 1000);
      expect_alike(one, expected, error);
      ++(one.converged ? converged : one.diverged ? diverged : spent);
    }
    EXPECT_GT(converged, 5);
    EXPECT_GT(diverged, 5);
    EXPECT_GT(spent, 5);
    EXPECT_EQ(all.at(7).steps, 0);
    EXPECT_EQ(all.at(7).W, rounded(family.list[7].start, precision).W);
  }
}

TEST_P(DescentsOn, EachIsTrainedAsIfItWereAlone) {
  const Family family(12, 30, 4, 25);
  const auto device = engine();
  const DescentRules rules{"float64", 1000};
  const auto all = trained(*device, family.list, rules);
  for (std::size_t k = 0; k < family.list.size(); ++k) {
    SCOPED_TRACE(k);
    expect_alike(all.at(k), trained(*device, {family.list[k]}, rules).at(0), 180 * 59 * 0x1p-53);
  }
}

TEST_P(DescentsOn, WhatIsNotFiniteHasDiverged) {
  Family family(3, 6, 3, 4);
  family.list[0].start.W(1, 1) = std::numeric_limits<double>::quiet_NaN();
  family.list[1].start.W *= 1e200;
  const auto device = engine();
  for (const char* precision : {"float64", "float32"}) {
    const auto all = trained(*device, family.list, {precision, 1000});
    EXPECT_TRUE(all.at(0).diverged);
    EXPECT_TRUE(all.at(1).diverged);
    EXPECT_EQ(all.at(0).steps, 0);
    const double unit = precision == std::string("float64") ? 0x1p-53 : 0x1p-24;
    expect_alike(all.at(2), plainly(family.list[2], 1000), 180 * (6 + 3 + 4) * unit);
  }
}

TEST_P(DescentsOn, SmallerOnesAreFilledUp) {
  const Family families[] = {{8, 9, 5, 14}, {8, 2, 7, 3}, {8, 17, 1, 20}, {8, 1, 1, 1}};
  std::vector<Descent> list;
  for (const Family& family : families) list.insert(list.end(), family.list.begin(), family.list.end());
  const auto device = engine();
  const auto all = trained(*device, list, {"float64", 1000});
  for (std::size_t k = 0; k < list.size(); ++k) {
    SCOPED_TRACE(k);
    expect_alike(all.at(k), plainly(list[k], 1000), 180 * 44 * 0x1p-53);
  }
  EXPECT_NO_THROW(device->train(
      {}, {}, [](auto) { FAIL(); }, progress));
}

TEST_P(DescentsOn, AsManyAsTheMemoryTakes) {
  const auto device = engine();
  EXPECT_GT(device->at_once({20, 4, 10}, {}), 1000);
  EXPECT_LT(device->at_once({20'000, 40, 1000}, {}), 1000);
  EXPECT_THROW(device->at_once({10'000'000, 10, 1'000'000}, {}), ResourceError);
}

TEST_P(DescentsOn, CancelledTheyStop) {
  Family family(4, 20, 4, 30);
  for (Descent& one : family.list) one.residual = 0, one.step = 1e-6, one.max_steps = 1'000'000'000;
  std::atomic<bool> cancel{false};
  Progress stoppable({}, &cancel);
  family.list[1].max_steps = 40;  // ends, and then all are told to
  const auto device = engine();
  int heard = 0;
  EXPECT_THROW(device->train(
                   family.list, {},
                   [&](auto some) {
                     heard += static_cast<int>(some.size());
                     EXPECT_EQ(some.front().first, 1u);
                     cancel = true;
                   },
                   stoppable),
               Interrupted);
  EXPECT_EQ(heard, 1);
}

// ---- sweeps ----

struct Compared {
  int rows = 0, other_status = 0, other_steps = 0;
  double most = 0;  ///< difference of steps, of those with one status, relative
};

// Data, seed and step of each row bit by bit; and how many ended otherwise.
Compared compared(const Rows& here, const Rows& there) {
  Compared all;
  EXPECT_EQ(here.size(), there.size());
  for (std::size_t k = 0; k < std::min(here.size(), there.size()); ++k) {
    const auto &a = here[k], &b = there[k];
    for (std::size_t column = 0; column <= 10; ++column)
      EXPECT_EQ(a[column], b[column]) << k << ", " << column;
    ++all.rows;
    all.other_status += a[13] == b[13] ? 0 : 1;
    all.other_steps += a[11] == b[11] ? 0 : 1;
    const double difference = std::abs(std::stod(a[11]) - std::stod(b[11])) / std::max(1.0, std::stod(a[11]));
    if (a[13] == b[13]) all.most = std::max(all.most, difference);
  }
  return all;
}

SweepOptions wide_grid() {
  SweepOptions o = mixed();
  o.axes.n = {3, 12, 25};
  o.axes.step = {"auto", "0.3", "30"};
  o.axes.scaling = {"ntk", "balanced"};
  o.axes.tolerance = {1e-2, 0.3};
  return o;
}

// Sums are taken in another order. In doubles that moves a misfit so little that it decides next to never, in
// floats by some 1e-6 of it where a step lowers it by as little as 1e-4: now and then.
TEST_P(DescentsOn, SweepsEndAsThoseOfTheProcessor) {
  for (const char* precision : {"float64", "float32"}) {
    SCOPED_TRACE(precision);
    const bool doubles = precision == std::string("float64");
    SweepOptions o = wide_grid();
    o.fit.precision = precision;
    std::filesystem::remove(file);
    const SweepResult here = run("sphere:", o);
    const Rows of_here = rows();
    std::filesystem::remove(file);
    o.store = file;
    const auto device = engine();
    const SweepResult there = sweep("sphere:", o, progress, *device);
    const Compared all = compared(of_here, rows());
    EXPECT_EQ(all.rows, 1080);
    EXPECT_LE(all.other_status, doubles ? 0 : 10);
    EXPECT_LE(all.other_steps, doubles ? 0 : 20);
    EXPECT_LE(all.most, 0.02);
    EXPECT_EQ(here.trials, there.trials);
    EXPECT_EQ(here.engine, "");
    EXPECT_EQ(there.engine, device->name());
  }
}

// Beyond the sizes of SmallTrainer fit takes steps in Gram space, whose J J^T of auto is rounded otherwise.
TEST_P(DescentsOn, WideNetworksEndAsThoseOfFit) {
  SweepOptions o = quick();
  o.fit.precision = "float64";
  o.axes.width = {201, 300};
  o.axes.step = {"0.4", "auto", "60"};
  run("sphere:n=12,d=5", o);
  Rows of_here = rows();
  std::filesystem::remove(file);
  o.store = file;
  const auto device = engine();
  sweep("sphere:n=12,d=5", o, progress, *device);
  Rows there = rows();
  for (std::size_t k = 0; k < there.size(); ++k) {
    const double misfit = std::stod(of_here[k][7]);
    EXPECT_NEAR(std::stod(there[k][7]), misfit,
                8 * 400 * (12 + 5 + 300) * 0x1p-53 * misfit);  // 400 steps of 4 products, twice
    there[k][7] = of_here[k][7];
  }
  const Compared all = compared(of_here, there);
  EXPECT_EQ(all.rows, 12);
  EXPECT_EQ(all.other_status, 0);
  EXPECT_EQ(all.other_steps, 0);
}

}  // namespace
}  // namespace zeroloss::test
