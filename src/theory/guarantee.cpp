#include "zeroloss/theory/guarantee.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "core/rounding.hpp"
#include "theory/theorems.hpp"
#include "zeroloss/core/text.hpp"
#include "zeroloss/kernel/dual.hpp"

namespace zeroloss {
using namespace internal;
namespace {

// Every quantity below is a product of at most some 40 correctly rounded operations and a few library
// functions, so 64 ulp cover its rounding. Widths are computed as the square of sqrt(m): no power of lambda
// underflows on the way, and a width that overflows is one beyond 1.8e308.
constexpr double rounding = 128 * u;
double up(double x) { return x * (1 + rounding); }
double down(double x) { return x * (1 - rounding); }
double whole(double x) { return std::ceil(up(x)); }
constexpr double kTowardsZero = 1 - 1e-14;  // covers a tabulated coefficient's error and its square's

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

double shrunk(const Course& c) { return std::exp(c.k * std::log1p(-c.rate)) * c.start; }

// Where nothing is said of the weights.
CourseBounds along(const Course& c) { return {.residual = shrunk(c)}; }

// ---- ntk scaling, relu [DZPS] ----

// Three events of probability p' = p/3 each may fail: concentration of H(0) (Hoeffding), the number of flips
// within R (Markov) and ||y - u(0)||^2 <= (||y||^2 + n/2)/p' (Markov). R' < R is
//     sqrt(m) > excess n^2.5 ||y - u(0)||/(sqrt(2 pi) p' lambda^2),
// with excess 32 for the flow and 128 for descent. The first event's
//     m >= 8 n^2 log(n (n + 1)/p')/lambda^2, which is at most 16 n^4/(p' lambda^2),
// follows: R' < R alone asks for more than 81 n^6/(p'^3 lambda^4), and lambda <= 1/2.
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

// R' = factor sqrt(n) ||r_0||/(sqrt(m) lambda).
double ntk_distance(const Course& c, double factor) {
  return factor * std::sqrt(c.n / c.width) * c.start / c.lambda;
}

void gradient_flow(Guarantee& row, const Setting& s, double lambda) {
  row.flow = true;
  ntk_width(row, s, lambda, 32);
  row.rate = lambda / 2;
  row.steps = up(-std::log(s.options.accuracy) / *row.rate);
}

CourseBounds along_flow(const Course& c) {
  return {.residual = std::exp(c.k * -c.rate) * c.start, .max_distance = ntk_distance(c, 2)};
}

// ||u(k) - y||^2 <= (1 - x)^k ||u(0) - y||^2, x = eta lambda/2; 1 - sqrt(1 - x) = x/(1 + sqrt(1 - x)).
void gradient_descent(Guarantee& row, const Setting& s, double lambda) {
  ntk_width(row, s, lambda, 128);
  const double n = s.input.n, x = (lambda / n) * (lambda / n) / 8;
  row.step = down(lambda / n / n / 4);
  converge(row, x / (1 + std::sqrt(1 - x)), s.options.accuracy);
}

CourseBounds along_ntk(const Course& c) {
  return {.residual = shrunk(c), .max_distance = ntk_distance(c, 4)};
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

CourseBounds along_smooth(const Course& c) {
  const double active = std::fmod(c.width, 2) == 0 ? 1 : 1 - 1 / c.width;  // of ||v||^2
  const double path = std::sqrt(32 * c.n / c.lambda / active) * c.start / c.norm_y;
  return {
      .residual = shrunk(c), .distance = path * std::max(0.0, 1 - c.residual / c.start), .path_length = path};
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

// [OS, Thm 3.2]. Its B bounds |phi(0)| too; the proof gives 6 B^2/n^100 where 6 B/n^100 is printed.
void output_layer(Guarantee& row, const Setting& s, double) {
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
}

// ---- the rows ----

enum class Needs { relu, smooth, nothing };
enum class Scaling { ntk, balanced, any };
enum class Bound { lambda, product, separation, none };  // which lambda; none: the row finds its own

// A guarantee is a row here and what it names: what it says is LaTeX, a formula a line, lambda being that of
// `bound`. `along` is empty where nothing is said of a single run.
struct Row {
  const char *id, *source, *number;
  Needs needs;
  Scaling scaling;
  Bound bound;
  const char* statement;
  void (*state)(Guarantee&, const Setting&, double lambda);
  CourseBounds (*along)(const Course&);
};

constexpr const char* kProduct = "lambda_min(G o G)";
constexpr const char *kDu = "Du et al. 2018", *kOymak = "Oymak & Soltanolkotabi 2019";

constexpr auto kFlow = R"(m > \frac{512 n^5 (\lVert y \rVert^2 + n/2)}{\pi p'^3 \lambda^4}, \quad p' = p/3
\lVert r(t) \rVert \le e^{-\lambda t/2} \lVert r(0) \rVert)";
constexpr auto kDescent = R"(m > \frac{8192 n^5 (\lVert y \rVert^2 + n/2)}{\pi p'^3 \lambda^4}, \quad p' = p/3
\eta = \frac{\lambda}{4 n^2}
\lVert r_k \rVert \le (1 - \eta \lambda/2)^{k/2} \lVert r_0 \rVert)";
constexpr auto kSmooth = R"(m \ge \max(((a + \sqrt{a^2 + 4})/2)^2, c + 1)
a = 32 M (1 + (1 + D_0) B) \sqrt{n} \lVert X \rVert/\lambda, \quad c = 20 \log(n) B^2 \lVert X \rVert^2/\lambda
D_0 = \lVert X \rVert \sqrt{2 \log(1/p)/n}
\eta = \frac{n}{2 B^2 \lVert y \rVert^2 \lVert X \rVert^2}
\lVert r_k \rVert \le (1 - \frac{\lambda}{32 B^2 \lVert X \rVert^2})^k \lVert r_0 \rVert)";
constexpr auto kRelu = R"(m \ge 1152 \cdot 200^3 (1 + D_0)^2 n \lVert X \rVert^6/\lambda^4
D_0 = \lVert X \rVert \sqrt{\log(1/p)/n}
\eta = \frac{n}{3 \lVert y \rVert^2 \lVert X \rVert^2}
\lVert r_k \rVert \le (1 - \frac{\lambda}{24 \lVert X \rVert^2})^k \lVert r_0 \rVert)";
constexpr auto kStochastic = R"(m \ge \max(((a + \sqrt{a^2 + 4})/2)^2, c + 1)
a = 32 \nu M (1 + (1 + D_0) B) \sqrt{n} \lVert X \rVert/\lambda, \quad c = 20 \log(n) B^2 \lVert X \rVert^2/\lambda
\nu = 4 b^{1/(m d)}/p, \quad b = 3 B \lVert X \rVert/\sqrt{\lambda}, \quad D_0 = \lVert X \rVert \sqrt{2 \log(1/p)/n}
\eta = \frac{\lambda n}{9 \nu B^4 \lVert y \rVert^2 \lVert X \rVert^2}
E[\lVert r_k \rVert^2 1_E] \le (1 - \frac{\lambda^2 (m - 1)}{144 m n \nu B^4 \lVert X \rVert^2})^k \lVert r_0 \rVert^2)";
constexpr auto kFeatures = R"(m \ge C B^2 \log(n)^2 n/\tilde{\lambda}
\lambda_{\min}(\Phi \Phi^T) \ge \frac{m}{2} (\tilde{\lambda} - 6 B^2/n^{100}))";

