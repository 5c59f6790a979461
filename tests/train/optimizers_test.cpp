// The register of optimizers: what its rows say is so, and the draws of sgd.
#include "train/optimizers/optimizers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "support/fit_cases.hpp"
#include "train/fit_options.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/theory/guarantee.hpp"

namespace zeroloss::test {
using namespace internal;
namespace {

TEST(Optimizers, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const OptimizerFacts& facts : optimizers()) {
    EXPECT_TRUE(names.insert(facts.name).second) << facts.name;
    EXPECT_EQ(optimizer(facts.name).name, facts.name);
  }
  EXPECT_TRUE(names.contains(FitOptions().optimizer));
  EXPECT_THROW(optimizer("adam"), std::out_of_range);
}

TEST(Optimizers, NameTheoremsThatThereAre) {
  std::set<std::string> ids;
  for (const Theorem& one : theorems()) EXPECT_TRUE(ids.insert(one.id).second) << one.id;
  int named = 0;
  for (const OptimizerFacts& facts : optimizers())
    for (const std::string_view id : method(facts.name).theorems) {
      EXPECT_TRUE(ids.contains(std::string(id))) << facts.name << " " << id;
      ++named;
    }
  EXPECT_EQ(named, 5);
}

// What a row says, fit does.
TEST(Optimizers, DoWhatTheirFactsSay) {
  const Dataset data = sphere_data(9, 4);
  for (const OptimizerFacts& facts : optimizers()) {
    if (facts.infinite) continue;  // no weights, no steps
    const auto accepts = [&](auto change) {
      FitOptions o = small(std::string(facts.name));
      o.max_steps = 3;
      change(o);
      try {
        fit(data, o);
        return true;
      } catch (const std::invalid_argument&) {
        return false;
      }
    };
    EXPECT_EQ(accepts([](FitOptions& o) { o.step = "0.1"; }), facts.step) << facts.name;
    EXPECT_EQ(accepts([](FitOptions& o) { o.batch = 2; }), facts.batch) << facts.name;
    EXPECT_EQ(accepts([](FitOptions& o) { o.precision = "float32"; }), facts.float32) << facts.name;
    EXPECT_EQ(accepts([](FitOptions& o) { o.space = "gram"; }), facts.gram) << facts.name;
    EXPECT_EQ(accepts([](FitOptions& o) { o.activation = "relu", o.polish = true; }), facts.hidden)
        << facts.name;
    FitOptions o = small(std::string(facts.name));
    o.max_steps = 3;
    o.width = 8;
    const FitResult r = fit(data, o);
    EXPECT_EQ(r.tolerance, facts.tolerance) << facts.name;
    EXPECT_EQ(r.step > 0, facts.step) << facts.name;
    EXPECT_EQ(r.max_distance > 0, facts.hidden) << facts.name;
    EXPECT_EQ(r.outputs[0].curve.back().forecast.has_value(), facts.forecast) << facts.name;
    EXPECT_EQ(r.forecast_missing.empty(), facts.forecast) << facts.name;
  }
}

TEST(Step, IsAutoTheoremOrANumber) {
  EXPECT_EQ(Step("auto").kind, Step::Kind::automatic);
  EXPECT_EQ(Step("theorem").kind, Step::Kind::theorem);
  EXPECT_EQ(Step("1e-3").kind, Step::Kind::number);
  EXPECT_EQ(Step("1e-3").value, 1e-3);
  for (const char* text : {"", "0", "-1", "nan", "inf", "1e999", "0.1x", "Auto", "0.1 "})
    EXPECT_THROW(Step{text}, std::invalid_argument) << text;
}

// Floyd's algorithm with the numbers it was given, written down plainly: the batches decide every bit of a
// run.
TEST(Sgd, DrawsFloydsBatches) {
  const Index n = 40;
  const Dataset data = sphere_data(n, 5);
  for (const Index batch : {1, 7, 39, 40}) {
    FitOptions o = small("sgd");
    o.batch = batch;
    o.step = "0.02";
    o.max_steps = 30;
    o.seed = 6;
    const FitResult r = fit(data, o);
    Problem p{data.X, data.y, draw({.width = 60, .d = 5, .seed = 6}), activation("softplus")};
    Drift drift;
    for (std::uint64_t k = 0; k < 30; ++k) {
      drift.step(p, 0.02);
      Random random(6, Stream::batches, k);
      std::set<Index> drawn;
      for (Index top = n - batch; top < n; ++top) {
        const auto i = static_cast<Index>(random.below(static_cast<std::uint64_t>(top) + 1));
        drawn.insert(drawn.contains(i) ? top : i);
      }
      p.step(0.02, {drawn.begin(), drawn.end()});
    }
    EXPECT_LE((r.network.outputs[0].W - p.network.W).norm(), drift.off) << batch;
  }
}

}  // namespace
}  // namespace zeroloss::test
