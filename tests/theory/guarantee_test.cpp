#include "zeroloss/theory/guarantee.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numbers>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>

#include "support/bounds.hpp"
#include "theory/theorems.hpp"

namespace zeroloss {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const std::string OS = "Oymak & Soltanolkotabi 2019, Thm ", Du = "Du et al. 2018, Thm ";

Activation relu() {
  Activation phi;
  phi.name = "relu";
  phi.phi = [](double z) { return std::max(z, 0.0); };
  phi.B = 1;
  phi.tabulated = true;
  phi.leak = 0;
  return phi;
}

Activation smooth(double B, double M) {
  Activation phi = relu();
  phi.name = "smooth";
  phi.leak.reset();
  phi.phi = [](double) { return 0.0; };
  phi.B = B;
  phi.M = M;
  return phi;
}

GuaranteeInput points() {
  GuaranteeInput input;
  input.n = 16;
  input.d = 3;
  input.norm_X = 2;
  input.norm_y = 2;
  input.lambdas = {{"lambda_min", 0.5, true}};
  input.lambda_product = LambdaSource{"lambda_min(G o G)", 0.25, true};
  input.lambda_features = LambdaSource{"lambda~", 0.125, true};
  input.mu_phi = 0.25;
  input.phi_squares = 0.5;
  input.separation = 0.5;
  input.separation_verified = true;
  return input;
}

// Of a number ("6.3") or an id ("zl_a").
std::vector<Guarantee> rows(const std::vector<Guarantee>& all, const std::string& theorem) {
  std::vector<Guarantee> found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found), [&](const Guarantee& row) {
    return row.id == theorem || row.theorem == Du + theorem || row.theorem == OS + theorem;
  });
  return found;
}

Guarantee one(const Activation& phi, const GuaranteeInput& input, const GuaranteeOptions& options,
              const std::string& theorem) {
  const auto found = rows(guarantees(phi, input, options), theorem);
  EXPECT_EQ(found.size(), 1u) << theorem;
  return found.at(0);
}

bool says(const Guarantee& row, const std::string& text) {
  return row.reason.find(text) != std::string::npos;
}

// Every quantity is rounded up or down by 128 u, at most ten times on the way to a width.
constexpr double kSafe = 10 * 128 * test::kUnit;
#define EXPECT_CLOSE(a, b) EXPECT_NEAR((a) / (b), 1, kSafe)

// ---- exact ----

TEST(GuaranteeExact, GradientFlowAndDescent) {
  GuaranteeInput input = points();
  input.n = 2;
  input.norm_y = 0;
  const double pi = std::numbers::pi;
  // 12/p = e^(2 pi): rho = sqrt(2^2 + 0.682) + 2 sqrt(2 (2 pi - log 2))
  const GuaranteeOptions options{.failure_probability = 12 * std::exp(-2 * pi), .accuracy = 0.01};
  const Guarantee flow = one(relu(), input, options, "3.1"), descent = one(relu(), input, options, "4.1");
  const double rho = std::sqrt(4.682) + 2 * std::sqrt(2 * (2 * pi - std::log(2)));
  EXPECT_CLOSE(*flow.width, std::ceil(488 * 64 * rho * rho * 16));
  EXPECT_CLOSE(*descent.width, std::ceil(2510 * 64 * rho * rho * 16));
  EXPECT_FALSE(flow.step);
  EXPECT_CLOSE(*descent.step, 1.0 / 12);
  EXPECT_CLOSE(*flow.rate, 0.25);
  EXPECT_CLOSE(*descent.rate, 1.0 / 112);
  EXPECT_CLOSE(*flow.steps, 4 * std::log(100.0));
  EXPECT_EQ(*descent.steps, std::ceil(std::log(0.01) / std::log(111.0 / 112)));
  EXPECT_EQ(*flow.failure_probability, options.failure_probability);
  EXPECT_TRUE(flow.holds && descent.holds && flow.verified && flow.reason.empty());
  EXPECT_EQ(flow.lambda_from, "lambda_min");
}

TEST(GuaranteeExact, SmoothWidthLosesTwoUnitsForOddWidths) {
  const GuaranteeOptions options{.failure_probability = 2 * std::exp(-2), .accuracy = 0.5};  // D0 = 1
  const Guarantee row = one(smooth(0.75, 10), points(), options, "6.2");
  const double a = 7.45 * 10 * (1.25 + 0.75) * 4 * 2 / 0.5;  // 2384
  EXPECT_EQ(*row.width, a * a + 2);                          // sqrt(m) - 1/sqrt(m) < a at a^2 + 1
  EXPECT_CLOSE(*row.step, 16 / (2 * 0.5625 * 4 * 4));
  EXPECT_CLOSE(*row.rate, 0.5 / (28 * 0.5625 * 4));
  EXPECT_EQ(*row.steps, std::ceil(std::log(0.5) / std::log(125.0 / 126)));
  EXPECT_EQ(*row.failure_probability, options.failure_probability);
  EXPECT_TRUE(row.holds);
}

