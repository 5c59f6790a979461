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
  input.separation = 0.5;
  input.separation_verified = true;
  return input;
}

std::vector<Guarantee> rows(const std::vector<Guarantee>& all, const std::string& theorem) {
  std::vector<Guarantee> found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found), [&](const Guarantee& row) {
    return row.theorem == Du + theorem || row.theorem == OS + theorem;
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

#define EXPECT_CLOSE(a, b) EXPECT_NEAR((a) / (b), 1, 1e-12)

// ---- exact ----

TEST(GuaranteeExact, GradientFlowAndDescent) {
  GuaranteeInput input = points();
  input.n = 2;
  input.norm_y = std::sqrt(3.0);
  const GuaranteeOptions options{.failure_probability = 0.3,
                                 .accuracy = 0.01};  // p' = 0.1, misfit^2 = (3 + 1)/0.1
  const double pi = std::numbers::pi;
  const Guarantee flow = one(relu(), input, options, "3.1"), descent = one(relu(), input, options, "4.1");
  EXPECT_EQ(*flow.width, std::ceil(512 * 32 * 40 / (pi * 0.01 * 0.0625)));
  EXPECT_EQ(*descent.width, std::ceil(8192 * 32 * 40 / (pi * 0.01 * 0.0625)));
  EXPECT_FALSE(flow.step);
  EXPECT_CLOSE(*descent.step, 1.0 / 32);
  EXPECT_CLOSE(*flow.rate, 0.25);
  EXPECT_CLOSE(*descent.rate, 1 - std::sqrt(127.0 / 128));
  EXPECT_CLOSE(*flow.steps, 4 * std::log(100.0));
  EXPECT_EQ(*descent.steps, std::ceil(2 * std::log(0.01) / std::log(127.0 / 128)));
  EXPECT_EQ(*flow.failure_probability, 0.3);
  EXPECT_TRUE(flow.holds && descent.holds && flow.verified && flow.reason.empty());
  EXPECT_EQ(flow.lambda_from, "lambda_min");
}

TEST(GuaranteeExact, SmoothWidthLosesTwoUnitsForOddWidths) {
  const GuaranteeOptions options{.failure_probability = std::exp(-2), .accuracy = 0.5};  // D0 = 1
  const Guarantee row = one(smooth(1, 0.5), points(), options, "6.2");
  EXPECT_EQ(*row.width,
            768 * 768 + 2);  // 32 0.5 (1 + 2) 4 2/0.5 = 768, and sqrt(m) - 1/sqrt(m) < 768 at 768^2 + 1
  EXPECT_CLOSE(*row.step, 0.5);
  EXPECT_CLOSE(*row.rate, 1.0 / 256);
  EXPECT_EQ(*row.steps, std::ceil(std::log(0.5) / std::log(255.0 / 256)));
  EXPECT_CLOSE(*row.failure_probability, 1.0 / 16 + std::exp(-2));
  EXPECT_TRUE(row.holds);
}

TEST(GuaranteeExact, ConcentrationDecidesWhereMIsSmall) {
  const Guarantee row = one(smooth(2, 0), points(), {}, "6.2");  // 20 log(16) 4 4/0.5 = 1774.4..
  EXPECT_EQ(*row.width, std::ceil(640 * std::log(16) + 1));
}

TEST(GuaranteeExact, ReluBalanced) {
  GuaranteeInput input = points();
  input.n = 4;
  input.lambdas[0].value = 0.25;
  const Guarantee row = one(relu(), input, {.failure_probability = std::exp(-1)}, "6.3");  // D0 = 1
  EXPECT_CLOSE(*row.width, 9.216e9 * 4 * 4 * 64 * 256);
  EXPECT_CLOSE(*row.step, 1.0 / 12);
  EXPECT_CLOSE(*row.rate, 1.0 / 384);
  EXPECT_CLOSE(*row.failure_probability, 0.5 + std::exp(-1));
  EXPECT_TRUE(row.holds);
}

TEST(GuaranteeExact, CorollariesAreTheMetaTheoremsWithTheirBound) {
  GuaranteeInput input = points();
  input.lambdas[0].value = 0.25 * 0.25 * 0.25;
  EXPECT_CLOSE(*one(smooth(1, 1), input, {}, "2.1").width, *one(smooth(1, 1), input, {}, "6.2").width);
  EXPECT_CLOSE(*one(relu(), input, {}, "2.3").width, *one(relu(), input, {}, "6.3").width);
  input.lambdas[0].value = 0.5 / 25600;
  EXPECT_CLOSE(*one(relu(), input, {}, "2.5").width, *one(relu(), input, {}, "6.3").width);
  EXPECT_EQ(one(relu(), input, {}, "2.5").lambda_from, "delta/(100 n^2)");
}

TEST(GuaranteeExact, OutputLayerStatesNoNumbers) {
  for (double width : {0.0, 1e300}) {
    const Guarantee row = one(relu(), points(), {.width = width}, "3.2");
    EXPECT_FALSE(row.holds || row.width || row.step || row.rate || row.steps || row.failure_probability);
    EXPECT_TRUE(says(row, "no explicit constant") && says(row, "0.125")) << row.reason;
  }
  GuaranteeInput input = points();
  input.n = 1;  // 6 B^2/n^100 = 6
  EXPECT_TRUE(says(one(relu(), input, {}, "3.2"), "not known to exceed"));
  input.lambda_features.reset();
  EXPECT_TRUE(says(one(relu(), input, {}, "3.2"), "not given"));
}

TEST(GuaranteeExact, OrderAndSources) {
  GuaranteeInput input = points();
  input.lambdas.push_back({"mu_2^2", 0.1, false});
  const auto names = [](const std::vector<Guarantee>& all) {
    std::string joined;
    for (const Guarantee& row : all)
      joined += row.theorem.substr(row.theorem.rfind(' ') + 1) + (row.width ? "+ " : " ");
    return joined;
  };
  EXPECT_EQ(names(guarantees(relu(), input)), "3.1+ 3.1+ 4.1+ 4.1+ 6.2 2.1 6.3+ 6.3+ 2.3+ 2.5+ 2.6 3.2 ");
  EXPECT_EQ(names(guarantees(smooth(1, 1), input)), "3.1 4.1 6.2+ 6.2+ 2.1+ 6.3 2.3 2.5 2.6+ 3.2 ");
  EXPECT_FALSE(rows(guarantees(relu(), input), "6.3")[1].verified);
}

// ---- the register ----

TEST(Theorems, HaveIdsOfTheirOwn) {
  std::set<std::string> ids;
  for (const Theorem& one : theorems()) {
    EXPECT_TRUE(ids.insert(one.id).second) << one.id;
    EXPECT_EQ(theorem(one.id).title(), one.title());
    EXPECT_FALSE(one.statement.empty()) << one.id;
  }
  EXPECT_EQ(ids.size(), 9u);
  EXPECT_EQ(theorem("dzps_4_1").title(), "Du et al. 2018, Thm 4.1");
  EXPECT_THROW(theorem("dzps_9_9"), std::out_of_range);
  for (const Guarantee& row : guarantees(relu(), points())) EXPECT_EQ(row.theorem, theorem(row.id).title());
}

TEST(Theorems, CoverTheirActivationAndScaling) {
  const auto covered = [](const Activation& phi, const char* scaling) {
    std::string numbers;
    for (const Theorem& one : theorems())
      if (internal::covers(one.id, phi, scaling)) numbers += one.number + " ";
    return numbers;
  };
  EXPECT_EQ(covered(relu(), "ntk"), "3.1 4.1 3.2 ");
  EXPECT_EQ(covered(relu(), "balanced"), "6.3 2.3 2.5 3.2 ");
  EXPECT_EQ(covered(smooth(1, 1), "ntk"), "3.2 ");
  EXPECT_EQ(covered(smooth(1, 1), "balanced"), "6.2 2.1 2.6 3.2 ");
  std::string products;
  for (const Theorem& one : theorems())
    if (internal::needs_product(one.id)) products += one.number + " ";
  EXPECT_EQ(products, "2.1 2.3 2.6 3.2 ");
}

// The formulas of theory 4 and of the proofs, at numbers that can be read off.
TEST(Theorems, BoundARunAtEveryStep) {
  const internal::Course course{
      .n = 9, .width = 4, .lambda = 0.5, .norm_y = 2, .start = 6, .rate = 0.25, .k = 3, .residual = 1.5};
  const double shrunk = 6 * 27.0 / 64;
  const auto descent = internal::bounds_along("dzps_4_1", course);
  EXPECT_CLOSE(*descent.residual, shrunk);
  EXPECT_CLOSE(*descent.max_distance, 4 * 1.5 * 6 / 0.5);
  EXPECT_FALSE(descent.distance || descent.path_length);
  const auto flow = internal::bounds_along("dzps_3_1", course);
  EXPECT_CLOSE(*flow.residual, 6 * std::exp(-0.75));
  EXPECT_CLOSE(*flow.max_distance, 2 * 1.5 * 6 / 0.5);
  for (const char* id : {"os_6_2", "os_2_1"}) {
    internal::Course odd = course;
    const auto even = internal::bounds_along(id, course);
    EXPECT_CLOSE(*even.residual, shrunk);
    EXPECT_CLOSE(*even.path_length, 24 * 6 / 2.0);
    EXPECT_CLOSE(*even.distance, 72 * 0.75);
    EXPECT_FALSE(even.max_distance);
    odd.width = 3;
    EXPECT_CLOSE(*internal::bounds_along(id, odd).path_length, 72 * std::sqrt(1.5));
  }
  for (const char* id : {"os_6_3", "os_2_3", "os_2_5"}) {
    const auto relu = internal::bounds_along(id, course);
    EXPECT_CLOSE(*relu.residual, shrunk);
    EXPECT_FALSE(relu.max_distance || relu.distance || relu.path_length);
  }
  for (const char* id : {"os_2_6", "os_3_2"})  // a mean over runs; no descent at all
    EXPECT_FALSE(internal::bounds_along(id, course).residual) << id;
}

// ---- oracle ----

TEST(GuaranteeOracle, AgreesWithTheProofsInequalities) {
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
    const Activation phi = text.at("activation") == "relu" ? relu() : smooth(number("B"), number("M"));
    const Guarantee row = one(
        phi, input, {.failure_probability = number("p"), .accuracy = number("accuracy")}, text.at("theorem"));
    SCOPED_TRACE(line);
    const auto near = [&](const std::optional<double>& got, const char* column, double slack) {
      ASSERT_EQ(got.has_value(), !text.at(column).empty()) << column;
      if (!got) return;
      const double exact = number(column);
      EXPECT_LE(std::abs(*got - exact), 1e-12 * exact + slack) << column << " " << *got;
    };
    near(row.width, "width", 0);
    near(row.step, "step", 0);
    near(row.rate, "rate", 0);
    near(row.steps, "steps", 0);
    near(row.failure_probability, "failure_probability", 0);
    const double ulp = 1 + 4e-16;  // of the oracle's decimal number, read back
    EXPECT_GE(*row.width * ulp, number("width"));
    EXPECT_GE(*row.steps * ulp, number("steps"));
    EXPECT_LE(*row.rate, number("rate") * ulp);
    if (row.step) {
      EXPECT_LE(*row.step, number("step") * ulp);
    }
    ++compared;
  }
  EXPECT_EQ(compared, 132);
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
      const auto with_p = guarantees(phi, c.input, safer), with_accuracy = guarantees(phi, c.input, finer),
                 with_lambda = guarantees(phi, better, c.options);
      for (std::size_t k = 0; k < base.size(); ++k) {
        if (!base[k].width) continue;
        EXPECT_GE(*with_p[k].width, *base[k].width) << base[k].theorem;
        EXPECT_LT(*with_p[k].failure_probability, *base[k].failure_probability);
        EXPECT_GE(*with_accuracy[k].steps, *base[k].steps);
        EXPECT_EQ(*with_accuracy[k].width, *base[k].width);
        EXPECT_LE(*with_lambda[k].width, *base[k].width) << base[k].theorem;
        EXPECT_GE(*with_lambda[k].rate, *base[k].rate) << base[k].theorem;
        EXPECT_LE(*with_lambda[k].steps, *base[k].steps);
      }
    }
  }
}

