// What a sweep says of its cells: Wilson's interval, where success begins, which heat maps there are.
#include "sweep/summary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/bounds.hpp"
#include "sweep/grid.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss {
using namespace internal;
namespace {

// ---- Wilson's interval ----

struct WilsonCase {
  Index successes, trials;
  double low, high;
};

// The p that a test at 5 % just does not reject, (k/n - p)^2 = z^2 p (1 - p)/n, as roots of that polynomial:
//   from mpmath import *; mp.dps = 30; z = sqrt(2)*erfinv(mpf('0.95')); q = mpf(k)/n
//   sorted(polyroots([1 + z*z/n, -(2*q + z*z/n), q*q], maxsteps=200, extraprec=200))
constexpr WilsonCase kWilson[] = {{0, 1, 0.0, 0.79345068562276261},
                                  {1, 1, 0.20654931437723739, 1.0},
                                  {1, 2, 0.094531205734230713, 0.90546879426576929},
                                  {0, 10, 0.0, 0.27753279986288925},
                                  {3, 10, 0.10779126740630102, 0.60322185253885468},
                                  {5, 10, 0.23659309051256398, 0.76340690948743602},
                                  {10, 10, 0.72246720013711075, 1.0},
                                  {17, 40, 0.28509392559950374, 0.57804931458008926},
                                  {1, 1000, 0.00017654637062607801, 0.0056425585979579359},
                                  {999, 1000, 0.99435744140204206, 0.99982345362937392},
                                  {123456, 1000000, 0.12281269653142285, 0.12410219641400438}};

constexpr double kRounding = test::gamma_of(16);  // of 15 operations on numbers of at most 1

TEST(Wilson, HasTheKnownValues) {
  for (const auto& [successes, trials, low, high] : kWilson) {
    EXPECT_NEAR(wilson(successes, trials).low, low, kRounding) << successes << " of " << trials;
    EXPECT_NEAR(wilson(successes, trials).high, high, kRounding) << successes << " of " << trials;
  }
}

TEST(Wilson, HoldsTheProbabilityAndGrowsWithIt) {
  for (const Index n : {1, 2, 7, 100}) {
    for (Index k = 0; k <= n; ++k) {
      const Interval at = wilson(k, n), mirror = wilson(n - k, n);
      const double p = static_cast<double>(k) / static_cast<double>(n);
      EXPECT_LE(at.low, p);
      EXPECT_GE(at.high, p);
      EXPECT_LT(at.low, at.high);
      EXPECT_NEAR(at.low, 1 - mirror.high, kRounding);
      EXPECT_EQ(at.low == 0, k == 0);
      EXPECT_EQ(at.high == 1, k == n);
      const Interval less = wilson(std::max<Index>(k - 1, 0), n);
      EXPECT_TRUE(k == 0 || at.low > less.low);
      EXPECT_TRUE(k == 0 || at.high > less.high);
      const Interval more = wilson(10 * k, 10 * n);
      EXPECT_LT(more.high - more.low, at.high - at.low);
    }
  }
  EXPECT_EQ(wilson(0, 0).low, 0);
  EXPECT_EQ(wilson(0, 0).high, 1);
}

// ---- transitions ----

CellResult result(const Cell& cell, Index successes, Index trials) {
  CellResult r;
  r.cell = cell;
  r.trials = trials;
  r.successes = successes;
  r.probability = trials > 0 ? static_cast<double>(successes) / static_cast<double>(trials) : 0;
  r.interval = wilson(successes, trials);
  return r;
}

struct Counts {
  Index successes, trials;
};

// Of a single axis of widths with these results.
Transition transition(const std::vector<Index>& widths, const std::vector<Counts>& counts) {
  SweepAxes axes;
  axes.width = widths;
  std::vector<CellResult> cells;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    Cell cell;
    cell.width = widths[k];
    cells.push_back(result(cell, counts[k].successes, counts[k].trials));
  }
  const auto found = panels(axes, cells);
  EXPECT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].transitions.size(), 1u);
  return found[0].transitions[0];
}