TEST(GuaranteeExact, ConcentrationDecidesWhereMIsSmall) {
  const Guarantee row = one(smooth(2, 0), points(), {}, "6.2");  // 6.52 log(16/0.005) 4 4/0.5 = 1683.9..
  EXPECT_EQ(*row.width, std::ceil(6.52 * 32 * std::log(3200) + 1));
}

TEST(GuaranteeExact, ReluBalanced) {
  GuaranteeInput input = points();
  input.n = 4;
  input.lambdas[0].value = 0.25;
  const Guarantee row = one(relu(), input, {.failure_probability = 3 * std::exp(-2)}, "6.3");  // D0 = 2
  EXPECT_CLOSE(*row.width, std::ceil(2510 * 3.16 * 3.16 * 4 * 64 * 256 + 2));
  EXPECT_CLOSE(*row.step, 1.0 / 12);
  EXPECT_CLOSE(*row.rate, 1.0 / 224);
  EXPECT_CLOSE(*row.failure_probability, 3 * std::exp(-2));
  EXPECT_TRUE(row.holds);
}

TEST(GuaranteeExact, CorollariesAreTheMetaTheoremsWithTheirBound) {
  GuaranteeInput input = points();
  input.lambdas[0].value = 0.25 * 0.25 * 0.25;
  EXPECT_CLOSE(*one(smooth(1, 1), input, {}, "2.1").width, *one(smooth(1, 1), input, {}, "6.2").width);
  EXPECT_CLOSE(*one(relu(), input, {}, "2.3").width, *one(relu(), input, {}, "6.3").width);
  input.lambdas[0].value = 2 * std::asin(0.25) / (8 * std::numbers::pi * 16);
  EXPECT_CLOSE(*one(relu(), input, {}, "2.5").width, *one(relu(), input, {}, "6.3").width);
  EXPECT_EQ(one(relu(), input, {}, "2.5").lambda_from, "theta/(8 pi n)");
}

// E ||phi(Xw)||^2 beyond T, where ||phi(Xw)|| is above start + s with probability exp(-s^2/(2 beta^2)), by
// Simpson's rule on 2 x P(x).
double tail_by_quadrature(double start, double beta, double t) {
  const auto beyond = [&](double s) { return 2 * (start + s) * std::exp(-s * s / (2 * beta * beta)); };
  constexpr int pieces = 20'000;
  const double h = 30 * beta / pieces;
  double sum = beyond(t) + beyond(t + 30 * beta);
  for (int k = 1; k < pieces; ++k) sum += (k % 2 == 1 ? 4 : 2) * beyond(t + k * h);
  return (start + t) * (start + t) * std::exp(-t * t / (2 * beta * beta)) + sum * h / 3;
}

TEST(GuaranteeExact, OutputLayerTakesTheBestTruncation) {
  for (const double lambda : {0.125, 1e-3, 1e-9, 1e-17}) {
    GuaranteeInput input = points();
    input.lambda_features->value = lambda;
    const double width = *one(relu(), input, {}, "3.2").width;
    const double start = std::sqrt(8), beta = 2;  // n E phi^2, ||X||
    double least = infinity;
    for (double t = 0.1; t < 25; t += 0.05)
      if (const double tail = tail_by_quadrature(start, beta, t); tail < lambda)
        least = std::min(least, (start + t) * (start + t) / (lambda - tail));
    const double exact = 2 / (1 - std::log(2)) * std::log(1600) * least;
    EXPECT_GE(width, exact * (1 - 1e-3)) << lambda;  // of t, in steps
    EXPECT_LE(width, exact * 1.02) << lambda;
  }
}

TEST(GuaranteeExact, OutputLayerHasAWidthAlone) {
  const Guarantee row = one(relu(), points(), {}, "3.2");
  EXPECT_TRUE(row.holds && row.width && row.verified && row.failure_probability);
  EXPECT_FALSE(row.step || row.rate || row.steps);
  EXPECT_EQ(row.lambda_from, "lambda~");
  EXPECT_FALSE(one(relu(), points(), {.width = *row.width - 1}, "3.2").holds);
  GuaranteeInput input = points();
  input.phi_squares = infinity;
  EXPECT_EQ(*one(relu(), input, {}, "3.2").width, infinity);
  input.lambda_features->value = 0;
  EXPECT_TRUE(says(one(relu(), input, {}, "3.2"), "lambda~ is not known to be positive"));
  input.lambda_features.reset();
  EXPECT_TRUE(says(one(relu(), input, {}, "3.2"), "was not computed"));
  Activation own = smooth(1, 1);
  own.tabulated = false;
  EXPECT_FALSE(one(own, points(), {}, "3.2").verified);
}

