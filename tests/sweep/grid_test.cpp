// The cells of a sweep, the seeds of its trials, which trials a round has, the command that repeats one.
#include "sweep/grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss {
using namespace internal;
namespace {

using Texts = std::vector<std::string>;

// Two values of everything.
SweepAxes all_axes() {
  return {{10, 20},        {3, 5},    {4, 8},      {"relu", "tanh"}, {"ntk", "balanced"},
          {"auto", "0.1"}, {0, 0.25}, {1e-2, 1e-3}};
}

// ---- cells ----

TEST(Grid, HasEveryCombinationTheLastAxisFastest) {
  SweepOptions o;
  o.axes = all_axes();
  const auto cells = grid(o);
  ASSERT_EQ(cells.size(), 256u);
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const auto bit = [&](std::size_t axis) { return (k >> (7 - axis)) & 1; };  // of the axis, counted from n
    const Cell& c = cells[k];
    EXPECT_EQ(c.n, o.axes.n[bit(0)]);
    EXPECT_EQ(c.d, o.axes.d[bit(1)]);
    EXPECT_EQ(c.width, o.axes.width[bit(2)]);
    EXPECT_EQ(c.activation, o.axes.activation[bit(3)]);
    EXPECT_EQ(c.scaling, o.axes.scaling[bit(4)]);
    EXPECT_EQ(c.step, o.axes.step[bit(5)]);
    EXPECT_EQ(c.noise, o.axes.noise[bit(6)]);
    EXPECT_EQ(c.tolerance, o.axes.tolerance[bit(7)]);
  }
}

TEST(Grid, TakesWhatIsNoAxisFromTheOptions) {
  SweepOptions o;
  o.fit.width = 7;
  o.fit.activation = "erf";
  o.fit.scaling = "balanced";
  o.fit.step = "0.5";
  o.fit.tolerance = 0.125;
  o.read.n = 9;
  o.read.d = 4;
  const auto cells = grid(o);
  ASSERT_EQ(cells.size(), 1u);
  const Cell& c = cells[0];
  EXPECT_EQ(c.n, 9);
  EXPECT_EQ(c.d, 4);
  EXPECT_EQ(c.width, 7);
  EXPECT_EQ(c.activation, "erf");
  EXPECT_EQ(c.scaling, "balanced");
  EXPECT_EQ(c.step, "0.5");
  EXPECT_EQ(c.noise, 0);
  EXPECT_EQ(c.tolerance, 0.125);
}

// ---- options ----

TEST(SweepOptions, ErrorsNameTheOption) {
  const auto refused = [](const std::string& source, const auto& change, const Texts& texts) {
    SweepOptions o;
    change(o);
    const std::string message = test::message_of<std::invalid_argument>([&] { (void)checked(source, o); });
    for (const auto& text : texts) EXPECT_NE(message.find(text), std::string::npos) << message;
  };
  const std::string points = "sphere:n=10,d=3";
  refused(points, [](auto& o) { o.axes.n = {5, 0}; }, {"n must be >= 1", "got 0"});
  refused(points, [](auto& o) { o.fit.start = start_of({{RowMatrix::Ones(1024, 3), {}}}); }, {"draws its"});
  refused(points, [](auto& o) { o.axes.d = {-2}; }, {"d must be >= 1", "got -2"});
  refused(points, [](auto& o) { o.axes.width = {0}; }, {"width must be >= 1"});
  refused(points, [](auto& o) { o.axes.width = {4, 8, 4}; }, {"width", "twice"});
  refused(points, [](auto& o) { o.axes.noise = {1.5}; }, {"noise must be in [0, 1]", "1.5"});
  refused(points, [](auto& o) { o.axes.noise = {std::nan("")}; }, {"noise"});
  refused(points, [](auto& o) { o.axes.tolerance = {0}; }, {"tolerance must be > 0"});
  refused(points, [](auto& o) { o.axes.tolerance = {HUGE_VAL}; }, {"tolerance"});
  refused(points, [](auto& o) { o.axes.activation = {"relu", "swish"}; }, {"swish"});
  refused(points, [](auto& o) { o.axes.scaling = {"mup"}; }, {"scaling", "mup"});
  refused(points, [](auto& o) { o.axes.step = {"0.1", "-1"}; }, {"step", "-1"});
  refused(points, [](auto& o) { o.axes.step = {"auto", "auto"}; }, {"step", "twice"});
  refused(points, [](auto& o) { o.trials = 0; }, {"trials must be >= 1"});
  refused(points,
          [](auto& o) {
            o.adaptive = true;
            o.max_trials = 9;
          },
          {"max_trials must be >= trials = 10", "got 9"});
  refused(points,
          [](auto& o) {
            o.axes.noise = {0.1};
            o.read.labels = "random";
          },
          {"noise", "labels"});
  refused(points,
          [](auto& o) {
            o.axes.n = {5};
            o.read.n = 5;
          },
          {"n is an axis"});
  refused(points,
          [](auto& o) {
            o.axes.d = {2};
            o.read.d = 2;
          },
          {"d is an axis"});
  refused(points, [](auto& o) { o.fit.resume = true; }, {"resume"});
  refused(points, [](auto& o) { o.fit.checkpoint = "file"; }, {"checkpoint"});
  refused(points, [](auto& o) { o.fit.batch = 4; }, {"batch"});
  refused("sphere:d=3", [](auto&) {}, {"number of points", "`n`"});
  refused("sphere:n=3", [](auto&) {}, {"dimension", "`d`"});
  refused("sphere:", [](auto& o) { o.axes.n = {3}; }, {"dimension", "`d`"});
  refused("sphere:y=none", [](auto& o) { o.axes.d = {3}; }, {"number of points"});
}

