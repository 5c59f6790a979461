#include "zeroloss/theory/guarantee.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "linalg/rounding.hpp"
#include "theory/theorems.hpp"
#include "zeroloss/base/text.hpp"
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

// P(a smallest eigenvalue is below half of its mean's) <= p where the mean is at least 6.52 log(n/p) times
// what a single unit adds at most: 2/(1 - log 2) = 6.517.. (theory 4, Lemma 1).
constexpr double kChernoff = 6.52;

struct Setting {
  const Activation& activation;
  const GuaranteeInput& input;
  const GuaranteeOptions& options;

  double p() const { return options.failure_probability; }
  /// log(k/p), where p may be as small as a double can be.
  double log_over(double k) const { return std::log(k) - std::log(p()); }
};

// Units that Lemma 1 asks for at probability p/events, of gradients: each adds B^2 ||X||^2 at most.
double chernoff_width(const Setting& s, double lambda, double events) {
  const double gradient = s.activation.B * s.input.norm_X;
  return kChernoff * s.log_over(events * s.input.n) * gradient * gradient / lambda;
}

// ||r_k|| <= (1 - rate)^k ||r_0||. Down twice: the rate is that of the step, which was itself rounded down.
void converge(Guarantee& row, double rate, double accuracy) {
  row.rate = down(down(rate));
  row.steps = whole(std::log(accuracy) / std::log1p(-*row.rate));
}

double shrunk(const Course& c) { return std::exp(c.k * std::log1p(-c.rate)) * c.start; }

// ---- relu: few signs change (theory 4, Lemma 2) ----

// m >= constant ||X||^6 misfit^2/lambda^4, misfit >= ||r_0||/||v||.
double few_flips_width(const Setting& s, double lambda, double constant, double misfit) {
  const double norm_X = s.input.norm_X;
  const double root = std::sqrt(constant) * misfit * norm_X * (norm_X / lambda) * (norm_X / lambda);
  return root * root;
}
constexpr double kFlowWidth = 488, kDescentWidth = 2510;

// At the step 1/(3 ||v||^2 ||X||^2).
void few_flips_rate(Guarantee& row, const Setting& s, double lambda) {
  converge(row, lambda / s.input.norm_X / s.input.norm_X / 14, s.options.accuracy);
}

// ---- ntk scaling, relu [DZPS] ----

// Three events of probability p' = p/3 each may fail: Lemma 2's two, and ||r_0|| <= rho.
void ntk_width(Guarantee& row, const Setting& s, double lambda, double constant) {
  if (!s.input.has_labels) {
    row.reason = "width needs labels: it grows with ||y||^2";
    return;
  }
  const double n = s.input.n;
  const double mean = s.input.norm_y + std::sqrt(n * s.log_over(12) / std::numbers::pi);
  const double rho = std::hypot(mean, std::sqrt(0.341 * n)) + s.input.norm_X * std::sqrt(2 * s.log_over(6));
  row.width = whole(few_flips_width(s, lambda, constant, rho));
}

// R' = factor ||X|| ||r_0||/(sqrt(m) lambda).
double ntk_distance(const Course& c, double factor) {
  return factor * c.norm_X / std::sqrt(c.width) * c.start / c.lambda;
}

void gradient_flow(Guarantee& row, const Setting& s, double lambda) {
  row.flow = true;
  ntk_width(row, s, lambda, kFlowWidth);
  row.rate = lambda / 2;
  row.steps = up(-std::log(s.options.accuracy) / *row.rate);
}

CourseBounds along_flow(const Course& c) {
  return {.residual = std::exp(c.k * -c.rate) * c.start, .max_distance = ntk_distance(c, 2)};
}

void gradient_descent(Guarantee& row, const Setting& s, double lambda) {
  ntk_width(row, s, lambda, kDescentWidth);
  row.step = down(1 / s.input.norm_X / s.input.norm_X / 3);
  few_flips_rate(row, s, lambda);
}