TEST(GuaranteeExact, RowsOfTheory) {
  GuaranteeInput input = points();
  input.separation = 1;  // theta = pi/3
  const GuaranteeOptions options{.failure_probability = std::exp(-8)};
  EXPECT_NEAR(*one(relu(), input, options, "zl_a").width, 12 * (16 + 16 + 8), 1);
  const double needed = 6.52 * (std::log(16) + 8) * 4 * 4 / 0.5;
  EXPECT_EQ(*one(smooth(2, infinity), input, options, "zl_b").width, std::ceil(needed));
  EXPECT_EQ(*one(smooth(2, infinity), input, options, "zl_c").width, 2 * std::ceil(needed));
  EXPECT_TRUE(says(one(smooth(1, 1), input, {}, "zl_a"), "needs relu"));
  for (const char* id : {"zl_a", "zl_b", "zl_c"}) {
    const Guarantee row = one(relu(), input, options, id);
    EXPECT_TRUE(row.holds && row.verified && !row.step && !row.rate && !row.steps) << id;
    EXPECT_EQ(*row.failure_probability, options.failure_probability);
  }
}

TEST(GuaranteeExact, NetworksShareTheProbability) {
  GuaranteeInput input = points();
  input.networks = 10;
  for (const Activation& phi : {relu(), smooth(1, 1)}) {
    const auto together = guarantees(phi, input, {.failure_probability = 0.3});
    input.networks = 1;
    const auto each = guarantees(phi, input, {.failure_probability = 0.03});
    input.networks = 10;
    for (std::size_t k = 0; k < each.size(); ++k) {
      if (!each[k].width) continue;
      EXPECT_EQ(*together[k].failure_probability, 0.3);
      EXPECT_CLOSE(*together[k].width, *each[k].width);
    }
  }
}

TEST(GuaranteeExact, OrderAndSources) {
  GuaranteeInput input = points();
  input.lambdas.push_back({"mu_2^2", 0.1, false});
  const auto names = [](const std::vector<Guarantee>& all) {
    std::string joined;
    for (const Guarantee& row : all) joined += row.id.substr(row.id.find('_') + 1) + (row.width ? "+ " : " ");
    return joined;
  };
  EXPECT_EQ(names(guarantees(relu(), input)),
            "3_1+ 3_1+ 4_1+ 4_1+ 6_2 2_1 6_3+ 6_3+ 2_3+ 2_5+ 2_6 3_2+ a+ b+ b+ c+ c+ ");
  EXPECT_EQ(names(guarantees(smooth(1, 1), input)),
            "3_1 4_1 6_2+ 6_2+ 2_1+ 6_3 2_3 2_5 2_6+ 2_6+ 3_2+ a b+ b+ c+ c+ ");
  EXPECT_FALSE(rows(guarantees(relu(), input), "6.3")[1].verified);
}

// ---- the register ----

TEST(Theorems, HaveIdsOfTheirOwn) {
  std::set<std::string> ids;
  for (const Theorem& one : theorems()) {
    EXPECT_TRUE(ids.insert(one.id).second) << one.id;
    EXPECT_EQ(theorem(one.id).title(), one.title());
    EXPECT_FALSE(one.statement.empty()) << one.id;
    EXPECT_EQ(one.printed.empty(), one.source == "zeroloss") << one.id;
  }
  EXPECT_EQ(ids.size(), 12u);
  EXPECT_EQ(theorem("dzps_4_1").title(), "Du et al. 2018, Thm 4.1");
  EXPECT_THROW(theorem("dzps_9_9"), std::out_of_range);
  for (const Guarantee& row : guarantees(relu(), points())) EXPECT_EQ(row.theorem, theorem(row.id).title());
}

TEST(Theorems, CoverTheirActivationAndScaling) {
  const auto covered = [](const Activation& phi, const char* scaling) {
    std::string numbers;
    for (const Theorem& one : theorems())
      if (internal::covers(one.id, phi, scaling)) numbers += one.number.substr(0, one.number.find(' ')) + " ";
    return numbers;
  };
  EXPECT_EQ(covered(relu(), "ntk"), "3.1 4.1 3.2 A B C ");
  EXPECT_EQ(covered(relu(), "balanced"), "6.3 2.3 2.5 3.2 A C ");
  EXPECT_EQ(covered(smooth(1, 1), "ntk"), "3.2 B C ");
  EXPECT_EQ(covered(smooth(1, 1), "balanced"), "6.2 2.1 2.6 3.2 C ");
  EXPECT_EQ(covered(smooth(1, infinity), "ntk"), "3.2 B C ");
}

