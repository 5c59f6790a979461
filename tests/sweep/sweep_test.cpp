// sweep from end to end: the same results whatever threads and interruptions, sums over trials, errors.
#include "zeroloss/sweep/sweep.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "support/number.hpp"
#include "support/sweep_cases.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/sources/readers.hpp"

namespace zeroloss::test {
namespace {

TEST_F(SweepStore, CellsSumUpTheirTrials) {
  const SweepResult result = run("sphere:n=12", mixed());
  const Rows all = rows();
  Index successes = 0;
  for (std::size_t c = 0; c < result.cells.size(); ++c) {
    const CellResult& cell = result.cells[c];
    Index good = 0, steps = 0;
    std::vector<double> misfits;
    for (const auto& row : all) {
      if (row[0] != std::to_string(c)) continue;
      good += row[13] == "converged" ? 1 : 0;
      steps += std::stol(row[11]);
      misfits.push_back(number(row[12]));
    }
    std::sort(misfits.begin(), misfits.end());
    ASSERT_EQ(misfits.size(), 5u);
    EXPECT_EQ(cell.trials, 5);
    EXPECT_EQ(cell.successes, good);
    EXPECT_EQ(cell.probability, static_cast<double>(good) / 5);
    EXPECT_EQ(cell.interval.low, wilson(good, 5).low);
    EXPECT_EQ(cell.mean_steps, static_cast<double>(steps) / 5);
    EXPECT_EQ(cell.median_misfit, misfits[2]);
    EXPECT_EQ(cell.cell.n, 12);
    successes += good;
  }
  EXPECT_GT(successes, 0);
  EXPECT_LT(successes, result.trials);
  ASSERT_EQ(result.panels.size(), 1u);
  EXPECT_EQ(result.panels[0].x, "d");
  EXPECT_EQ(result.panels[0].y, "width");
  EXPECT_EQ(result.rounds, 1);
  EXPECT_EQ(result.before, 0);
  EXPECT_EQ(result.digest, "");
}

TEST_F(SweepStore, DivergedTrialsAreFailures) {
  SweepOptions o = quick();
  o.axes.step = {"0.05", "1000"};
  const SweepResult result = run("sphere:n=10,d=3", o);
  EXPECT_EQ(result.cells[0].diverged, 0);
  EXPECT_EQ(result.cells[1].diverged, 2);
  EXPECT_EQ(result.cells[1].successes, 0);
  EXPECT_EQ(result.cells[1].median_misfit, HUGE_VAL);
  EXPECT_NE(result.conclusion.find("2 diverged"), std::string::npos) << result.conclusion;
  for (const auto& row : rows()) EXPECT_EQ(row[13] + row[14] == "diverged0", row[0] == "1");
}

TEST_F(SweepStore, TrialsCanBeCertified) {
  SweepOptions o = quick();
  o.fit.precision = "float64";
  o.fit.optimizer = "gauss_newton";
  o.axes.width = {1, 60};
  o.certify = true;
  const SweepResult result = run("sphere:n=12,d=6", o);
  EXPECT_EQ(result.cells[0].certified, 0);
  EXPECT_EQ(result.cells[1].certified, 2);
  EXPECT_EQ(result.cells[1].successes, 2);
  for (const auto& row : rows()) {
    EXPECT_EQ(row[13] == "certified", row[0] == "1");
    EXPECT_EQ(row[15] == "none", row[0] == "0");
  }
}

TEST_F(SweepStore, ThreadsChangeNothing) {
  const int before = omp_get_max_threads();
  for (const bool adaptive : {false, true}) {
    SweepOptions o = mixed();
    o.adaptive = adaptive;
    o.max_trials = 12;
    Rows found[2];
    for (const int threads : {1, 4}) {
      omp_set_num_threads(threads);
      std::filesystem::remove(file);
      const SweepResult result = run("sphere:n=12", o);
      found[threads / 4] = rows();
      EXPECT_EQ(result.rounds > 1, adaptive);
    }
    EXPECT_EQ(found[0], found[1]);
    EXPECT_EQ(found[0].size() > 30, adaptive);
  }
  omp_set_num_threads(before);
}

TEST_F(SweepStore, MemoryAndFileGiveTheSame) {
  const SweepOptions o = mixed();
  const SweepResult in_file = run("sphere:n=12", o), in_memory = sweep("sphere:n=12", o);
  ASSERT_EQ(in_file.cells.size(), in_memory.cells.size());
  for (std::size_t c = 0; c < in_file.cells.size(); ++c) {
    EXPECT_EQ(in_file.cells[c].successes, in_memory.cells[c].successes);
    EXPECT_EQ(in_file.cells[c].mean_steps, in_memory.cells[c].mean_steps);
    EXPECT_EQ(in_file.cells[c].median_misfit, in_memory.cells[c].median_misfit);
  }
  EXPECT_EQ(in_file.conclusion, in_memory.conclusion);
}

// Cancelled after every few trials, and continued until it is complete.
TEST_F(SweepStore, InterruptionsChangeNothing) {
  for (const bool adaptive : {false, true}) {
    SweepOptions o = mixed();
    o.adaptive = adaptive;
    o.max_trials = 12;
    std::filesystem::remove(file);
    run("sphere:n=12", o);
    const Rows whole = rows();
    std::filesystem::remove(file);
    o.store = file;
    SweepResult result;
    int interruptions = -1;
    for (; !result.complete; ++interruptions) {
      ASSERT_LT(interruptions, 100);
      const Index before = result.trials;
      std::atomic<bool> cancel{false};
      Progress progress([&](const ProgressReport& report) { cancel = report.done >= 4; }, &cancel, 0);
      result = sweep("sphere:n=12", o, progress);
      EXPECT_EQ(result.before, before);
      EXPECT_EQ(result.complete, result.last);
      EXPECT_EQ(static_cast<Index>(rows().size()), result.trials);
      EXPECT_EQ(sqlite(file, "SELECT count(*) FROM claims")[0][0], "0");
    }
    EXPECT_GE(interruptions, 3);
    EXPECT_EQ(rows(), whole);
  }
}

TEST_F(SweepStore, ACompleteOneIsReadAndNotTrainedAgain) {
  const SweepResult first = run("sphere:n=12", mixed()), again = run("sphere:n=12", mixed());
  EXPECT_TRUE(again.complete);
  EXPECT_TRUE(again.last);
  EXPECT_EQ(again.before, first.trials);
  EXPECT_EQ(again.trials, first.trials);
  EXPECT_EQ(again.conclusion, first.conclusion);
}

TEST_F(SweepStore, CancelledBeforeItBeginsItHasNoTrials) {
  const std::atomic<bool> cancel{true};
  Progress progress({}, &cancel);
  const SweepResult result = sweep("sphere:n=12", mixed(), progress);
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.trials, 0);
  EXPECT_EQ(result.cells.size(), 6u);
  EXPECT_EQ(result.cells[0].interval.high, 1);
}

TEST_F(SweepStore, ResultsDependOnTheSeedAndOnNoOtherCell) {
  SweepOptions o = mixed();
  run("sphere:n=12", o);
  const Rows all = rows();
  o.axes.width = {10};
  std::filesystem::remove(file);
  run("sphere:n=12", o);
  Rows some = rows(), expected;
  for (auto row : all)
    if (row[4] == "10") expected.push_back({row.begin() + 1, row.end()});  // without the cell's number
  for (auto& row : some) row.erase(row.begin());
  EXPECT_EQ(some, expected);
  o.read.seed = 1;
  std::filesystem::remove(file);
  run("sphere:n=12", o);
  for (std::size_t k = 0; k < some.size(); ++k) EXPECT_NE(rows()[k][12], some[k][11]);
}

// Points in memory are chosen as those of the file they came from: digits has ten classes named by numbers.
TEST_F(SweepStore, OfADataSetTrialsAreThoseOfItsFile) {
  SweepOptions o = quick();
  o.fit.max_steps = 20;
  o.axes.n = {30, 60};
  o.axes.noise = {0, 0.3};
  o.read.classes = {"9", "1", "4"};
  const SweepResult named = run("digits", o);
  Rows expected = rows();
  std::filesystem::remove(file);
  o.store = file;
  Progress silent;
  const Dataset data = read_dataset("digits");
  const SweepResult result = sweep(data, o, silent);
  EXPECT_EQ(result.source, "digits");
  EXPECT_EQ(result.digest, named.digest);
  EXPECT_TRUE(named.named);
  EXPECT_FALSE(result.named);
  Rows found = rows();
  for (Rows* all : {&expected, &found})
    for (auto& row : *all) row.resize(13);  // the rest is when and how long
  EXPECT_EQ(found, expected);

  const TrialRun trial = trial_run("digits", o, 3, 1);
  EXPECT_EQ(trial.read.labels, "noise:0.3");
  EXPECT_EQ(std::to_string(fit(select(source_of(data), trial.read), trial.fit).steps), found[7][11]);
  EXPECT_THROW(trial_run("digits", o, 4, 0), std::out_of_range);
}

TEST_F(SweepStore, WhatATrialThrowsKeepsTheOthers) {
  SweepOptions o = quick();
  o.fit.max_steps = 5;
  o.axes.d = {2, 65};
  o.trials = 30;
  o.read.n = 10;
  o.read.classes = {"3", "8"};
  EXPECT_MESSAGE(DataError, run("digits", o), "d = 65", "64 features", "of a cell with n = 10, d = 65",
                 "seed ");
  for (const auto& row : rows()) EXPECT_EQ(row[3], "2");
  EXPECT_GT(rows().size(), 0u);
  EXPECT_EQ(sqlite(file, "SELECT count(*) FROM claims")[0][0], "0");
}

TEST_F(SweepStore, ErrorsNameTheOption) {
  SweepOptions o = mixed();
  run("sphere:n=12", o);
  o.trials = 6;
  EXPECT_MESSAGE(std::invalid_argument, run("sphere:n=12", o), "its trials is 5, not 6");
  EXPECT_MESSAGE(std::invalid_argument, run("sphere:n=13", mixed()),
                 "its data is sphere:n=12, not sphere:n=13");
  EXPECT_MESSAGE(std::invalid_argument, run("sphere:n=12", quick()), "`d`");
  o.axes.width = {0};
  EXPECT_MESSAGE(std::invalid_argument, run("sphere:n=12", o), "width must be >= 1");
  o = mixed();
  o.store = folder / "absent" / "trials.db";
  EXPECT_MESSAGE(ResourceError, sweep("sphere:n=12", o), "absent/trials.db");
}

// The same networks and data in both precisions, which only rounding tells apart: each cell's success
// probability in float64 must lie in the Wilson interval of float32.
TEST_F(SweepStore, Float32SucceedsAsOftenAsFloat64) {
  SweepOptions o = quick();
  o.axes.d = {1, 2, 3, 4, 5};
  o.axes.width = {4, 8, 12, 16, 20};
  o.fit.max_steps = 1500;
  o.trials = 20;
  const SweepResult single = sweep("sphere:n=15", o);
  o.fit.precision = "float64";
  const SweepResult twice = sweep("sphere:n=15", o);
  ASSERT_EQ(single.cells.size(), 25u);
  Index between = 0;
  for (std::size_t c = 0; c < 25; ++c) {
    EXPECT_GE(twice.cells[c].probability, single.cells[c].interval.low) << c;
    EXPECT_LE(twice.cells[c].probability, single.cells[c].interval.high) << c;
    between += single.cells[c].successes % 20 == 0 ? 0 : 1;
  }
  EXPECT_GE(between, 5);  // the transition is in the picture
}

}  // namespace
}  // namespace zeroloss::test
