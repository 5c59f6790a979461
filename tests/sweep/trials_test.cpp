// sweep: a trial is the run of fit that its row says, whatever axis and optimizer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/sweep_cases.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/train/optimizers.hpp"

namespace zeroloss::test {
namespace {

std::string digits17(double value) { return std::isnan(value) ? "NULL" : fmt::format("{:.17g}", value); }

class SweepTrials : public SweepStore {
 protected:
  void expect_runs_of_fit(const std::string& source, const SweepOptions& o, std::size_t cells);
};

// Runs a sweep and each of its rows again by read_dataset and fit, with the values that the row has.
void SweepTrials::expect_runs_of_fit(const std::string& source, const SweepOptions& o, std::size_t cells) {
  SCOPED_TRACE(source);
  std::filesystem::remove(file);
  const SweepResult result = run(source, o);
  EXPECT_TRUE(result.complete);
  EXPECT_TRUE(result.last);
  ASSERT_EQ(result.cells.size(), cells);
  EXPECT_EQ(result.trials, static_cast<Index>(cells) * o.trials);
  const bool generated = source.starts_with("sphere:");
  const Rows all = rows();
  ASSERT_EQ(static_cast<Index>(all.size()), result.trials);
  for (const auto& row : all) {
    const std::string &n = row[2], &d = row[3], &seed = row[10];
    const Cell& cell = result.cells.at(std::stoul(row[0])).cell;
    ReadOptions read = o.read;
    read.seed = std::stoull(seed);
    std::string text = source;
    if (generated && source.find("n=") == std::string::npos)
      text += (text.ends_with(":") ? "n=" : ",n=") + n;
    else if (!o.axes.n.empty())
      read.n = std::stol(n), read.shuffle = true;
    if (generated && source.find("d=") == std::string::npos)
      text += ",d=" + d;
    else if (!o.axes.d.empty())
      read.d = std::stol(d);
    if (!o.axes.noise.empty()) read.labels = "noise:" + row[8];
    FitOptions fit = o.fit;
    fit.certify_every = 0;
    fit.width = std::stol(row[4]);
    fit.activation = row[5];
    fit.scaling = row[6];
    fit.step = cell.step;
    fit.tolerance = cell.tolerance;
    fit.seed = read.seed;
    const FitResult again = zeroloss::fit(read_dataset(text, read), fit);
    SCOPED_TRACE("cell " + row[0] + " trial " + row[1]);
    EXPECT_EQ(std::to_string(again.n), n);
    EXPECT_EQ(std::to_string(again.d), d);
    EXPECT_EQ(row[4], std::to_string(cell.width));
    EXPECT_EQ(digits17(again.step), row[7]);
    EXPECT_EQ(digits17(cell.noise), row[8]);
    EXPECT_EQ(digits17(cell.tolerance), row[9]);
    EXPECT_EQ(std::to_string(again.steps), row[11]);
    EXPECT_EQ(digits17(again.relative_misfit), row[12]);
    // A proof is more than a trial without `certify` knows of.
    Status status = again.status;
    if (status == Status::certified)
      status = again.relative_misfit <= cell.tolerance ? Status::converged : Status::budget_spent;
    EXPECT_EQ(name(status), row[13]);
    EXPECT_EQ(row[14], status == Status::converged ? "1" : "0");
  }
}

TEST_F(SweepTrials, OfEveryAxisAreRunsOfFitOnGeneratedData) {
  const auto check = [&](const std::string& source, const auto& change, std::size_t cells) {
    SweepOptions o = quick();
    change(o);
    expect_runs_of_fit(source, o, cells);
  };
  const std::string points = "sphere:n=15,d=4";
  check(
      "sphere:",
      [](auto& o) {
        o.axes.n = {5, 20}, o.axes.d = {3, 6};
      },
      4);
  check(
      "sphere:d=4,y=sign",
      [](auto& o) {
        o.axes.n = {8, 16};
      },
      2);
  check(
      points,
      [](auto& o) {
        o.axes.n = {6, 15}, o.axes.d = {1, 3};
      },
      4);  // subsets and subspaces
  check(
      points,
      [](auto& o) {
        o.axes.width = {1, 7, 33};
      },
      3);
  check(
      points,
      [](auto& o) {
        o.axes.activation = {"relu", "softplus", "tanh", "sigmoid", "erf", "gelu", "silu", "quadratic"};
      },
      8);
  check(
      points,
      [](auto& o) {
        o.axes.scaling = {"ntk", "balanced"};
      },
      2);
  check(
      points,
      [](auto& o) {
        o.axes.step = {"auto", "0.05", "theorem", "1e-3"};
      },
      4);
  check(
      points,
      [](auto& o) {
        o.axes.noise = {0, 0.3, 1};
      },
      3);
  check(
      points,
      [](auto& o) {
        o.axes.tolerance = {0.5, 1e-2};
      },
      2);
}

TEST_F(SweepTrials, AreRunsOfFitWithEveryOptimizer) {
  for (const OptimizerFacts& facts : optimizers()) {
    if (facts.infinite) continue;  // no weights, no steps
    SweepOptions o = quick();
    o.fit.optimizer = facts.name;
    o.fit.precision = "float64";
    if (facts.batch) o.fit.batch = 3;
    if (facts.momentum) o.fit.momentum = 0.7;
    o.axes.width = {10, 20};
    expect_runs_of_fit("sphere:n=12,d=4", o, 2);
  }
  SweepOptions o = quick();
  o.fit.optimizer = "sgd";
  expect_runs_of_fit("sphere:n=12,d=4", o, 1);
  o = quick();
  o.fit.width = 300;  // beyond the small trainer
  o.fit.space = "gram";
  expect_runs_of_fit("sphere:n=12,d=4", o, 1);
}

TEST_F(SweepTrials, AreRunsOfFitOnRealData) {
  SweepOptions o = quick();
  o.fit.max_steps = 100;
  o.axes.n = {20, 40};
  o.axes.d = {3, 64};
  o.axes.noise = {0, 0.2};
  o.read.classes = {"3", "8"};
  expect_runs_of_fit("digits", o, 8);
  o.fit.center = true;
  o.axes.noise = {};
  o.read.classes = {"1", "4", "7"};  // three outputs
  expect_runs_of_fit("digits", o, 4);
  o.axes = {};
  o.read.n = 25;
  o.read.labels = "random";
  o.axes.scaling = {"balanced", "ntk"};
  expect_runs_of_fit("digits", o, 2);
  std::string csv = "a,b,y\n";
  for (int i = 0; i < 12; ++i) csv += fmt::format("{},{},{:.1f}\n", i, i * i % 7 + 1, 0.1 * i);
  o = quick();
  o.axes.n = {5, 12};
  expect_runs_of_fit(write("table.csv", csv), o, 2);
  EXPECT_EQ(run(path("table.csv"), o).digest, sha256(csv));
}

}  // namespace
}  // namespace zeroloss::test