// The formulas of theory 4 and of the proofs, at numbers that can be read off.
TEST(Theorems, BoundARunAtEveryStep) {
  const internal::Course course{.n = 9,
                                .width = 4,
                                .lambda = 0.5,
                                .norm_X = 2,
                                .norm_y = 2,
                                .start = 6,
                                .rate = 0.25,
                                .k = 3,
                                .residual = 1.5};
  const double shrunk = 6 * 27.0 / 64;
  const auto descent = internal::bounds_along("dzps_4_1", course);
  EXPECT_CLOSE(*descent.residual, shrunk);
  EXPECT_CLOSE(*descent.max_distance, 4.5 * 2 * 6 / 2.0 / 0.5);
  EXPECT_FALSE(descent.distance || descent.path_length);
  const auto flow = internal::bounds_along("dzps_3_1", course);
  EXPECT_CLOSE(*flow.residual, 6 * std::exp(-0.75));
  EXPECT_CLOSE(*flow.max_distance, 2 * 2 * 6 / 2.0 / 0.5);
  for (const char* id : {"os_6_2", "os_2_1"}) {
    internal::Course odd = course;
    const auto even = internal::bounds_along(id, course);
    EXPECT_CLOSE(*even.residual, shrunk);
    EXPECT_CLOSE(*even.path_length, std::sqrt(126) * 6 / 2.0);
    EXPECT_CLOSE(*even.distance, std::sqrt(126) * 3 * 0.75);
    EXPECT_FALSE(even.max_distance);
    odd.width = 3;
    EXPECT_CLOSE(*internal::bounds_along(id, odd).path_length, std::sqrt(126 * 1.5) * 3);
  }
  for (const char* id : {"os_6_3", "os_2_3", "os_2_5"}) {
    const auto relu = internal::bounds_along(id, course);
    EXPECT_CLOSE(*relu.residual, shrunk);
    EXPECT_CLOSE(*relu.max_distance, 4.5 * 2 * 6 / 2.0 / 0.5 * 3 / 2);
    EXPECT_FALSE(relu.distance || relu.path_length);
  }
  for (const char* id : {"os_2_6", "os_3_2", "zl_a", "zl_b", "zl_c"})  // a mean over runs; no descent at all
    EXPECT_FALSE(internal::bounds_along(id, course).residual) << id;
}

// ---- oracle ----

TEST(GuaranteeOracle, AgreesWithTheStatements) {
  std::ifstream file(ZEROLOSS_TEST_DIR "/theory/data/guarantee_oracle.csv");
  std::string line, cell;
  ASSERT_TRUE(std::getline(file, line));
  std::vector<std::string> columns;
  for (std::stringstream header(line); std::getline(header, cell, ',');) columns.push_back(cell);
  int compared = 0;
  while (std::getline(file, line)) {
    std::map<std::string, std::string> text;
    std::stringstream values(line);
    for (const auto& column : columns) std::getline(values, text[column], ',');
    const auto number = [&](const char* column) { return std::strtod(text.at(column).c_str(), nullptr); };
    GuaranteeInput input;
    input.n = number("n");
    input.d = number("d");
    input.norm_X = number("norm_X");
    input.norm_y = number("norm_y");
    input.lambdas = {{"lambda_min", number("lambda"), true}};
    input.lambda_product = LambdaSource{"lambda_min(G o G)", number("product"), true};
    input.mu_phi = number("mu");
    input.separation = number("delta");
    input.lambda_features = LambdaSource{"lambda~", number("features"), true};
    input.phi_squares = number("phi_squares");
    const Activation phi = text.at("activation") == "relu" ? relu() : smooth(number("B"), number("M"));
    const Guarantee row = one(
        phi, input, {.failure_probability = number("p"), .accuracy = number("accuracy")}, text.at("theorem"));
    SCOPED_TRACE(line);
    const auto near = [&](const std::optional<double>& got, const char* column, double slack) {
      ASSERT_EQ(got.has_value(), !text.at(column).empty()) << column;
      if (!got) return;
      const double exact = number(column);
      EXPECT_LE(std::abs(*got - exact), kSafe * exact + slack) << column << " " << *got;
    };
    near(row.width, "width", 1);  // rounded up to whole ones
    near(row.step, "step", 0);
    near(row.rate, "rate", 0);
    near(row.steps, "steps", 1);
    EXPECT_EQ(*row.failure_probability, number("p"));
    const double ulp = 1 + 4 * test::kUnit;  // of the oracle's decimal number, read back
    EXPECT_GE(*row.width * ulp, number("width"));
    if (row.rate) {
      EXPECT_GE(*row.steps * ulp, number("steps"));
      EXPECT_LE(*row.rate, number("rate") * ulp);
    }
    if (row.step) {
      EXPECT_LE(*row.step, number("step") * ulp);
    }
    ++compared;
  }
  EXPECT_EQ(compared, 252);
}

// ---- properties ----

struct Case {
  GuaranteeInput input;
  GuaranteeOptions options;
  double B, M;
};

