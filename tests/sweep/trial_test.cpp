// A trial is the run of fit, bit for bit.
#include "sweep/trial.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <map>

#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss {
using namespace internal;
namespace {

std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }

template <class T>
T any(const std::vector<T>& values, Random& random) {
  return values[random.below(values.size())];
}

// Sizes, activations and steps of which some runs converge, some do not and some diverge.
struct Case {
  std::string source;
  ReadOptions read;
  FitOptions fit;
};

Case random_case(std::uint64_t number) {
  Random random(number, Stream::probes);
  const auto upto = [&](std::uint64_t most) { return static_cast<Index>(1 + random.below(most)); };
  Case c;
  c.read.seed = c.fit.seed = number;
  c.source = "sphere:n=" + std::to_string(upto(30)) + ",d=" + std::to_string(upto(20)) +
             (random.below(4) == 0 ? ",y=sign" : ",y=normal");
  c.fit.activation =
      any<std::string>({"relu", "softplus", "tanh", "gelu", "silu", "erf", "sigmoid", "quadratic"}, random);
  c.fit.width = upto(25);
  c.fit.scaling = any<std::string>({"ntk", "balanced"}, random);
  c.fit.step = any<std::string>({"auto", "0.1", "0.3", "3", "30"}, random);
  c.fit.precision = any<std::string>({"float32", "float64"}, random);
  c.fit.tolerance = any<double>({2.5e-3, 0.1, 0.5}, random);
  c.fit.max_steps = any<Index>({0, 1, 50, 800}, random);
  return c;
}

void expect_same(const Dataset& data, const FitOptions& options, const std::string& what,
                 std::map<Status, int>& seen) {
  Progress silent;
  const FitResult run = fit(data, options);
  const Trial proved = train_trial(data, options, true, silent),
              plain = train_trial(data, options, false, silent);
  EXPECT_EQ(name(proved.status), name(run.status)) << what;
  EXPECT_EQ(proved.steps, run.steps) << what;
  EXPECT_EQ(bits(proved.step), bits(run.step)) << what;
  EXPECT_EQ(bits(proved.relative_misfit), bits(run.relative_misfit)) << what;
  EXPECT_EQ(proved.certificate.kind, run.certificate.kind) << what;
  EXPECT_EQ(bits(proved.certificate.radius), bits(run.certificate.radius)) << what;
  EXPECT_EQ(plain.steps, run.steps) << what;
  EXPECT_EQ(bits(plain.relative_misfit), bits(run.relative_misfit)) << what;
  EXPECT_NE(plain.status, Status::certified) << what;
  if (run.status != Status::certified) {
    EXPECT_EQ(name(plain.status), name(run.status)) << what;
  }
  ++seen[plain.status];
}

TEST(Trial, SlowTwoHundredAreTheRunsOfFitBitForBit) {
  std::map<Status, int> seen;
  int compared = 0;
  for (std::uint64_t number = 0; number < 200; ++number) {
    const Case c = random_case(number);
    Dataset data;
    try {
      data = read_dataset(c.source, c.read);
    } catch (const std::exception&) {
      continue;  // two classes are not always there
    }
    expect_same(data, c.fit, c.source + " " + c.fit.activation + " case " + std::to_string(number), seen);
    ++compared;
  }
  EXPECT_GE(compared, 180);
  for (const Status status : {Status::converged, Status::budget_spent, Status::diverged})
    EXPECT_GE(seen[status], 10) << name(status);
}

TEST(Trial, ManyClassesAreTheRunOfFit) {
  const Dataset data =
      read_dataset("digits", {.n = 60, .d = 20, .shuffle = true, .classes = {"1", "4", "7"}, .seed = 3});
  FitOptions options;
  options.width = 30;
  options.tolerance = 0.2;
  options.max_steps = 300;
  std::map<Status, int> seen;
  for (const char* precision : {"float32", "float64"}) {
    options.precision = precision;
    expect_same(data, options, precision, seen);
  }
}

// Beyond SmallTrainer's sizes, and for other optimizers, a trial goes through fit.
TEST(Trial, OtherRunsAreThoseOfFitToo) {
  const Dataset data = read_dataset("sphere:n=30,d=6,y=normal");
  FitOptions wide, newton, gram, theorem;
  wide.width = 400;
  wide.max_steps = newton.max_steps = gram.max_steps = theorem.max_steps = 20;
  newton.width = gram.width = theorem.width = 40;
  newton.optimizer = "gauss_newton";
  gram.space = "gram";
  theorem.step = "theorem";
  std::map<Status, int> seen;
  for (const FitOptions& options : {wide, newton, gram, theorem})
    expect_same(data, options, options.optimizer, seen);
}

TEST(Trial, Cancelled) {
  const std::atomic<bool> cancel{true};
  Progress progress({}, &cancel);
  FitOptions options;
  options.width = 20;
  EXPECT_THROW(train_trial(read_dataset("sphere:n=30,d=6"), options, false, progress), Interrupted);
}

}  // namespace
}  // namespace zeroloss