constexpr Row rows[] = {
    {"dzps_3_1", kDu, "3.1", Needs::relu, Scaling::ntk, Bound::lambda, kFlow, gradient_flow, along_flow},
    {"dzps_4_1", kDu, "4.1", Needs::relu, Scaling::ntk, Bound::lambda, kDescent, gradient_descent, along_ntk},
    {"os_6_2", kOymak, "6.2", Needs::smooth, Scaling::balanced, Bound::lambda, kSmooth, smooth_descent,
     along_smooth},
    {"os_2_1", kOymak, "2.1", Needs::smooth, Scaling::balanced, Bound::product, kSmooth, smooth_descent,
     along_smooth},
    {"os_6_3", kOymak, "6.3", Needs::relu, Scaling::balanced, Bound::lambda, kRelu, relu_descent, along},
    {"os_2_3", kOymak, "2.3", Needs::relu, Scaling::balanced, Bound::product, kRelu, relu_descent, along},
    {"os_2_5", kOymak, "2.5", Needs::relu, Scaling::balanced, Bound::separation, kRelu, relu_descent, along},
    {"os_2_6", kOymak, "2.6", Needs::smooth, Scaling::balanced, Bound::product, kStochastic,
     stochastic_descent, nullptr},
    {"os_3_2", kOymak, "3.2", Needs::nothing, Scaling::any, Bound::none, kFeatures, output_layer, nullptr}};

const Row& row_of(std::string_view id) {
  const auto* found =
      std::find_if(std::begin(rows), std::end(rows), [&](const Row& row) { return row.id == id; });
  if (found == std::end(rows)) throw std::out_of_range(fmt::format("no theorem {}", id));
  return *found;
}

Theorem named(const Row& row) {
  const char* lambda = row.bound == Bound::product      ? "\n\\lambda = \\mu_1^2 \\lambda_{\\min}(G \\circ G)"
                       : row.bound == Bound::separation ? "\n\\lambda = \\frac{\\delta}{100 n^2}"
                                                        : "";
  return {row.id, row.source, row.number, std::string(row.statement) + lambda};
}

// Why the theorem says nothing about phi; empty if it does.
std::string obstacle(Needs needs, const Activation& phi) {
  if (needs == Needs::nothing) return "";
  if (needs == Needs::relu) return phi.rectifier() ? "" : fmt::format("needs relu; phi is {}", phi.name);
  if (!(phi.B < std::numeric_limits<double>::infinity()))
    return fmt::format("needs a bounded phi'; sup |phi'| of {} is infinite", phi.name);
  return phi.smooth() ? "" : fmt::format("needs a smooth phi; sup |phi''| of {} is infinite", phi.name);
}