CourseBounds along_ntk(const Course& c) {
  return {.residual = shrunk(c), .max_distance = ntk_distance(c, 4.5)};
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

// D_0: ||r_0|| exceeds its mean by D_0 B ||y|| with probability p/events.
double deviation(const Setting& s, double events) {
  return s.input.norm_X * std::sqrt(2 * s.log_over(events) / s.input.n);
}

// The smallest width from which on the smooth theorems' proof works: sqrt(m) >= a, which is
// factor M (sqrt(1 + B^2) + D_0 B) sqrt(n) ||X||/lambda, and Lemma 1; each fails with probability p/events.
// For odd m one entry of v is 0, so ||v||^2 and alpha^2 lose the factor (m - 1)/m: the first condition,
// sqrt(m) >= a for even m, becomes sqrt(m) - 1/sqrt(m) >= a, that is m >= ((a + sqrt(a^2 + 4))/2)^2, between
// a^2 + 1 and a^2 + 2; the second is for m - 1.
double smooth_width(const Setting& s, double lambda, double factor, double events) {
  const double n = s.input.n, B = s.activation.B, M = s.activation.M;
  const double start = std::hypot(1, B) + deviation(s, events) * B;
  const double a = factor * M * start * std::sqrt(n) * s.input.norm_X / lambda;
  const double root = (a + std::hypot(a, 2)) / 2;
  return whole(std::max(root * root, 1 + chernoff_width(s, lambda, events)));
}

void smooth_descent(Guarantee& row, const Setting& s, double lambda) {
  const double B = s.activation.B, norm_X = s.input.norm_X;
  row.width = smooth_width(s, lambda, 7.45, 2);
  balanced_step(row, s, 1 / (2 * B * B));
  converge(row, lambda / B / norm_X / B / norm_X / 28, s.options.accuracy);
}

CourseBounds along_smooth(const Course& c) {
  const double active = std::fmod(c.width, 2) == 0 ? 1 : 1 - 1 / c.width;  // of ||v||^2
  const double path = std::sqrt(7 * c.n / c.lambda / active) * c.start / c.norm_y;
  return {
      .residual = shrunk(c), .distance = path * std::max(0.0, 1 - c.residual / c.start), .path_length = path};
}

// Three events of probability p/3: Lemma 2's two, and the start. For odd m: (m - 1)^2/m >= m - 2.
void relu_descent(Guarantee& row, const Setting& s, double lambda) {
  const double misfit = std::sqrt(s.input.n) * (1.16 + deviation(s, 3));
  row.width = whole(2 + few_flips_width(s, lambda, kDescentWidth, misfit));
  balanced_step(row, s, 1.0 / 3);
  few_flips_rate(row, s, lambda);
}

CourseBounds along_relu(const Course& c) {
  return {.residual = shrunk(c), .max_distance = ntk_distance(c, 4.5) * std::sqrt(c.n) / c.norm_y};
}

// The event over the draws fails with probability (4/nu) b^{1/(md)}, b = 3 B ||X||/sqrt(lambda). nu = 4
// b^{1/(md)}/(0.9 p) makes that 0.9 p, but the width grows with nu, and nu falls with the width m: f(m) =
// width(nu(m)) falls, so the solution of m = f(m) lies between f(inf) and f(f(inf)). The latter suffices, and
// is less than one unit too large, for m >= 6.52 log(20) b^2/9 makes f flat. Start and Lemma 1, of whose
// probability the width has the logarithm only, share what is left.
void stochastic_descent(Guarantee& row, const Setting& s, double lambda) {
  const double n = s.input.n, B = s.activation.B, norm_X = s.input.norm_X, p = s.p();
  const double log_b = std::log(3 * B * norm_X) - std::log(lambda) / 2;
  const auto nu_at = [&](double m) {
    return std::max(3.0, up(4 * std::exp(log_b / m / s.input.d) / (0.9 * p)));
  };
  const auto width_at = [&](double nu) { return smooth_width(s, lambda, 32 * nu, 20); };
  const double least = width_at(nu_at(std::numeric_limits<double>::infinity()));
  const double width = width_at(nu_at(least)), nu = nu_at(width);
  row.width = width;
  balanced_step(row, s, lambda / B / B / B / B / (9 * nu));
  const double ratio = lambda / B / norm_X / B;
  // The rate of the mean square; (m - 1)/m is for odd m, whose ||v||^2 is smaller.
  const double x = ratio * ratio / (144 * n * nu) * (1 - 1 / width);
  converge(row, x / (1 + std::sqrt(1 - x)), s.options.accuracy);
}

// ---- without descent ----

// m >= 6.52 log(n/p) T^2/(lambda~ - tail), T = sqrt(n E phi^2) + t, for the best t = x beta, beta = B ||X||:
// tail, which bounds E ||phi(Xw)||^2 beyond T, is (T^2 + 2 beta^2 + 2 beta E_0/x) exp(-x^2/2). Any t will do,
// and x in steps of 1/64 has an exact square.
void output_layer(Guarantee& row, const Setting& s, double lambda) {
  const double start = std::sqrt(s.input.n * s.input.phi_squares), beta = s.activation.B * s.input.norm_X;
  double least = std::numeric_limits<double>::infinity();
  for (int k = 1; k <= 40 * 64; ++k) {
    const double x = k / 64.0, T = start + x * beta;
    const double tail = up((T * T + 2 * beta * beta + 2 * beta * start / x) * std::exp(-x * x / 2));
    if (tail < lambda) least = std::min(least, T * T / down(lambda - tail));
  }
  row.width = whole(kChernoff * s.log_over(s.input.n) * least);
}

// Each unit raises the rank of Phi with probability theta/(4 pi) at least, until it is n.
void relu_rank(Guarantee& row, const Setting& s, double theta) {
  const double n = s.input.n, least = s.log_over(1);
  row.width = whole(4 * std::numbers::pi / theta * (n + std::sqrt(2 * n * least) + least));
}

void start_kernel(Guarantee& row, const Setting& s, double lambda) {
  row.width = whole(chernoff_width(s, lambda, 1));
}

void start_pairs(Guarantee& row, const Setting& s, double lambda) {
  row.width = 2 * whole(chernoff_width(s, lambda, 1));
}

// ---- the rows ----

enum class Needs { relu, smooth, bounded };
enum class Scaling { ntk, balanced, any };
enum class Bound { lambda, product, separation, features, angle };  // what is called lambda in a row

// A guarantee is a row here and what it names: what it says is LaTeX, a formula a line, lambda being that of
// `bound`; `printed` is the width as the paper has it. `along` is empty where nothing is said of a single
// run.
struct Row {
  const char *id, *source, *number, *gives;
  Needs needs;
  Scaling scaling;
  Bound bound;
  const char *statement, *printed;
  void (*state)(Guarantee&, const Setting&, double lambda);
  CourseBounds (*along)(const Course&);
};

constexpr const char* kProduct = "lambda_min(G o G)";
constexpr const char *kDu = "Du et al. 2018", *kOymak = "Oymak & Soltanolkotabi 2019", *kOurs = "zeroloss";

constexpr auto kFlow = R"(m \ge 488 \lVert X \rVert^6 \rho^2/\lambda^4
\rho = \sqrt{(\lVert y \rVert + \sqrt{n \log(12/p)/\pi})^2 + 0.341 n} + \lVert X \rVert \sqrt{2 \log(6/p)}
\lVert r(t) \rVert \le e^{-\lambda t/2} \lVert r(0) \rVert)";
constexpr auto kDescent = R"(m \ge 2510 \lVert X \rVert^6 \rho^2/\lambda^4
\rho = \sqrt{(\lVert y \rVert + \sqrt{n \log(12/p)/\pi})^2 + 0.341 n} + \lVert X \rVert \sqrt{2 \log(6/p)}
\eta = \frac{1}{3 \lVert X \rVert^2}
\lVert r_k \rVert \le (1 - \frac{\lambda}{14 \lVert X \rVert^2})^k \lVert r_0 \rVert)";
constexpr auto kSmooth = R"(m \ge \max(((a + \sqrt{a^2 + 4})/2)^2, c + 1)
a = 7.45 M (\sqrt{1 + B^2} + D_0 B) \sqrt{n} \lVert X \rVert/\lambda
c = 6.52 \log(2 n/p) B^2 \lVert X \rVert^2/\lambda, \quad D_0 = \lVert X \rVert \sqrt{2 \log(2/p)/n}
\eta = \frac{n}{2 B^2 \lVert y \rVert^2 \lVert X \rVert^2}
\lVert r_k \rVert \le (1 - \frac{\lambda}{28 B^2 \lVert X \rVert^2})^k \lVert r_0 \rVert)";
constexpr auto kRelu = R"(m \ge 2510 (1.16 + D_0)^2 n \lVert X \rVert^6/\lambda^4 + 2
D_0 = \lVert X \rVert \sqrt{2 \log(3/p)/n}
\eta = \frac{n}{3 \lVert y \rVert^2 \lVert X \rVert^2}
\lVert r_k \rVert \le (1 - \frac{\lambda}{14 \lVert X \rVert^2})^k \lVert r_0 \rVert)";
constexpr auto kStochastic = R"(m \ge \max(((a + \sqrt{a^2 + 4})/2)^2, c + 1)
a = 32 \nu M (\sqrt{1 + B^2} + D_0 B) \sqrt{n} \lVert X \rVert/\lambda
c = 6.52 \log(20 n/p) B^2 \lVert X \rVert^2/\lambda, \quad D_0 = \lVert X \rVert \sqrt{2 \log(20/p)/n}
\nu = 4 b^{1/(m d)}/(0.9 p), \quad b = 3 B \lVert X \rVert/\sqrt{\lambda}
\eta = \frac{\lambda n}{9 \nu B^4 \lVert y \rVert^2 \lVert X \rVert^2}
E[\lVert r_k \rVert^2 1_E] \le (1 - \frac{\lambda^2 (m - 1)}{144 m n \nu B^4 \lVert X \rVert^2})^k \lVert r_0 \rVert^2)";
constexpr auto kFeatures = R"(m \ge 6.52 \log(n/p) T^2/(\tilde{\lambda} - \tau), \quad T = E_0 + t
\tau = (T^2 + 2 \beta^2 + 2 \beta^2 E_0/t) e^{-t^2/(2 \beta^2)}
\beta = B \lVert X \rVert, \quad E_0^2 = n E[\phi(g)^2], \quad t > 0
\lambda_{\min}(\Phi \Phi^T) \ge \frac{m}{2} (\tilde{\lambda} - \tau))";
constexpr auto kRank = R"(m \ge \frac{4 \pi}{\theta} (n + \sqrt{2 n \log(1/p)} + \log(1/p))
\lambda_{\min}(\Phi \Phi^T) > 0)";
constexpr auto kStart = R"(m \ge 6.52 \log(n/p) B^2 \lVert X \rVert^2/\lambda
\lambda_{\min}(J J^T) \ge \lVert v \rVert^2 \lambda/2)";
constexpr auto kPairs = R"(m/2 \ge 6.52 \log(n/p) B^2 \lVert X \rVert^2/\lambda
f = 0, \quad \lambda_{\min}(J J^T) \ge \lVert v \rVert^2 \lambda/2)";