TEST(Transition, IsInterpolated) {
  EXPECT_EQ(*transition({10, 20, 30}, {{0, 4}, {1, 4}, {3, 4}}).y, 25);  // rising
  EXPECT_EQ(*transition({10, 20, 30}, {{4, 4}, {3, 4}, {1, 4}}).y, 25);  // falling
  EXPECT_EQ(*transition({10, 20, 30}, {{0, 4}, {2, 4}, {4, 4}}).y, 20);
  EXPECT_EQ(*transition({1, 100}, {{0, 4}, {4, 4}}).y, 50.5);
  EXPECT_DOUBLE_EQ(*transition({1, 101}, {{1, 5}, {4, 5}}).y, 51);
  EXPECT_EQ(*transition({10, 30}, {{0, 4}, {3, 4}}).y, 10 + 20 * (0.5 / 0.75));
}

TEST(Transition, DoesNotDependOnTheOrderOfTheAxis) {
  EXPECT_EQ(*transition({30, 10, 20}, {{3, 4}, {0, 4}, {1, 4}}).y, 25);
  EXPECT_EQ(*transition({30, 20, 10}, {{1, 4}, {3, 4}, {4, 4}}).y, 25);
}

TEST(Transition, IsNoneWhereNothingCrosses) {
  for (const auto& counts : std::vector<std::vector<Counts>>{{{0, 9}, {1, 9}, {4, 9}},  // below
                                                             {{9, 9}, {9, 9}, {5, 9}},  // above
                                                             {{0, 9}, {0, 9}, {0, 9}},
                                                             {{9, 9}, {9, 9}, {9, 9}},
                                                             {{2, 4}, {2, 4}, {2, 4}},
                                                             {{0, 4}, {0, 0}, {4, 4}}}) {  // not measured
    const Transition t = transition({1, 2, 3}, counts);
    EXPECT_FALSE(t.y) << *t.y;
    EXPECT_FALSE(t.low);
    EXPECT_FALSE(t.high);
  }
}

TEST(Transition, PoolsWhatIsOutOfOrder) {
  // 0, 0.6, 0.4, 1: the two in the middle count as 0.5 each.
  EXPECT_EQ(*transition({10, 20, 30, 40}, {{0, 10}, {6, 10}, {4, 10}, {10, 10}}).y, 20);
  // By their trials: 0.6 of 30 and 0.1 of 10 are 19 of 40; then up to 1.
  EXPECT_DOUBLE_EQ(*transition({10, 20, 30, 40}, {{0, 10}, {18, 30}, {1, 10}, {10, 10}}).y,
                   30 + 10 * (0.5 - 0.475) / (1 - 0.475));
}

// The monotone values nearest to p: max over a <= i of min over b >= i of the mean of p_a .. p_b [Barlow et
// al. 1972, Thm 1.4]. Both are means of small integers over small integers, exact to a few roundings.
std::vector<double> rising_by_the_formula(const std::vector<double>& successes,
                                          const std::vector<double>& trials) {
  const std::size_t n = trials.size();
  std::vector<double> fitted(n);
  for (std::size_t i = 0; i < n; ++i) {
    fitted[i] = -1;
    for (std::size_t a = 0; a <= i; ++a) {
      double least = 2;
      for (std::size_t b = i; b < n; ++b) {
        double sum = 0, weight = 0;
        for (std::size_t k = a; k <= b; ++k) sum += successes[k], weight += trials[k];
        least = std::min(least, sum / weight);
      }
      fitted[i] = std::max(fitted[i], least);
    }
  }
  return fitted;
}