std::vector<LambdaSource> lambdas(Bound bound, const Setting& s) {
  if (bound == Bound::none) return {};
  if (bound == Bound::lambda) return s.input.lambdas;
  if (bound == Bound::separation) {
    // Any smaller delta is one too, and the proof needs delta <= sqrt(2): n = 1 has none.
    const double delta = std::min(s.input.separation, std::numbers::sqrt2);
    return {{"delta/(100 n^2)", down(delta / s.input.n / s.input.n / 100), s.input.separation_verified}};
  }
  if (!s.input.lambda_product) return {};
  const LambdaSource& product = *s.input.lambda_product;
  const double mu = s.input.mu_phi;
  return {{fmt::format("mu_1^2 {}", kProduct), down(mu * mu * product.value),
           product.verified && s.activation.tabulated}};
}

void also(std::string& reason, const std::string& more) {
  reason = reason.empty() ? more : more + "; " + reason;
}

Guarantee apply(const Row& theorem, const Setting& s, const LambdaSource& lambda) {
  Guarantee row{.id = theorem.id,
                .theorem = named(theorem).title(),
                .lambda_from = lambda.name,
                .verified = lambda.verified};
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
  double failure = row.failure_probability.value_or(1);  // of a theorem that does not say, any
  if (s.input.networks > 1) failure = up(s.input.networks * failure);
  row.failure_probability = failure;
  row.holds = true;
  if (const double width = s.options.width; width > 0 && !(row.width && width >= *row.width)) {
    row.holds = false;
    if (row.width)
      also(row.reason, fmt::format("width {} is a factor {:.2g} below {}", width, *row.width / width,
                                   decimal(*row.width, 2, Rounding::up)));
  }
  if (!(failure < 1)) {
    row.holds = false;
    also(row.reason, fmt::format("fails with probability up to {}, {:.2g} above 1: n = {} is too small",
                                 decimal(failure, 3, Rounding::up), failure - 1, s.input.n));
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
  std::vector<Guarantee> found;
  for (const Row& theorem : rows) {
    Guarantee row{.id = theorem.id, .theorem = named(theorem).title()};
    const std::vector<LambdaSource> sources = lambdas(theorem.bound, setting);
    row.reason = obstacle(theorem.needs, activation);
    if (row.reason.empty() && theorem.bound == Bound::none)
      theorem.state(row, setting, 0);
    else if (row.reason.empty() && sources.empty())
      row.reason = fmt::format("{} is not given", kProduct);
    else if (row.reason.empty())
      for (const LambdaSource& lambda : sources) found.push_back(apply(theorem, setting, lambda));
    if (!row.reason.empty()) found.push_back(std::move(row));
  }
  return found;
}

std::vector<Theorem> theorems() {
  std::vector<Theorem> all;
  for (const Row& row : rows) all.push_back(named(row));
  return all;
}

Theorem theorem(std::string_view id) { return named(row_of(id)); }

bool internal::covers(std::string_view id, const Activation& activation, std::string_view scaling) {
  const Row& row = row_of(id);
  const bool scaled = row.scaling == Scaling::any || (row.scaling == Scaling::ntk) == (scaling == "ntk");
  return scaled && obstacle(row.needs, activation).empty();
}

bool internal::needs_product(std::string_view id) {
  const Bound bound = row_of(id).bound;
  return bound == Bound::product || bound == Bound::none;  // of which Sigma~ has a bound
}

LambdaSource internal::scaled(const LambdaSource& source, double mu, std::string name, bool tabulated) {
  return {std::move(name), source.value * mu * mu * kTowardsZero, source.verified && tabulated};
}

GuaranteeInput internal::guarantee_input(const Activation& phi, double n, double d, double norm_X,
                                         const PointBounds& bounds) {
  GuaranteeInput input;
  input.n = n;
  input.d = d;
  input.norm_X = norm_X;
  input.lambdas = {bounds.lambda};
  input.mu_phi = std::abs(hermite(phi, true).mu[1]) * kTowardsZero;
  input.separation = bounds.separation;
  input.separation_verified = true;
  input.lambda_product = bounds.product;
  input.lambda_features = bounds.features;
  if (!bounds.product) return input;
  input.lambda_product->name = kProduct;
  if (const auto mu = hermite(phi, false).mu; !bounds.features && mu.size() > 2)
    input.lambda_features =
        scaled(*bounds.product, mu[2], fmt::format("mu_2(phi)^2 {}", kProduct), phi.tabulated);
  return input;
}

std::optional<LambdaSource> internal::lambda_of(std::string_view id, const Activation& phi,
                                                const GuaranteeInput& input) {
  const auto all = lambdas(row_of(id).bound, {phi, input, {}});
  return all.empty() ? std::nullopt : std::optional(all.front());
}

CourseBounds internal::bounds_along(std::string_view id, const Course& course) {
  const auto along = row_of(id).along;
  return along != nullptr ? along(course) : CourseBounds{};
}

}  // namespace zeroloss