// Every inequality of the proof at the width m (balanced: as for odd m, with |r_0| <= 1 + (1 + D0) B, ||y|| =
// 1).
bool smooth_conditions(const Case& c, double lambda, double nu, double m) {
  const double n = c.input.n, X = c.input.norm_X;
  const double D0 = std::sqrt(-2 * std::log(c.options.failure_probability) / n) * X;
  const double alpha2 = lambda * (m - 1) / m / (8 * n), L = c.M * X / std::sqrt(m) / std::sqrt(n);
  return alpha2 >= 4 * nu * L * (1 + (1 + D0) * c.B) &&
         m - 1 >= 20 * std::log(n) * c.B * c.B * X * X / lambda;
}

bool du_conditions(const Case& c, double excess, double m) {
  const double n = c.input.n, p = c.options.failure_probability / 3, lambda = c.input.lambdas[0].value;
  const double misfit2 = (c.input.norm_y * c.input.norm_y + n / 2) / p;
  const double R = std::sqrt(2 * std::numbers::pi) * p * lambda / (16 * n * n);
  return m * lambda * lambda >= 8 * n * n * std::log(n * (n + 1) / p) &&
         excess * std::sqrt(n * misfit2 / m) / lambda < R;
}

TEST(GuaranteeProperty, TheWidthIsTheSmallestThatTheProofAllows) {
  for (const Case& c : random_cases(300)) {
    const auto check = [](double width, const std::function<bool(double)>& conditions, const char* theorem) {
      EXPECT_TRUE(conditions(width)) << theorem << " " << width;
      EXPECT_TRUE(conditions(width + 1)) << theorem << " " << width;
      EXPECT_FALSE(conditions(width * (1 - 1e-9) - 1)) << theorem << " " << width;
    };
    const double lambda = c.input.lambdas[0].value;
    const double product = c.input.mu_phi * c.input.mu_phi * c.input.lambda_product->value;
    const Activation phi = smooth(c.B, c.M);
    check(
        *one(phi, c.input, c.options, "6.2").width,
        [&](double m) { return smooth_conditions(c, lambda, 1, m); }, "6.2");
    const auto nu = [&](double m) {
      const double b = 3 * c.B * c.input.norm_X / std::sqrt(product);
      return std::max(3.0, 4 * std::pow(b, 1 / (m * c.input.d)) / c.options.failure_probability);
    };
    check(
        *one(phi, c.input, c.options, "2.6").width,
        [&](double m) { return smooth_conditions(c, product, nu(m), m); }, "2.6");
    check(
        *one(relu(), c.input, c.options, "3.1").width, [&](double m) { return du_conditions(c, 2, m); },
        "3.1");
    check(
        *one(relu(), c.input, c.options, "4.1").width, [&](double m) { return du_conditions(c, 8, m); },
        "4.1");
    check(
        *one(relu(), c.input, c.options, "6.3").width,
        [&](double m) {
          const double X = c.input.norm_X, m0 = std::sqrt(m / 200 * lambda) / X;
          const double D0 = std::sqrt(-std::log(c.options.failure_probability) / c.input.n) * X;
          return 12 * (1 + D0) * std::sqrt(2 * c.input.n / lambda) <= m0 * m0 * m0 / (2 * m);
        },
        "6.3");
  }
}