TEST(Transition, IsThatOfTheNearestMonotoneValues) {
  Random random(7, Stream::labels);
  int crossings = 0;
  for (int example = 0; example < 300; ++example) {
    const std::size_t n = 2 + random.below(6);
    std::vector<Index> widths;
    std::vector<Counts> counts;
    std::vector<double> p, successes, failures, trials;
    for (std::size_t k = 0; k < n; ++k) {
      const auto of = static_cast<Index>(1 + 2 * random.below(4));  // odd: no mean is 1/2 but by pooling
      const auto good = static_cast<Index>(random.below(static_cast<std::uint64_t>(of) + 1));
      widths.push_back(static_cast<Index>(10 * (k + 1)));
      counts.push_back({good, of});
      trials.push_back(static_cast<double>(of));
      successes.push_back(static_cast<double>(good));
      failures.push_back(static_cast<double>(of - good));
      p.push_back(static_cast<double>(good) / static_cast<double>(of));
    }
    std::vector<double> up = rising_by_the_formula(successes, trials),
                        down = rising_by_the_formula(failures, trials);
    double up_misfit = 0, down_misfit = 0;
    for (std::size_t k = 0; k < n; ++k) {
      up_misfit += trials[k] * std::pow(up[k] - p[k], 2);
      down_misfit += trials[k] * std::pow(1 - down[k] - p[k], 2);
    }
    if (std::abs(up_misfit - down_misfit) < 1e-9) continue;  // either will do
    const auto& fitted = up_misfit < down_misfit ? up : down;
    std::size_t above = 0;
    bool close = false;  // decided by rounding
    for (const double value : fitted) close = close || std::abs(value - 0.5) < 1e-12;
    while (above < n && fitted[above] < 0.5) ++above;
    if (close) continue;
    const Transition t = transition(widths, counts);
    ASSERT_EQ(t.y.has_value(), above > 0 && above < n);
    if (!t.y) continue;
    ++crossings;
    const double before = fitted[above - 1], gap = fitted[above] - before, share = (0.5 - before) / gap;
    // means of at most 7 numbers of at most 1, over what lies between two of them
    EXPECT_NEAR(*t.y, 10 * (static_cast<double>(above) + share),
                10 * test::gamma_of(4 * 7 + 8) * (7 + 2 / gap));
  }
  EXPECT_GT(crossings, 100);
}

TEST(Transition, IntervalReachesToTheSureCells) {
  // Of 10 trials 0 and 1 are surely below 1/2 (Wilson's high 0.28 and 0.40), 9 and 10 surely above, 2 .. 8
  // are not.
  const Transition t =
      transition({1, 2, 3, 4, 5, 6}, {{0, 10}, {1, 10}, {3, 10}, {7, 10}, {10, 10}, {10, 10}});
  EXPECT_EQ(*t.y, 3.5);
  EXPECT_EQ(*t.low, 2);
  EXPECT_EQ(*t.high, 5);
  const Transition falling = transition({1, 2, 3, 4, 5}, {{10, 10}, {9, 10}, {6, 10}, {4, 10}, {0, 10}});
  EXPECT_EQ(*falling.y, 3.5);
  EXPECT_EQ(*falling.low, 2);
  EXPECT_EQ(*falling.high, 5);
  const Transition open = transition({1, 2}, {{3, 10}, {7, 10}});
  EXPECT_EQ(*open.y, 1.5);
  EXPECT_FALSE(open.low);
  EXPECT_FALSE(open.high);
}

// ---- panels ----

std::vector<CellResult> nothing_done(const SweepOptions& o) {
  std::vector<CellResult> cells;
  for (const Cell& cell : grid(o)) cells.push_back(result(cell, 0, 0));
  return cells;
}

TEST(Panels, ShowEveryCellOnceWhereItBelongs) {
  SweepOptions o;
  o.axes.n = {10, 20};
  o.axes.d = {3, 1, 2};
  o.axes.width = {4, 8};
  o.axes.activation = {"relu", "tanh"};
  o.axes.noise = {0.25};  // a single value: no side
  const auto cells = nothing_done(o);
  const auto all = panels(o.axes, cells);
  ASSERT_EQ(all.size(), 6u);  // d and activation
  std::vector<int> seen(cells.size());
  for (const Panel& panel : all) {
    EXPECT_EQ(panel.y, "width");
    EXPECT_EQ(panel.x, "n");
    EXPECT_EQ(panel.x_values, (std::vector<std::string>{"10", "20"}));
    EXPECT_EQ(panel.y_values, (std::vector<std::string>{"4", "8"}));
    EXPECT_EQ(panel.transitions.size(), 2u);
    ASSERT_EQ(panel.cells.size(), 4u);
    for (std::size_t k = 0; k < 4; ++k) {
      const Cell& cell = cells[panel.cells[k]].cell;
      ++seen[panel.cells[k]];
      EXPECT_EQ(cell.n, k < 2 ? 10 : 20);
      EXPECT_EQ(cell.width, k % 2 == 0 ? 4 : 8);
      EXPECT_EQ(panel.title, "d " + std::to_string(cell.d) + ", activation " + cell.activation);
    }
  }
  EXPECT_EQ(seen, std::vector<int>(cells.size(), 1));
}