std::vector<Case> random_cases(int count) {
  std::mt19937_64 random(7);
  const auto decade = [&](double low, double high) {
    return std::pow(10, std::uniform_real_distribution<double>(low, high)(random));
  };
  std::vector<Case> cases;
  for (int k = 0; k < count; ++k) {
    Case c{points(), {}, decade(-1, 1), decade(-3, 1)};
    c.input.n = std::floor(decade(0.5, 6));
    c.input.norm_X = std::pow(c.input.n, std::uniform_real_distribution<double>(0.05, 0.5)(random));
    c.input.norm_y = decade(-3, 4);
    c.input.lambdas[0].value = std::min(0.5, c.B * c.B) * decade(-9, 0);
    c.input.lambda_product->value = decade(-9, 0);
    c.input.mu_phi = c.B * decade(-2, -0.3);
    c.input.separation = decade(-9, 0.1);
    c.input.lambda_features->value = c.B * c.B * decade(-17, -0.5);
    c.input.phi_squares = c.B * c.B * decade(-1, 1);
    c.options = {.failure_probability = decade(-9, -0.2), .accuracy = decade(-9, -0.1)};
    cases.push_back(c);
  }
  return cases;
}

TEST(GuaranteeProperty, MonotoneInProbabilityLambdaAndAccuracy) {
  for (const Case& c : random_cases(200)) {
    for (const Activation& phi : {relu(), smooth(c.B, c.M)}) {
      const auto base = guarantees(phi, c.input, c.options);
      GuaranteeOptions safer = c.options, finer = c.options;
      GuaranteeInput better = c.input;
      safer.failure_probability /= 3;
      finer.accuracy /= 3;
      better.lambdas[0].value *= 1.5;
      better.lambda_product->value *= 1.5;
      better.separation *= 1.5;
      better.lambda_features->value *= 1.5;
      const auto with_p = guarantees(phi, c.input, safer), with_accuracy = guarantees(phi, c.input, finer),
                 with_lambda = guarantees(phi, better, c.options);
      for (std::size_t k = 0; k < base.size(); ++k) {
        if (!base[k].width) continue;
        EXPECT_GE(*with_p[k].width, *base[k].width) << base[k].theorem;
        EXPECT_LT(*with_p[k].failure_probability, *base[k].failure_probability);
        EXPECT_EQ(*with_accuracy[k].width, *base[k].width);
        EXPECT_LE(*with_lambda[k].width, *base[k].width) << base[k].theorem;
        if (!base[k].rate) continue;
        EXPECT_GE(*with_accuracy[k].steps, *base[k].steps);
        EXPECT_GE(*with_lambda[k].rate, *base[k].rate) << base[k].theorem;
        EXPECT_LE(*with_lambda[k].steps, *base[k].steps);
      }
    }
  }
}

// ---- the proofs' inequalities, their constants derived anew ----

double chernoff(double delta) { return delta + (1 - delta) * std::log1p(-delta); }

// ||v|| = ||y|| sqrt(N/(m n)), N = m - 1 neurons of an odd m.
bool smooth_conditions(const Case& c, double lambda, double p, double m, double nu = 0) {
  const double n = c.input.n, X = c.input.norm_X, B = c.B;
  const double start = std::sqrt(1 + B * B) + std::sqrt(-2 * std::log(p) / n) * X * B;  // ||r_0||/||y||
  const double alpha2 = lambda * (m - 1) / m / (8 * n), L = c.M * X / std::sqrt(m) / std::sqrt(n);
  // Gradient descent: the path ends before alpha/L while eta L ||r|| is what alpha^2 >= L ||r_0||/1.5/slope
  // makes it; sgd: 4 nu.
  double slope = 0.7;
  for (int k = 0; k < 50; ++k) slope = (1.5 - 1.5 * slope / 16) / 2;
  const double factor = nu > 0 ? 4 * nu : 1 / (1.5 * slope);
  return alpha2 >= factor * L * start &&
         (m - 1) * lambda / (B * B * X * X) * chernoff(0.5) >= std::log(n / p);
}

// Lemma 2 for N neurons of output weight v, and that nobody moves further than R: flow, or descent.
bool relu_conditions(double n, double X, double lambda, double p, double N, double v, double start,
                     bool flow) {
  const double delta = 1.0 / 32, s = 1.0 / 16, share = 0.28;
  const double s0 = v * std::sqrt((1 - delta) * N * lambda);
  const double change = flow ? s0 - v * std::sqrt(N * lambda / 2) : share * s0;  // of J, v ||X|| sqrt(N tau)
  const double tau = std::pow(change / (v * X), 2) / N;
  const double R = std::sqrt(std::numbers::pi / 2) * tau / (1 + s);
  const double speed = flow ? N * v * v * lambda / 2
                            : s0 * s0 * ((1 - share) * (1 - 2 * share) - (1 - share) * (1 - share) / 6);
  return std::log(n) - N * chernoff(delta) * lambda / (X * X) <= std::log(p) &&
         std::log(n) - N * tau / (1 + s) * ((1 + s) * std::log1p(s) - s) <= std::log(p) &&
         v * X * start / speed <= R;
}

bool du_conditions(const Case& c, bool flow, double m) {
  const double n = c.input.n, p = c.options.failure_probability / 3, pi = std::numbers::pi;
  const double sum = std::sqrt(2 * std::log(4 / p));  // of v
  const double mean =
      std::hypot(c.input.norm_y + sum * std::sqrt(n / (2 * pi)), std::sqrt(n * (0.5 - 0.5 / pi)));
  const double start = mean + c.input.norm_X * std::sqrt(2 * std::log(2 / p));
  return relu_conditions(n, c.input.norm_X, c.input.lambdas[0].value, p, m, 1 / std::sqrt(m), start, flow);
}