constexpr auto kDuPrinted = R"(m = \Omega(\frac{n^6}{\lambda^4}))";
constexpr auto kSmoothPrinted = R"(\sqrt{m} \ge c B^2 (1 + D_0) \sqrt{n} \lVert X \rVert/\lambda)";
constexpr auto kReluPrinted = R"(m \ge C (1 + D_0)^2 n \lVert X \rVert^6/\lambda^4)";
constexpr auto kFeaturesPrinted = R"(m \ge C \log(n)^2 n/\tilde{\lambda})";

constexpr Row rows[] = {{"dzps_3_1", kDu, "3.1", "descent", Needs::relu, Scaling::ntk, Bound::lambda, kFlow,
                         kDuPrinted, gradient_flow, along_flow},
                        {"dzps_4_1", kDu, "4.1", "descent", Needs::relu, Scaling::ntk, Bound::lambda,
                         kDescent, kDuPrinted, gradient_descent, along_ntk},
                        {"os_6_2", kOymak, "6.2", "descent", Needs::smooth, Scaling::balanced, Bound::lambda,
                         kSmooth, kSmoothPrinted, smooth_descent, along_smooth},
                        {"os_2_1", kOymak, "2.1", "descent", Needs::smooth, Scaling::balanced, Bound::product,
                         kSmooth, kSmoothPrinted, smooth_descent, along_smooth},
                        {"os_6_3", kOymak, "6.3", "descent", Needs::relu, Scaling::balanced, Bound::lambda,
                         kRelu, kReluPrinted, relu_descent, along_relu},
                        {"os_2_3", kOymak, "2.3", "descent", Needs::relu, Scaling::balanced, Bound::product,
                         kRelu, kReluPrinted, relu_descent, along_relu},
                        {"os_2_5", kOymak, "2.5", "descent", Needs::relu, Scaling::balanced,
                         Bound::separation, kRelu, kReluPrinted, relu_descent, along_relu},
                        {"os_2_6", kOymak, "2.6", "descent", Needs::smooth, Scaling::balanced, Bound::lambda,
                         kStochastic, kSmoothPrinted, stochastic_descent, nullptr},
                        {"os_3_2", kOymak, "3.2", "fit", Needs::bounded, Scaling::any, Bound::features,
                         kFeatures, kFeaturesPrinted, output_layer, nullptr},
                        {"zl_a", kOurs, "A (output layer)", "fit", Needs::relu, Scaling::any, Bound::angle,
                         kRank, "", relu_rank, nullptr},
                        {"zl_b", kOurs, "B (kernel at the start)", "kernel", Needs::bounded, Scaling::ntk,
                         Bound::lambda, kStart, "", start_kernel, nullptr},
                        {"zl_c", kOurs, "C (kernel of pairs)", "kernel", Needs::bounded, Scaling::any,
                         Bound::lambda, kPairs, "", start_pairs, nullptr}};