TEST(Panels, ChooseTheirSides) {
  const auto sides = [](SweepAxes axes) {
    SweepOptions o;
    o.axes = std::move(axes);
    const Panel panel = panels(o.axes, nothing_done(o)).at(0);
    return panel.x + "|" + panel.y;
  };
  EXPECT_EQ(sides({.d = {1, 2}, .width = {1, 2}}), "d|width");
  EXPECT_EQ(sides({.width = {1, 2}, .noise = {0, 1}}), "noise|width");
  EXPECT_EQ(sides({.n = {1, 2}, .d = {1, 2}}), "n|d");
  EXPECT_EQ(sides({.width = {1, 2}, .activation = {"relu", "tanh"}}), "activation|width");
  EXPECT_EQ(sides({.activation = {"relu", "tanh"}, .noise = {0, 1}}), "activation|noise");
  EXPECT_EQ(sides({.activation = {"relu", "tanh"}, .scaling = {"ntk", "balanced"}}), "scaling|activation");
  EXPECT_EQ(sides({.width = {1, 2}, .step = {"0.1", "0.2"}}), "step|width");
  EXPECT_EQ(sides({.tolerance = {0.1, 0.2}}), "|tolerance");
  EXPECT_EQ(sides({.step = {"auto", "0.2"}}), "|step");
  EXPECT_EQ(sides({}), "|");
}

TEST(Panels, TransitionsNeedNumbers) {
  SweepOptions o;
  o.axes.step = {"auto", "0.1"};
  EXPECT_TRUE(panels(o.axes, nothing_done(o)).at(0).transitions.empty());
  o.axes.step = {"0.2", "0.1"};
  EXPECT_EQ(panels(o.axes, nothing_done(o)).at(0).transitions.size(), 1u);
}

// ---- the sentence ----

std::string sentence(const SweepOptions& o, const std::vector<Counts>& counts, Index diverged = 0,
                     bool complete = true) {
  SweepResult r;
  r.complete = complete;
  const auto cells = grid(o);
  for (std::size_t k = 0; k < cells.size(); ++k)
    r.cells.push_back(result(cells[k], counts[k].successes, counts[k].trials));
  r.cells[0].diverged = diverged;
  r.panels = panels(o.axes, r.cells);
  return conclusion(r);
}

TEST(Conclusion, SaysWhereSuccessBegins) {
  SweepOptions o;
  o.axes.width = {10, 20};
  EXPECT_EQ(sentence(o, {{0, 4}, {0, 4}}), "no trial succeeds\n0 of 8 trials reached the tolerance");
  EXPECT_EQ(sentence(o, {{4, 4}, {4, 4}}), "every trial succeeds\n8 of 8 trials reached the tolerance");
  EXPECT_EQ(
      sentence(o, {{0, 4}, {1, 4}}, 3),
      "no axis crosses a success probability of one half\n1 of 8 trials reached the tolerance, 3 diverged");
  EXPECT_EQ(sentence(o, {{0, 4}, {4, 4}}),
            "half of the trials succeed at width 15 (10..20)\n4 of 8 trials reached the tolerance");
  EXPECT_EQ(sentence(o, {{0, 0}, {0, 0}}), "0 of 0 trials reached the tolerance");
  EXPECT_EQ(sentence(o, {{4, 4}, {3, 3}}, 0, false),
            "every trial so far succeeds\nnot all trials are done\n7 of 7 trials reached the tolerance");
}

TEST(Conclusion, ComparesWidthAndDimensionWithThePoints) {
  SweepOptions o;
  o.axes.n = {100};
  o.axes.d = {5, 10};
  o.axes.width = {30, 50};
  // Crossings at 40 and 50: width x d is 200 and 500.
  EXPECT_EQ(
      sentence(o, {{0, 4}, {4, 4}, {0, 4}, {2, 4}}),
      "half of the trials succeed at width x d = 5 n (2 to 5 over the values of d)\n6 of 16 trials reached "
      "the tolerance");
}

}  // namespace
}  // namespace zeroloss