bool balanced_conditions(const Case& c, double m) {
  const double n = c.input.n, p = c.options.failure_probability / 3;
  const double start =
      std::sqrt(1.5 - 0.5 / std::numbers::pi) + c.input.norm_X * std::sqrt(-2 * std::log(p) / n);
  return relu_conditions(n, c.input.norm_X, c.input.lambdas[0].value, p, m - 1, 1 / std::sqrt(m * n), start,
                         false);
}

// Constants are rounded up to three digits: less than 1 % of a width.
TEST(GuaranteeProperty, TheWidthIsNextToTheSmallestThatTheProofAllows) {
  for (const Case& c : random_cases(300)) {
    const auto check = [](double width, const std::function<bool(double)>& conditions, const char* theorem) {
      EXPECT_TRUE(conditions(width)) << theorem << " " << width;
      EXPECT_TRUE(conditions(width + 1)) << theorem << " " << width;
      EXPECT_FALSE(conditions(width * 0.99 - 4)) << theorem << " " << width;
    };
    const double lambda = c.input.lambdas[0].value, p = c.options.failure_probability;
    const Activation phi = smooth(c.B, c.M);
    const auto width = [&](const Activation& of, const char* theorem) {
      return *one(of, c.input, c.options, theorem).width;
    };
    check(
        width(phi, "6.2"), [&](double m) { return smooth_conditions(c, lambda, p / 2, m); }, "6.2");
    const auto nu = [&](double m) {
      const double b = 3 * c.B * c.input.norm_X / std::sqrt(lambda);
      return std::max(3.0, 4 * std::pow(b, 1 / (m * c.input.d)) / (0.9 * p));
    };
    check(
        width(phi, "2.6"), [&](double m) { return smooth_conditions(c, lambda, p / 20, m, nu(m)); }, "2.6");
    check(
        width(relu(), "3.1"), [&](double m) { return du_conditions(c, true, m); }, "3.1");
    check(
        width(relu(), "4.1"), [&](double m) { return du_conditions(c, false, m); }, "4.1");
    check(
        width(relu(), "6.3"), [&](double m) { return balanced_conditions(c, m); }, "6.3");
    check(
        width(phi, "zl_b"),
        [&](double m) {
          return m * lambda / std::pow(c.B * c.input.norm_X, 2) * chernoff(0.5) >= std::log(c.input.n / p);
        },
        "zl_b");
    const double q =
        2 * std::asin(std::min(c.input.separation, std::numbers::sqrt2) / 2) / (4 * std::numbers::pi);
    const double all = width(relu(), "zl_a") * q / c.input.n;  // the mean over n of the binomial number
    EXPECT_GE(c.input.n * (all - 1 - std::log(all)), -std::log(p) - c.input.n * all * test::gamma_of(16));
  }
}

TEST(GuaranteeProperty, AWidthGivenIsComparedWithTheSufficientOne) {
  const double sufficient = *one(relu(), points(), {}, "6.3").width;
  EXPECT_TRUE(one(relu(), points(), {.width = sufficient}, "6.3").holds);
  EXPECT_FALSE(one(relu(), points(), {.width = std::nextafter(sufficient, 0)}, "6.3").holds);
  const Guarantee row = one(relu(), points(), {.width = 1024}, "6.3");
  EXPECT_FALSE(row.holds);
  EXPECT_EQ(*row.width, sufficient);
  EXPECT_TRUE(says(row, "width 1024 is a factor ")) << row.reason;
}

// ---- extreme inputs ----

TEST(GuaranteeExtreme, FiniteWidthsDoNotOverflow) {
  GuaranteeInput input = points();
  input.n = 1e6;
  input.norm_X = 1e3;
  for (double lambda : {1e-60, 1e-55}) {
    input.lambdas[0].value = lambda;
    const double D0 = 1e3 * std::sqrt(2 * std::log(300) / 1e6);
    const double root = std::sqrt(2510 * 1e6) * (1.16 + D0) * 1e9 / lambda / lambda;
    EXPECT_CLOSE(*one(relu(), input, {}, "6.3").width, root * root);
    EXPECT_LT(*one(relu(), input, {}, "4.1").width, 1e300);
  }
  input.lambdas[0].value = 1e-300;  // lambda^-4 is beyond every double, lambda^-2 too
  for (const Guarantee& row : guarantees(relu(), input, {.width = 1e308})) {
    if (row.lambda_from != "lambda_min" || !row.rate) continue;
    EXPECT_EQ(*row.width, infinity) << row.theorem;
    EXPECT_FALSE(row.holds);
    EXPECT_GE(*row.rate, 0);
  }
  EXPECT_LT(*one(relu(), input, {}, "3.1").steps, 1e302);
  input.lambda_product->value = 1e-300;
  EXPECT_EQ(*one(smooth(1, 1), input, {}, "2.6").width, infinity);
}