const Row& row_of(std::string_view id) {
  const auto* found =
      std::find_if(std::begin(rows), std::end(rows), [&](const Row& row) { return row.id == id; });
  if (found == std::end(rows)) throw std::out_of_range(fmt::format("no theorem {}", id));
  return *found;
}

Theorem named(const Row& row) {
  const char* lambda = row.bound == Bound::product      ? "\n\\lambda = \\mu_1^2 \\lambda_{\\min}(G \\circ G)"
                       : row.bound == Bound::separation ? "\n\\lambda = \\frac{\\theta}{8 \\pi n}"
                                                        : "";
  return {row.id, row.source, row.number, row.gives, std::string(row.statement) + lambda, row.printed};
}

// Why the theorem says nothing about phi; empty if it does.
std::string obstacle(Needs needs, const Activation& phi) {
  if (needs == Needs::relu) return phi.rectifier() ? "" : fmt::format("needs relu; phi is {}", phi.name);
  if (!(phi.B < std::numeric_limits<double>::infinity()))
    return fmt::format("needs a bounded phi'; sup |phi'| of {} is infinite", phi.name);
  if (needs == Needs::bounded || phi.smooth()) return "";
  return fmt::format("needs a smooth phi; sup |phi''| of {} is infinite", phi.name);
}

