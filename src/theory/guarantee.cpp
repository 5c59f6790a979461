#include "zeroloss/theory/guarantee.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "zeroloss/core/text.hpp"

namespace zeroloss {
namespace {

// Every quantity below is a product of at most some 40 correctly rounded operations and a few library
// functions, so 64 ulp cover its rounding. Widths are computed as the square of sqrt(m): no power of lambda
// underflows on the way, and a width that overflows is one beyond 1.8e308.
constexpr double rounding = 64 * std::numeric_limits<double>::epsilon();
double up(double x) { return x * (1 + rounding); }
double down(double x) { return x * (1 - rounding); }
double whole(double x) { return std::ceil(up(x)); }

struct Setting {
  const Activation& activation;
  const GuaranteeInput& input;
  const GuaranteeOptions& options;
};

// ||r_k|| <= (1 - rate)^k ||r_0||. Down twice: the rate is that of the step, which was itself rounded down.
void converge(Guarantee& row, double rate, double accuracy) {
  row.rate = down(down(rate));
  row.steps = whole(std::log(accuracy) / std::log1p(-*row.rate));
}

// ---- ntk scaling, relu [DZPS] ----

// Three events of probability p' = p/3 each may fail: concentration of H(0) (Hoeffding), the number of flips
// within R (Markov) and ||y - u(0)||^2 <= (||y||^2 + n/2)/p' (Markov). R' < R is sqrt(m) > excess n^2.5 ||y -
// u(0)||/(sqrt(2 pi) p' lambda^2), with excess 32 for the flow and 128 for descent. The first event's m >= 8
// n^2 log(n (n + 1)/p')/lambda^2
// <= 16 n^4/(p' lambda^2) follows: R' < R alone asks for more than 81 n^6/(p'^3 lambda^4), and lambda <= 1/2.
void ntk_width(Guarantee& row, const Setting& s, double lambda, double excess) {
  const double n = s.input.n, p = s.options.failure_probability / 3;
  row.failure_probability = s.options.failure_probability;
  if (!s.input.has_labels) {
    row.reason = "width needs labels: it grows with ||y||^2";
    return;
  }
  const double misfit = std::hypot(s.input.norm_y, std::sqrt(n / 2)) / std::sqrt(p);
  const double root = excess * n * n * std::sqrt(n / (2 * std::numbers::pi)) * misfit / p / lambda / lambda;
  row.width = whole(root * root);
}

void gradient_flow(Guarantee& row, const Setting& s, double lambda) {
  row.flow = true;
  ntk_width(row, s, lambda, 32);
  row.rate = lambda / 2;
  row.steps = up(-std::log(s.options.accuracy) / *row.rate);
}

// ||u(k) - y||^2 <= (1 - x)^k ||u(0) - y||^2, x = eta lambda/2; 1 - sqrt(1 - x) = x/(1 + sqrt(1 - x)).
void gradient_descent(Guarantee& row, const Setting& s, double lambda) {
  ntk_width(row, s, lambda, 128);
  const double n = s.input.n, x = (lambda / n) * (lambda / n) / 8;
  row.step = down(lambda / n / n / 4);
  converge(row, x / (1 + std::sqrt(1 - x)), s.options.accuracy);
}

// ---- balanced scaling [OS] ----

// eta = scale n/(||y||^2 ||X||^2).
void balanced_step(Guarantee& row, const Setting& s, double scale) {
  const double root = std::sqrt(s.input.n) / s.input.norm_y / s.input.norm_X;
  if (s.input.has_labels)
    row.step = down(scale * root * root);
  else
    row.reason = "step needs labels: it is proportional to 1/||y||^2";
}

// The smallest width from which on the smooth theorems' proof works, at nu (1 for gradient descent):
// alpha^2/(4 L) >= nu ||r_0||, and ||v||^2/||v||_inf^2 >= 20 log(n) B^2 ||X||^2/lambda.
// For odd m one entry of v is 0, so ||v||^2 and alpha^2 lose the factor (m - 1)/m: the first condition,
// sqrt(m) >= a for even m, becomes sqrt(m) - 1/sqrt(m) >= a, that is m >= ((a + sqrt(a^2 + 4))/2)^2, between
// a^2 + 1 and a^2 + 2; the second is for m - 1. The rate keeps its constant for odd m (slack 0.73/16 against
// 1/32, and m >= 14).
double smooth_width(const Setting& s, double lambda, double nu) {
  const double n = s.input.n, B = s.activation.B, M = s.activation.M, norm_X = s.input.norm_X;
  const double D0 = norm_X * std::sqrt(-2 * std::log(s.options.failure_probability) / n);
  const double a = 32 * nu * M * (1 + (1 + D0) * B) * std::sqrt(n) * norm_X / lambda;
  const double root = (a + std::hypot(a, 2)) / 2;
  return whole(std::max(root * root, 1 + 20 * std::log(n) * B * norm_X * B * norm_X / lambda));
}

void smooth_descent(Guarantee& row, const Setting& s, double lambda) {
  const double B = s.activation.B, norm_X = s.input.norm_X;
  row.width = smooth_width(s, lambda, 1);
  balanced_step(row, s, 1 / (2 * B * B));
  converge(row, lambda / B / norm_X / B / norm_X / 32, s.options.accuracy);
  row.failure_probability = up(1 / s.input.n + s.options.failure_probability);
}

// m >= 1152 200^3 (1 + D0)^2 n ||X||^6/lambda^4, D0 = ||X|| sqrt(log(1/p)/n). Odd m need nothing more:
// Lemma 6.9 proves 1/10 where 1/(6 sqrt 2) is used, so a suitable integer m_0^2 exists for them too (and for
// any m: m_0^2 must be whole).
void relu_descent(Guarantee& row, const Setting& s, double lambda) {
  const double n = s.input.n, norm_X = s.input.norm_X;
  const double D0 = norm_X * std::sqrt(-std::log(s.options.failure_probability) / n);
  const double root = std::sqrt(9.216e9 * n) * (1 + D0) * norm_X * (norm_X / lambda) * (norm_X / lambda);
  row.width = whole(root * root);
  balanced_step(row, s, 1.0 / 3);
  converge(row, lambda / norm_X / norm_X / 24, s.options.accuracy);
  row.failure_probability = up(2 / n + s.options.failure_probability);
}

// The event over the draws fails with probability (4/nu) b^{1/(md)}, b = 3 B ||X||/sqrt(lambda). nu = 4
// b^{1/(md)}/p makes that p, but the width grows with nu, and nu falls with the width m: f(m) = width(nu(m))
// falls, so the solution of m = f(m) lies between f(inf) and f(f(inf)). The latter suffices, and is less than
// one unit too large, for m >= 20 log(n) b^2/9 makes f flat.
void stochastic_descent(Guarantee& row, const Setting& s, double lambda) {
  const double n = s.input.n, B = s.activation.B, norm_X = s.input.norm_X, p = s.options.failure_probability;
  const double log_b = std::log(3 * B * norm_X) - std::log(lambda) / 2;
  const auto nu_at = [&](double m) { return std::max(3.0, up(4 * std::exp(log_b / m / s.input.d) / p)); };
  const double least = smooth_width(s, lambda, nu_at(std::numeric_limits<double>::infinity()));
  const double width = smooth_width(s, lambda, nu_at(least)), nu = nu_at(width);
  row.width = width;
  balanced_step(row, s, lambda / B / B / B / B / (9 * nu));
  const double ratio = lambda / B / norm_X / B;
  // The rate of the mean square; (m - 1)/m is for odd m, whose ||v||^2 is smaller.
  const double x = ratio * ratio / (144 * n * nu) * (1 - 1 / width);
  converge(row, x / (1 + std::sqrt(1 - x)), s.options.accuracy);
  row.failure_probability = up(1 / n + 2 * p);
}

// ---- the rows ----

enum class Needs { relu, smooth };
enum class Scaling { ntk, balanced };
enum class Bound { lambda, product, separation };

struct Theorem {
  const char* name;
  Needs needs;
  Scaling scaling;
  Bound bound;
  void (*state)(Guarantee&, const Setting&, double lambda);
};

constexpr Theorem theorems[] = {
    {"Du et al. 2018, Thm 3.1", Needs::relu, Scaling::ntk, Bound::lambda, gradient_flow},
    {"Du et al. 2018, Thm 4.1", Needs::relu, Scaling::ntk, Bound::lambda, gradient_descent},
    {"Oymak & Soltanolkotabi 2019, Thm 6.2", Needs::smooth, Scaling::balanced, Bound::lambda, smooth_descent},
    {"Oymak & Soltanolkotabi 2019, Thm 2.1", Needs::smooth, Scaling::balanced, Bound::product,
     smooth_descent},
    {"Oymak & Soltanolkotabi 2019, Thm 6.3", Needs::relu, Scaling::balanced, Bound::lambda, relu_descent},
    {"Oymak & Soltanolkotabi 2019, Thm 2.3", Needs::relu, Scaling::balanced, Bound::product, relu_descent},
    {"Oymak & Soltanolkotabi 2019, Thm 2.5", Needs::relu, Scaling::balanced, Bound::separation, relu_descent},
    {"Oymak & Soltanolkotabi 2019, Thm 2.6", Needs::smooth, Scaling::balanced, Bound::product,
     stochastic_descent}};

// Why the theorem says nothing about phi; empty if it does.
std::string obstacle(Needs needs, const Activation& phi) {
  const bool relu = phi.name == "relu" && !phi.smooth();
  if (needs == Needs::relu) return relu ? "" : fmt::format("needs relu; phi is {}", phi.name);
  if (!(phi.B < std::numeric_limits<double>::infinity()))
    return fmt::format("needs a bounded phi'; sup |phi'| of {} is infinite", phi.name);
  return phi.smooth() ? "" : fmt::format("needs a smooth phi; sup |phi''| of {} is infinite", phi.name);
}

std::vector<LambdaSource> bounds(Bound bound, const Setting& s) {
  if (bound == Bound::lambda) return s.input.lambdas;
  if (bound == Bound::separation) {  // any smaller delta is one too, and the proof needs delta <= sqrt(2): n
                                     // = 1 has none
    const double delta = std::min(s.input.separation, std::numbers::sqrt2);
    return {{"delta/(100 n^2)", down(delta / s.input.n / s.input.n / 100), s.input.separation_verified}};
  }
  if (!s.input.lambda_product) return {};
  const LambdaSource& product = *s.input.lambda_product;
  const double mu = s.input.mu_phi;
  return {{"mu_1^2 lambda_min(G o G)", down(mu * mu * product.value),
           product.verified && s.activation.tabulated}};
}

void also(std::string& reason, const std::string& more) {
  reason = reason.empty() ? more : more + "; " + reason;
}

Guarantee apply(const Theorem& theorem, const Setting& s, const LambdaSource& lambda) {
  Guarantee row{.theorem = theorem.name, .lambda_from = lambda.name, .verified = lambda.verified};
  if (!(lambda.value > 0)) {
    row.reason =
        fmt::format("lambda_min is not known to be positive: {} = {:.3g}", lambda.name, lambda.value);
    return row;
  }
  if (theorem.scaling == Scaling::balanced && s.input.has_labels && s.input.norm_y == 0) {
    row.reason = "balanced scaling needs y != 0: all labels are 0";
    return row;
  }
  theorem.state(row, s, lambda.value);
  if (s.input.networks > 1) row.failure_probability = up(s.input.networks * *row.failure_probability);
  row.holds = true;
  if (const double width = s.options.width; width > 0 && !(row.width && width >= *row.width)) {
    row.holds = false;
    if (row.width)
      also(row.reason, fmt::format("width {} is a factor {:.2g} below {}", width, *row.width / width,
                                   decimal(*row.width, 2, Rounding::up)));
  }
  if (const double failure = *row.failure_probability; !(failure < 1)) {
    row.holds = false;
    also(row.reason, fmt::format("fails with probability up to {}, {:.2g} above 1: n = {} is too small",
                                 decimal(failure, 3, Rounding::up), failure - 1, s.input.n));
  }
  return row;
}

// [OS, Thm 3.2]. Its B bounds |phi(0)| too; the proof gives 6 B^2/n^100 where 6 B/n^100 is printed.
Guarantee output_layer(const Setting& s) {
  Guarantee row{.theorem = "Oymak & Soltanolkotabi 2019, Thm 3.2"};
  const double B = std::max(s.activation.B, std::abs(s.activation.phi(0)));
  if (!(B < std::numeric_limits<double>::infinity())) {
    row.reason = fmt::format("needs a bounded phi'; sup |phi'| of {} is infinite", s.activation.name);
  } else if (!s.input.lambda_features) {
    row.reason = "lambda~ = lambda_min(Sigma~) is not given";
  } else {
    const LambdaSource& features = *s.input.lambda_features;
    const double least = 6 * B * B * std::pow(s.input.n, -100);
    row.lambda_from = features.name;
    row.verified = features.verified;
    row.reason =
        features.value > least
            ? fmt::format(
                  "no explicit constant: m >= C B^2 log(n)^2 n/lambda~, C not stated; lambda~ >= {}{}",
                  decimal(features.value, 3, Rounding::down), features.verified ? "" : " (computed)")
            : fmt::format("lambda~ is not known to exceed 6 B^2/n^100 = {:.3g}: {} = {:.3g}", least,
                          features.name, features.value);
  }
  return row;
}

void check(const GuaranteeInput& input, const GuaranteeOptions& options) {
  const auto require = [](bool met, const char* what, double got) {
    if (!met) throw std::invalid_argument(fmt::format("guarantees: {}; got {}", what, got));
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double p = options.failure_probability, accuracy = options.accuracy, width = options.width;
  require(p > 0 && p < 1, "failure_probability must be in (0, 1)", p);
  require(accuracy > 0 && accuracy < 1, "accuracy must be in (0, 1)", accuracy);
  require(width >= 0 && width < infinity, "width must be >= 0 and finite", width);
  require(input.n >= 1 && input.n < infinity, "n must be >= 1", input.n);
  require(input.d >= 1 && input.d < infinity, "d must be >= 1", input.d);
  require(input.networks >= 1 && input.networks < infinity, "networks must be >= 1", input.networks);
  require(input.norm_X > 0 && input.norm_X < infinity, "norm_X must be positive", input.norm_X);
  require(input.norm_y >= 0 && input.norm_y < infinity, "norm_y must be >= 0", input.norm_y);
  require(input.separation >= 0, "separation must be >= 0", input.separation);
  require(!input.lambdas.empty(), "lambdas must hold at least one bound", 0);
}

}  // namespace

std::vector<Guarantee> guarantees(const Activation& activation, const GuaranteeInput& input,
                                  const GuaranteeOptions& options) {
  check(input, options);
  GuaranteeOptions each = options;  // of the networks may fail with its share of p
  each.failure_probability /= input.networks;
  const Setting setting{activation, input, each};
  std::vector<Guarantee> rows;
  for (const Theorem& theorem : theorems) {
    const std::vector<LambdaSource> sources = bounds(theorem.bound, setting);
    if (std::string reason = obstacle(theorem.needs, activation); !reason.empty())
      rows.push_back({.theorem = theorem.name, .reason = reason});
    else if (sources.empty())
      rows.push_back({.theorem = theorem.name, .reason = "lambda_min(G o G) is not given"});
    else
      for (const LambdaSource& lambda : sources) rows.push_back(apply(theorem, setting, lambda));
  }
  rows.push_back(output_layer(setting));
  return rows;
}

}  // namespace zeroloss