// Lemma 6.9 needs a whole number q = m_0^2 with q <= (200/144) N c and q^1.5/(2m) >= R for N = m (even) or m
// - 1 (odd) nonzero output weights, c = lambda/(200 ||X||^2): the relu width leaves room for one, odd m
// included.
TEST(GuaranteeProperty, ReluWidthHasAWholePatternCount) {
  for (const Case& c : random_cases(300)) {
    const double m = *one(relu(), c.input, c.options, "6.3").width, N = m - 1, X = c.input.norm_X;
    const double per_unit = c.input.lambdas[0].value / (200 * X * X);
    EXPECT_GE(200.0 / 144 * N * per_unit - m * per_unit * std::cbrt(m / N), 1);
    EXPECT_GE(m * per_unit, 12 * std::log(c.input.n));  // n exp(-q/6) <= 1/n
    EXPECT_GE(N, 20 * std::log(c.input.n) * X * X / c.input.lambdas[0].value);
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
    const double root = std::sqrt(9.216e9 * 1e6) * (1 + std::sqrt(std::log(100))) * 1e9 / lambda / lambda;
    EXPECT_CLOSE(*one(relu(), input, {}, "6.3").width, root * root);
    EXPECT_LT(*one(relu(), input, {}, "4.1").width, 1e300);
  }
  input.lambdas[0].value = 1e-300;  // lambda^-4 is beyond every double, lambda^-2 too
  for (const Guarantee& row : guarantees(relu(), input, {.width = 1e308})) {
    if (row.lambda_from != "lambda_min") continue;
    EXPECT_EQ(*row.width, infinity) << row.theorem;
    EXPECT_FALSE(row.holds);
    EXPECT_GE(*row.rate, 0);
  }
  EXPECT_LT(*one(relu(), input, {}, "3.1").steps, 1e302);
  input.lambda_product->value = 1e-300;
  EXPECT_EQ(*one(smooth(1, 1), input, {}, "2.6").width, infinity);
}