// The least angle between points up to sign, of which the separation is the chord. The largest possible one,
// pi/2, stands for that of a single point.
double angle(const GuaranteeInput& input) {
  return down(2 * std::asin(std::min(input.separation, std::numbers::sqrt2) / 2));
}

std::vector<LambdaSource> lambdas(Bound bound, const Setting& s) {
  const bool tabulated = s.activation.tabulated;
  switch (bound) {
    case Bound::lambda:
      return s.input.lambdas;
    case Bound::angle:
      return {{"theta", angle(s.input), s.input.separation_verified}};
    case Bound::separation:
      return {{"theta/(8 pi n)", down(angle(s.input) / (8 * std::numbers::pi * s.input.n)),
               s.input.separation_verified}};
    case Bound::features: {
      if (!s.input.lambda_features) return {};
      const LambdaSource& features = *s.input.lambda_features;
      return {{features.name, features.value, features.verified && tabulated}};
    }
    case Bound::product:
      break;
  }
  if (!s.input.lambda_product) return {};
  const LambdaSource& product = *s.input.lambda_product;
  const double mu = s.input.mu_phi;
  return {{fmt::format("mu_1^2 {}", kProduct), down(mu * mu * product.value), product.verified && tabulated}};
}

const char* symbol(Bound bound) {
  return bound == Bound::features ? "lambda~" : bound == Bound::angle ? "theta" : "its lambda";
}