TEST(SweepOptions, MemoryIsEstimatedFirst) {
  SweepOptions o;
  o.trials = Index{1} << 50;
  EXPECT_MESSAGE(ResourceError, checked("digits", o), "1.13e+15 trials of 1 cells", "GB",
                 "fewer values or trials");
  o.trials = 10;
  for (Index k = 1; k <= 100'000; ++k) o.axes.n.push_back(k);
  o.axes.d = o.axes.n;
  EXPECT_MESSAGE(ResourceError, checked("sphere:", o), "1e+11 trials of 1e+10 cells", "GB");
}

TEST(SweepOptions, ToleranceHasTheDefaultOfFit) {
  SweepOptions o;
  EXPECT_EQ(grid(checked("digits", o))[0].tolerance, 1e-6);
  o.fit.precision = "float32";
  EXPECT_EQ(grid(checked("digits", o))[0].tolerance, 1e-4);
}

// ---- seeds ----

// int(hashlib.sha256(b"n=30 d=2 .. trial=0 seed=0").hexdigest()[:16], 16) >> 11 in Python. A change would
// make every stored sweep another one.
TEST(Seed, HasTheStoredValues) {
  EXPECT_EQ(seed_of({30, 2, 4, "relu", "ntk", "auto", 0, 1e-4}, 0, 0), 152354994835696u);
  EXPECT_EQ(seed_of({100, 0, 64, "tanh", "balanced", "0.5", 0.1, 1e-6}, 12, 9007199254740991u),
            3575815983723851u);
}

TEST(Seed, DiffersBetweenAllTrialsOfAllCells) {
  SweepOptions o;
  o.axes = all_axes();
  std::set<std::uint64_t> seeds;
  for (const Cell& cell : grid(o))
    for (Index trial = 0; trial < 20; ++trial) {
      const auto seed = seed_of(cell, trial, 0);
      EXPECT_LT(seed, std::uint64_t{1} << 53);
      seeds.insert(seed);
    }
  EXPECT_EQ(seeds.size(), 256u * 20);
  EXPECT_FALSE(seeds.contains(seed_of(grid(o)[0], 0, 1)));  // another sweep
}

TEST(Seed, DoesNotDependOnTheOtherValuesOfTheAxes) {
  SweepOptions all, some;
  all.axes = all_axes();
  some.axes = {{20}, {7, 5, 3}, {8}, {"tanh"}, {"balanced"}, {"0.1"}, {0.25}, {1e-3}};
  EXPECT_EQ(seed_of(grid(all)[255], 3, 5), seed_of(grid(some)[1], 3, 5));
  some.axes.width = {};
  some.fit.width = 8;  // an option instead of an axis
  EXPECT_EQ(seed_of(grid(all)[255], 3, 5), seed_of(grid(some)[1], 3, 5));
}

// ---- rounds ----

using Rows = std::vector<std::vector<std::optional<TrialRow>>>;
using Keys = std::set<std::pair<Index, Index>>;

// Whether a trial will succeed: cell c does so with probability c/(cells - 1), decided once and for all.
bool succeeds(const Job& job, Index cells) {
  Random random(static_cast<std::uint64_t>(1000 * job.cell + job.trial), Stream::labels);
  return random.uniform() * static_cast<double>(cells - 1) < static_cast<double>(job.cell);
}

void complete(Rows& rows, const Job& job) {
  auto& cell = rows[static_cast<std::size_t>(job.cell)];
  if (static_cast<Index>(cell.size()) <= job.trial) cell.resize(static_cast<std::size_t>(job.trial) + 1);
  TrialRow row;
  row.job = job;
  row.trial.status = succeeds(job, std::ssize(rows)) ? Status::converged : Status::diverged;
  cell[static_cast<std::size_t>(job.trial)] = row;
}

// What each cell ends with, cell by cell: another `trials` as long as some succeeded and some did not.
Keys plan(Index cells, const SweepOptions& o) {
  Keys keys;
  for (Index c = 0; c < cells; ++c) {
    Index target = o.trials;
    while (o.adaptive) {
      Index good = 0;
      for (Index t = 0; t < target; ++t) good += succeeds({c, t}, cells) ? 1 : 0;
      if (good == 0 || good == target || target >= o.max_trials) break;
      target = std::min(target + o.trials, o.max_trials);
    }
    for (Index t = 0; t < target; ++t) keys.emplace(c, t);
  }
  return keys;
}

Keys keys(const Rows& rows) {
  Keys result;
  for (std::size_t c = 0; c < rows.size(); ++c)
    for (std::size_t t = 0; t < rows[c].size(); ++t)
      if (rows[c][t]) result.emplace(c, t);
  return result;
}

constexpr Index kCells = 7;
SweepOptions adaptive() {
  SweepOptions o;
  o.trials = 4;
  o.adaptive = true;
  o.max_trials = 18;  // no multiple of 4
  return o;
}

TEST(Round, WithoutAdaptingThereIsOne) {
  SweepOptions o;
  o.trials = 3;
  Rows rows(5);
  Round round = current_round(rows, o);
  EXPECT_EQ(round.number, 1);
  EXPECT_EQ(round.trials, 15);
  EXPECT_EQ(round.missing.size(), 15u);
  for (const Job& job : round.missing) complete(rows, job);
  EXPECT_EQ(keys(rows), plan(5, o));
  round = current_round(rows, o);
  EXPECT_TRUE(round.missing.empty());
  EXPECT_EQ(round.number, 1);
}

TEST(Round, MissingTrialsMixTheCells) {
  SweepOptions o;
  o.trials = 20;
  const auto missing = current_round(Rows(20), o).missing;
  EXPECT_FALSE(std::is_sorted(missing.begin(), missing.end(),
                              [](const Job& a, const Job& b) { return a.cell < b.cell; }));
  const auto again = current_round(Rows(20), o).missing;
  for (std::size_t k = 0; k < missing.size(); ++k) {
    EXPECT_EQ(missing[k].cell, again[k].cell);
    EXPECT_EQ(missing[k].trial, again[k].trial);
  }
  // A random quarter misses one of the 20 cells with probability 0.75^20 = 0.003, more than two hardly ever.
  std::set<Index> touched;
  for (std::size_t k = 0; k < 100; ++k) touched.insert(missing[k].cell);
  EXPECT_GE(touched.size(), 18u);
}

TEST(Round, GoesOnWithUndecidedCellsOnly) {
  const SweepOptions o = adaptive();
  Rows rows(kCells);
  Index rounds = 0;
  for (Round round = current_round(rows, o); !round.missing.empty(); round = current_round(rows, o)) {
    EXPECT_EQ(round.number, ++rounds);
    for (const Job& job : round.missing) complete(rows, job);
    EXPECT_EQ(round.trials, static_cast<Index>(keys(rows).size()));
  }
  EXPECT_EQ(keys(rows), plan(kCells, o));
  EXPECT_GE(rounds, 4);
  EXPECT_EQ(rows[0].size(), 4u);  // never succeeds, so one round is enough
  EXPECT_EQ(rows[kCells - 1].size(), 4u);
  EXPECT_EQ(rows[kCells / 2].size(), 18u);
}

TEST(Round, IsDecidedOnlyByCompleteOnes) {
  const SweepOptions o = adaptive();
  Rows rows(kCells);
  const auto first = current_round(rows, o).missing;
  for (std::size_t k = 0; k < first.size(); ++k) {
    const Round round = current_round(rows, o);
    EXPECT_EQ(round.number, 1);
    EXPECT_EQ(round.missing.size(), first.size() - k);
    for (const Job& job : round.missing) EXPECT_LT(job.trial, o.trials);
    complete(rows, first[k]);
  }
  EXPECT_EQ(current_round(rows, o).number, 2);
}

TEST(Round, AnySubsetOfRowsLeadsToTheSamePlan) {
  const SweepOptions o = adaptive();
  const Keys whole = plan(kCells, o);
  Random random(3, Stream::labels);
  for (int replay = 0; replay < 50; ++replay) {
    Rows rows(kCells);
    for (const auto& [cell, trial] : whole)
      if (random.uniform() < 0.05 * (replay % 20)) complete(rows, {cell, trial});
    for (Round round = current_round(rows, o); !round.missing.empty(); round = current_round(rows, o))
      for (const Job& job : round.missing) {  // some of them, then it is looked at anew
        ASSERT_TRUE(whole.contains({job.cell, job.trial}));
        if (random.uniform() < 0.7) complete(rows, job);
      }
    ASSERT_EQ(keys(rows), whole);
  }
}

// ---- what decides the results ----

// A field that is new in any of the three is part of it.
TEST(Identity, NamesEveryFieldOnce) {
  const SweepOptions o = checked("digits", {});
  std::map<std::string, int> named;
  for (const auto& [key, value] : identity("digits", "x", o)) ++named[key];
  std::set<std::string> wanted{"data", "SHA-256 of the data"};
  fields(o, [&](const Field& field, const auto&) {
    if (field.affects_run) wanted.insert(field.name);
  });
  fields(o.read, [&](const Field& field, const auto&) {
    if (field.affects_run) wanted.insert(field.name);
  });
  fields(o.fit, [&](const Field& field, const auto&) {
    if (field.trial) wanted.insert(field.name);
  });
  EXPECT_EQ(named.size(), wanted.size());
  for (const std::string& name : wanted) EXPECT_EQ(named[name], 1) << name;
}

TEST(Identity, ChangesWithEveryOptionThatDecides) {
  const SweepOptions base = checked("digits", {});
  const auto differs = [&](const auto& change) {
    SweepOptions o = base;
    change(o);
    return identity("digits", "x", o) != identity("digits", "x", base);
  };
  EXPECT_NE(identity("digits", "x", base), identity("iris", "x", base));
  EXPECT_NE(identity("digits", "x", base), identity("digits", "y", base));
  EXPECT_TRUE(differs([](auto& o) { o.axes.n = {5}; }));
  EXPECT_TRUE(differs([](auto& o) { o.axes.noise = {0}; }));
  EXPECT_TRUE(differs([](auto& o) { o.axes.step = {"1"}; }));
  EXPECT_TRUE(differs([](auto& o) { o.fit.width = 5; }));
  EXPECT_TRUE(differs([](auto& o) { o.fit.precision = "float32"; }));
  EXPECT_TRUE(differs([](auto& o) { o.fit.max_steps = 5; }));
  EXPECT_TRUE(differs([](auto& o) { o.fit.center = true; }));
  EXPECT_TRUE(differs([](auto& o) { o.read.classes = {"3", "8"}; }));
  EXPECT_TRUE(differs([](auto& o) { o.read.seed = 1; }));
  EXPECT_TRUE(differs([](auto& o) { o.trials = 5; }));
  EXPECT_TRUE(differs([](auto& o) { o.adaptive = true; }));
  EXPECT_TRUE(differs([](auto& o) { o.certify = true; }));
  EXPECT_FALSE(differs([](auto& o) { o.store = "elsewhere"; }));
  EXPECT_FALSE(differs([](auto& o) { o.max_trials = 50; }));      // of adaptive sweeps only
  EXPECT_FALSE(differs([](auto& o) { o.axes.width = {1024}; }));  // the same grid
}

// ---- the command that repeats a trial ----

TEST(FitCommandLine, HasWhatDecidesTheTrial) {
  SweepOptions o;
  o.fit.precision = "float32";
  o.fit.max_steps = 500;
  o.axes.d = {3, 5};
  o.axes.width = {8};
  const auto seed = std::to_string(seed_of({0, 5, 8, "relu", "ntk", "auto", 0, 1e-4}, 2, 0));
  EXPECT_EQ(fit_command("sphere:n=20", o, 1, 2),
            "zeroloss fit sphere:n=20,d=5 --activation relu --width 8 --scaling ntk --step auto --precision "
            "float32 "
            "--max-steps 500 --tolerance 0.0001 --seed " +
                seed);
}

TEST(FitCommandLine, LeavesOutNothing) {
  SweepOptions o;
  o.read.classes = {"3", "8"};
  o.read.target = "label";
  o.read.task = "classification";
  o.read.split = "test";
  o.axes.n = {30};
  o.axes.d = {5};
  o.axes.noise = {0.1};
  o.axes.step = {"theorem"};
  o.fit.optimizer = "sgd";
  o.fit.batch = 4;
  o.fit.space = "weights";
  o.fit.failure_probability = 0.05;
  o.fit.center = true;
  o.fit.normalize = false;
  const std::string command = fit_command("data.csv", o, 0, 0);
  for (const char* part :
       {"fit data.csv ", "--target label", "--task classification", "--split test", "--n 30", "--shuffle",
        "--d 5", "--classes 3,8", "--labels noise:0.1", "--width 1024", "--optimizer sgd", "--batch 4",
        "--step theorem", "--failure-probability 0.05", "--space weights", "--center", "--no-normalize",
        "--seed "})
    EXPECT_NE(command.find(part), std::string::npos) << part << "\n" << command;
  SweepOptions flow;
  flow.fit.optimizer = "flow";
  flow.fit.flow_tolerance = 1e-5;
  for (const char* part : {"--optimizer flow", "--flow-tolerance 1e-05"})
    EXPECT_NE(fit_command("digits", flow, 0, 0).find(part), std::string::npos) << part;
}

// A named set lies in the folder that the sweep was told; others need none.
TEST(FitCommandLine, SaysWhereDownloadedSetsLie) {
  SweepOptions o;
  o.read.cache = "/data/my sets";
  EXPECT_NE(fit_command("mnist", o, 0, 0).find(" --cache '/data/my sets'"), std::string::npos);
  EXPECT_EQ(fit_command("digits", o, 0, 0).find("--cache"), std::string::npos);
}

// Every option of fit that decides a trial is in the command, if it is not what fit takes by itself.
TEST(FitCommandLine, HasEveryFieldOfFit) {
  SweepOptions o;
  o.fit.activation = "tanh";
  o.fit.width = 7;
  o.fit.scaling = "balanced";
  o.fit.optimizer = "sgd";
  o.fit.step = "0.25";
  o.fit.batch = 3;
  o.fit.precision = "float32";
  o.fit.max_steps = 11;
  o.fit.tolerance = 0.5;
  o.fit.space = "weights";
  o.fit.center = true;
  o.fit.normalize = false;
  o.fit.failure_probability = 0.2;
  SweepOptions deep;
  deep.fit.depth = 3;
  deep.fit.residual = true;
  SweepOptions heavy, flow;  // what some optimizers alone take
  heavy.fit.optimizer = "momentum";
  heavy.fit.momentum = 0.5;
  flow.fit.optimizer = "flow";
  flow.fit.flow_tolerance = 1e-3;
  std::string command;
  for (const SweepOptions* one : {&o, &deep, &heavy, &flow}) command += fit_command("digits", *one, 0, 0);
  fields(o.fit, [&](const Field& field, const auto&) {
    if (!field.trial) return;
    std::string flag = field.name;
    std::ranges::replace(flag, '_', '-');
    EXPECT_NE(command.find(" --" + (flag == "normalize" ? "no-normalize" : flag)), std::string::npos) << flag;
  });
}

TEST(FitCommandLine, IsQuotedForAShell) {
  SweepOptions o;
  o.read.target = "the $label";
  o.read.classes = {"it's", "b"};
  const std::string command = fit_command("my data.csv", o, 0, 0);
  for (const char* part : {"fit 'my data.csv' ", "--target 'the $label'", "--classes 'it'\\''s,b'"})
    EXPECT_NE(command.find(part), std::string::npos) << part << "\n" << command;
}

}  // namespace
}  // namespace zeroloss