TEST(GuaranteeExtreme, TinyProbability) {
  for (const Guarantee& row : guarantees(relu(), points(), {.failure_probability = 1e-300})) {
    if (!row.width) continue;
    EXPECT_TRUE(row.holds) << row.theorem;
    EXPECT_EQ(std::isinf(*row.width), row.theorem.starts_with("Du")) << row.theorem;  // p^-3 against log(1/p)
  }
}

TEST(GuaranteeExtreme, OnePoint) {
  GuaranteeInput input = points();
  input.n = input.d = input.norm_X = 1;
  input.separation = infinity;
  for (const Activation& phi : {relu(), smooth(1, 1)})
    for (const Guarantee& row : guarantees(phi, input)) {
      if (!row.width) continue;
      EXPECT_EQ(row.holds, row.theorem.starts_with("Du")) << row.theorem;
      EXPECT_GE(*row.width, 2);
      EXPECT_TRUE(row.holds || says(row, "fails with probability up to")) << row.reason;
    }
  EXPECT_TRUE(says(one(smooth(1, 1), input, {}, "6.2"), "1.02, 0.01 above 1: n = 1"));
  input.n = 2;
  EXPECT_TRUE(one(smooth(1, 1), input, {}, "6.2").holds);
  EXPECT_TRUE(says(one(relu(), input, {}, "6.3"), "1.02, 0.01 above 1: n = 2"));
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
        EXPECT_FALSE(row.holds || row.width || row.rate || row.failure_probability);
        EXPECT_TRUE(row.lambda_from.empty() || row.lambda_from == "lambda~" ||
                    says(row, "lambda_min is not known to be positive: " + row.lambda_from))
            << row.reason;
      }
  }
}