void also(std::string& reason, const std::string& more) {
  reason = reason.empty() ? more : more + "; " + reason;
}

// All networks together may fail with probability p.
Guarantee apply(const Row& theorem, const Setting& s, const LambdaSource& lambda, double p) {
  Guarantee row{.id = theorem.id,
                .theorem = named(theorem).title(),
                .lambda_from = lambda.name,
                .lambda_bound = lambda.value,
                .verified = lambda.verified};
  if (!(lambda.value > 0)) {
    row.reason = fmt::format("{} is not known to be positive: {} = {:.3g}", symbol(theorem.bound),
                             lambda.name, lambda.value);
    return row;
  }
  if (theorem.scaling == Scaling::balanced && s.input.has_labels && s.input.norm_y == 0) {
    row.reason = "balanced scaling needs y != 0: all labels are 0";
    return row;
  }
  theorem.state(row, s, lambda.value);
  row.failure_probability = p;
  row.holds = true;
  if (const double width = s.options.width; width > 0 && !(row.width && width >= *row.width)) {
    row.holds = false;
    if (row.width)
      also(row.reason, fmt::format("width {} is a factor {:.2g} below {}", width, *row.width / width,
                                   decimal(*row.width, 2, Rounding::up)));
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
  require(input.phi_squares >= 0, "phi_squares must be >= 0", input.phi_squares);
  require(!input.lambdas.empty(), "lambdas must hold at least one bound", 0);
}

}  // namespace

std::vector<Guarantee> guarantees(const Activation& activation, const GuaranteeInput& input,
                                  const GuaranteeOptions& options) {
  check(input, options);
  GuaranteeOptions each = options;  // of the networks may fail with its share of p
  if (input.networks > 1) each.failure_probability = down(each.failure_probability / input.networks);
  const Setting setting{activation, input, each};
  std::vector<Guarantee> found;
  for (const Row& theorem : rows) {
    Guarantee row{.id = theorem.id, .theorem = named(theorem).title()};
    const std::vector<LambdaSource> sources = lambdas(theorem.bound, setting);
    row.reason = obstacle(theorem.needs, activation);
    if (row.reason.empty() && sources.empty())
      row.reason = fmt::format("{} was not computed",
                               theorem.bound == Bound::features ? "lambda_min(Sigma~)" : kProduct);
    else if (row.reason.empty())
      for (const LambdaSource& lambda : sources)
        found.push_back(apply(theorem, setting, lambda, options.failure_probability));
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
  const Dual features = dual_activation(phi, false);
  input.phi_squares = up(features(1) + features.error);
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