TEST(GuaranteeExtreme, TinyProbability) {
  for (const double p : {1e-300, 5e-324})
    for (const Activation& phi : {relu(), smooth(1, 1)})
      for (const Guarantee& row : guarantees(phi, points(), {.failure_probability = p})) {
        if (!row.width) continue;
        EXPECT_TRUE(row.holds) << row.theorem;
        // log(1/p), but for sgd, whose nu is 1/p
        EXPECT_EQ(std::isinf(*row.width), row.id == "os_2_6") << row.theorem;
      }
}

TEST(GuaranteeExtreme, OnePoint) {
  GuaranteeInput input = points();
  input.n = input.d = input.norm_X = 1;
  input.separation = infinity;
  for (const Activation& phi : {relu(), smooth(1, 1)})
    for (const Guarantee& row : guarantees(phi, input)) {
      if (!row.width) continue;
      EXPECT_TRUE(row.holds) << row.theorem;
      EXPECT_GE(*row.width, 2);
    }
  EXPECT_NEAR(*one(relu(), input, {.failure_probability = std::exp(-2)}, "zl_a").width, 8 * (1 + 2 + 2), 1);
}

TEST(GuaranteeExtreme, TheAngleOfClosePoints) {
  GuaranteeInput input = points();
  for (const double delta : {1e-8, 1e-300}) {
    input.separation = delta;
    const GuaranteeOptions options{.failure_probability = std::exp(-8)};
    EXPECT_NEAR(*one(relu(), input, options, "zl_a").width * delta, 4 * std::numbers::pi * 40,
                delta + 503 * kSafe);  // one unit
  }
  input.separation = 1e-8;
  EXPECT_TRUE(std::isfinite(*one(relu(), input, {}, "2.5").width));
  input.separation = 0;
  EXPECT_TRUE(says(one(relu(), input, {}, "zl_a"), "theta is not known to be positive: theta = 0"));
  input.separation = 5e-324;  // twice its half's arc sine is 0
  EXPECT_FALSE(one(relu(), input, {}, "zl_a").holds);
}

TEST(GuaranteeExtreme, LambdaAtRoundingNoise) {
  GuaranteeInput input = points();
  input.lambda_features->value = 1e-300;
  const Guarantee row = one(relu(), input, {}, "3.2");
  EXPECT_TRUE(row.holds && *row.width > 1e300 && std::isfinite(*row.width));
  input.lambda_features->value = 5e-324;
  EXPECT_EQ(*one(relu(), input, {}, "3.2").width, infinity);
}

TEST(GuaranteeExtreme, ZeroLabels) {
  GuaranteeInput input = points();
  input.norm_y = 0;
  const Guarantee refused = one(relu(), input, {}, "6.3");
  EXPECT_FALSE(refused.holds || refused.width || refused.step);
  EXPECT_TRUE(says(refused, "y != 0"));
  EXPECT_TRUE(one(relu(), input, {}, "4.1").holds);  // ntk scaling does not mind
}

// ---- conditions that fail ----

TEST(GuaranteeConditions, LambdaMustBePositive) {
  GuaranteeInput input = points();
  input.separation = 0;
  input.lambda_product->value = 0;
  for (double lambda : {0.0, -1e-9, std::numeric_limits<double>::quiet_NaN()}) {
    input.lambdas[0].value = lambda;
    for (const Activation& phi : {relu(), smooth(1, 1)})
      for (const Guarantee& row : guarantees(phi, input)) {
        if (row.lambda_from == "lambda~") continue;
        EXPECT_FALSE(row.holds || row.width || row.rate || row.failure_probability);
        EXPECT_TRUE(row.lambda_from.empty() || says(row, "theta is not known to be positive") ||
                    says(row, "its lambda is not known to be positive: " + row.lambda_from))
            << row.reason;
      }
  }
}

TEST(GuaranteeConditions, ActivationMustFit) {
  Activation quadratic = smooth(infinity, 1);
  quadratic.name = "quadratic";
  EXPECT_EQ(one(quadratic, points(), {}, "4.1").reason, "needs relu; phi is quadratic");
  for (const char* theorem : {"6.2", "2.1", "2.6", "3.2", "zl_b", "zl_c"})
    EXPECT_TRUE(says(one(quadratic, points(), {}, theorem), "sup |phi'| of quadratic is infinite"))
        << theorem;
  EXPECT_TRUE(says(one(relu(), points(), {}, "6.2"), "sup |phi''| of relu is infinite"));
  Activation leaky = relu();
  leaky.name = "leaky";
  leaky.leak = 0.01;
  for (const Guarantee& row : guarantees(leaky, points()))
    EXPECT_EQ(row.holds, row.id == "os_3_2" || row.id == "zl_b" || row.id == "zl_c") << row.theorem;
}