TEST(GuaranteeConditions, ActivationMustFit) {
  Activation quadratic = smooth(infinity, 1);
  quadratic.name = "quadratic";
  EXPECT_EQ(one(quadratic, points(), {}, "4.1").reason, "needs relu; phi is quadratic");
  for (const char* theorem : {"6.2", "2.1", "2.6", "3.2"})
    EXPECT_TRUE(says(one(quadratic, points(), {}, theorem), "sup |phi'| of quadratic is infinite"))
        << theorem;
  EXPECT_TRUE(says(one(relu(), points(), {}, "6.2"), "sup |phi''| of relu is infinite"));
  Activation leaky = relu();
  leaky.name = "leaky";
  leaky.leak = 0.01;
  for (const Guarantee& row : guarantees(leaky, points())) EXPECT_FALSE(row.holds) << row.theorem;
}

TEST(GuaranteeConditions, MissingProduct) {
  GuaranteeInput input = points();
  input.lambda_product.reset();
  EXPECT_TRUE(says(one(smooth(1, 1), input, {}, "2.1"), "not given"));
  EXPECT_TRUE(says(one(smooth(1, 1), input, {}, "2.6"), "not given"));
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
  GuaranteeInput none = good;
  none.lambdas.clear();
  rejected(none, {}, "lambdas must hold at least one bound; got 0");
}

}  // namespace
}  // namespace zeroloss