TEST(GuaranteeConditions, MissingProduct) {
  GuaranteeInput input = points();
  input.lambda_product.reset();
  EXPECT_TRUE(says(one(smooth(1, 1), input, {}, "2.1"), "was not computed"));
  EXPECT_TRUE(one(smooth(1, 1), input, {}, "2.6").holds) << "any bound of lambda does";
}

TEST(GuaranteeConditions, ProductBoundIsVerifiedOnlyWithATabulatedMu) {
  Activation own = smooth(1, 1);
  EXPECT_TRUE(one(own, points(), {}, "2.1").verified);
  own.tabulated = false;
  EXPECT_FALSE(one(own, points(), {}, "2.1").verified);
}

TEST(GuaranteeConditions, WithoutLabels) {
  GuaranteeInput input = points();
  input.has_labels = false;
  input.norm_y = 0;
  const Guarantee descent = one(relu(), input, {}, "4.1"), balanced = one(relu(), input, {}, "6.3");
  EXPECT_TRUE(descent.holds && !descent.width && descent.step && descent.steps);
  EXPECT_TRUE(says(descent, "width needs labels"));
  EXPECT_TRUE(balanced.holds && balanced.width && !balanced.step && balanced.steps);
  EXPECT_TRUE(says(balanced, "step needs labels"));
  EXPECT_FALSE(one(relu(), input, {.width = 1e300}, "4.1").holds);
  EXPECT_TRUE(one(relu(), input, {.width = 1e300}, "6.3").holds);
}

TEST(GuaranteeContract, RejectsWhatIsOutOfRange) {
  const auto rejected = [](GuaranteeInput input, GuaranteeOptions options, const std::string& message) {
    try {
      guarantees(relu(), input, options);
      ADD_FAILURE() << "accepted: " << message;
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(error.what(), "guarantees: " + message);
    }
  };
  const GuaranteeInput good = points();
  rejected(good, {.failure_probability = 0}, "failure_probability must be in (0, 1); got 0");
  rejected(good, {.failure_probability = 1}, "failure_probability must be in (0, 1); got 1");
  rejected(good, {.accuracy = 0}, "accuracy must be in (0, 1); got 0");
  rejected(good, {.accuracy = 2}, "accuracy must be in (0, 1); got 2");
  rejected(good, {.accuracy = std::nan("")}, "accuracy must be in (0, 1); got nan");
  rejected(good, {.width = -1}, "width must be >= 0 and finite; got -1");
  const auto with = [&](double GuaranteeInput::*field, double value) {
    GuaranteeInput input = good;
    input.*field = value;
    return input;
  };
  rejected(with(&GuaranteeInput::n, 0), {}, "n must be >= 1; got 0");
  rejected(with(&GuaranteeInput::d, 0), {}, "d must be >= 1; got 0");
  rejected(with(&GuaranteeInput::norm_X, 0), {}, "norm_X must be positive; got 0");
  rejected(with(&GuaranteeInput::norm_y, -1), {}, "norm_y must be >= 0; got -1");
  rejected(with(&GuaranteeInput::separation, -1), {}, "separation must be >= 0; got -1");
  rejected(with(&GuaranteeInput::phi_squares, -1), {}, "phi_squares must be >= 0; got -1");
  GuaranteeInput none = good;
  none.lambdas.clear();
  rejected(none, {}, "lambdas must hold at least one bound; got 0");
}

// E[g phi'(g)]: of relu E[g 1(g > 0)] = 1/sqrt(2 pi), of z^2/2 that of g^2, of even phi' nothing.
TEST(Guarantee, FirstCoefficientOfTheSlope) {
  const auto mu = [](const char* phi) {
    return internal::guarantee_input(activation(phi), 3, 2, 1, {.lambda = {"lambda_min", 1, true}}).mu_phi;
  };
  // Rounded towards 0; coefficients are known to within some 2^-40.
  EXPECT_LE(mu("relu"), 1 / std::sqrt(2 * std::numbers::pi));
  EXPECT_GE(mu("relu"), (1 - 0x1p-29) / std::sqrt(2 * std::numbers::pi));
  EXPECT_LE(mu("quadratic"), 1);
  EXPECT_GE(mu("quadratic"), 1 - 0x1p-29);
  EXPECT_EQ(mu("tanh"), 0);
}

// lambda_min of mu^2 times a kernel is mu^2 lambda_min of it, whichever sign mu has.
TEST(Guarantee, ABoundOfAKernelIsScaledBySquares) {
  for (const double mu : {0.5, -0.5}) {
    const LambdaSource from = internal::scaled({"lambda_min(G)", 3, true}, mu, "of mu", true);
    EXPECT_LE(from.value, 0.75);
    EXPECT_GE(from.value, 0.75 * (1 - 0x1p-40));
    EXPECT_EQ(from.name, "of mu");
    EXPECT_TRUE(from.verified);
  }
  EXPECT_FALSE(internal::scaled({"lambda_min(G)", 3, true}, 1, "of a user's mu", false).verified);
}

}  // namespace
}  // namespace zeroloss
