#include "zeroloss/kernel/dual.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "kernel/activations/list.hpp"
#include "kernel/relu_dual.hpp"
#include "linalg/rounding.hpp"

// This file computes bounds: it relies on IEEE arithmetic and must not be compiled with -ffast-math.

namespace zeroloss {
using namespace internal;
namespace {

using std::numbers::pi;
constexpr double kPiRest = 1.2246467991473532e-16;  // pi = std::numbers::pi + kPiRest
// Bounds below are sums of at most 1000 nonnegative terms with at most 1000 roundings each; this covers them.
constexpr double kRoundUp = 1 + 1e-10;
constexpr int kLeakTerms = 64;

// ---- tabulated coefficients ------------------------------------------------------------------------------

struct Table {
  std::string_view name;
  double tail, derivative_tail;  // of phi and phi'
  double curvature;              // E[phi''^2]
  std::vector<double> mu;        // of phi
};

/// Null where the series is known otherwise.
const Table* table(std::string_view name) {
  static const std::vector<Table> tables{
#include "hermite_tables.inc"
  };
  for (const Table& t : tables)
    if (t.name == name) return &t;
  return nullptr;
}

/// Of leak z + (1 - leak) relu(z), where relu has mu_0 = 1/sqrt(2 pi), mu_1 = 1/2, mu_{2k} = (-1)^{k+1}
/// (2k-3)!!/sqrt(2 pi (2k)!) and 0 for the other odd ones.
std::vector<double> leak_coefficients(double leak, int terms) {
  std::vector<double> mu(terms);
  mu[0] = (1 - leak) / std::sqrt(2 * pi);
  mu[1] = (1 + leak) / 2;
  for (int r = 2; r < terms; r += 2) mu[r] = mu[r - 2] * (3 - r) / std::sqrt(r * (r - 1.0));
  return mu;
}

/// mu_r(phi') from mu_r(phi).
std::vector<double> differentiated(const std::vector<double>& mu) {
  std::vector<double> result(mu.size() - 1);
  for (size_t r = 0; r < result.size(); ++r) result[r] = std::sqrt(r + 1.0) * mu[r + 1];
  return result;
}

double sum_of_squares(const std::vector<double>& mu) {
  double sum = 0;
  for (double m : mu) sum += m * m;
  return sum;
}

/// E[phi^2] = E[phi'^2] = (1 + leak^2)/2; at most 4 roundings a coefficient, and those of 1 - leak.
HermiteSeries leak_series(double leak, bool derivative) {
  HermiteSeries series{leak_coefficients(leak, kLeakTerms + derivative), 4 * kLeakTerms * u, 0};
  if (derivative) series.mu = differentiated(series.mu);
  series.tail = (1 + leak * leak) / 2 - sum_of_squares(series.mu) + 4 * series.error;
  return series;
}

HermiteSeries tabulated_series(const Activation& activation, bool derivative) {
  return describe(phi_of(activation), [&](auto description) -> HermiteSeries {
    if constexpr (requires { description.series(derivative); }) return description.series(derivative);
    if (activation.leak) return leak_series(*activation.leak, derivative);
    const Table* t = table(activation.name);
    if (!t) throw std::logic_error("hermite: hermite_tables.inc has no row for " + activation.name);
    if (derivative) return {differentiated(t->mu), 3 * u, t->derivative_tail};
    return {t->mu, u, t->tail};
  });
}

// ---- coefficients by quadrature --------------------------------------------------------------------------

constexpr double kReach = 50;         // beyond 2 sqrt(512), where every Hermite function used has decayed
constexpr double kPanelWidth = 0.25;  // 16 nodes resolve He_512, which turns by at most 5.7 rad on it
constexpr size_t kMaxPanels = 8192;   // reached only by functions that are rough everywhere
constexpr size_t kMaxTerms = 512;

struct Node {
  double x, weight;
};

/// The 16-point Gauss-Legendre rule on [-1, 1]: its positive half.
constexpr std::array<Node, 8> kGauss{{{0.09501250983763744, 0.1894506104550685},
                                      {0.2816035507792589, 0.18260341504492358},
                                      {0.45801677765722737, 0.16915651939500254},
                                      {0.6178762444026438, 0.14959598881657674},
                                      {0.755404408355003, 0.12462897125553388},
                                      {0.8656312023878318, 0.09515851168249279},
                                      {0.9445750230732326, 0.062253523938647894},
                                      {0.9894009349916499, 0.027152459411754096}}};

/// psi_0: the root of the normal density.
double root_density(double x) { return std::exp(-x * x / 4) / std::sqrt(std::sqrt(2 * pi)); }

/// Nodes of a composite rule with F = f psi_0 there: the sum of weight F^2 is E[f^2].
struct Samples {
  std::vector<double> x, weight, F;

  void add_panel(const std::function<double(double)>& f, double a, double b, std::string_view what) {
    const double centre = (a + b) / 2, half = (b - a) / 2;
    for (const Node& node : kGauss)
      for (double z : {centre - half * node.x, centre + half * node.x}) {
        const double value = f(z);
        if (!std::isfinite(value))
          throw std::invalid_argument(fmt::format("hermite: {} is {} at z = {}", what, value, z));
        x.push_back(z);
        weight.push_back(half * node.weight);
        F.push_back(value * root_density(z));
      }
  }

  void append(const Samples& other) {
    x.insert(x.end(), other.x.begin(), other.x.end());
    weight.insert(weight.end(), other.weight.begin(), other.weight.end());
    F.insert(F.end(), other.F.begin(), other.F.end());
  }
};

struct Integrals {
  double first = 0, second = 0, size = 0;  // of f, f^2 and |f| + f^2 against the normal density
};

Integrals integrals(const Samples& s) {
  Integrals sum;
  for (size_t i = 0; i < s.x.size(); ++i) {
    const double first = s.weight[i] * s.F[i] * root_density(s.x[i]), second = s.weight[i] * s.F[i] * s.F[i];
    sum.first += first;
    sum.second += second;
    sum.size += std::abs(first) + second;
  }
  return sum;
}

/// The rule on the final panels and on their halves. A panel is halved while the two disagree on the
/// integrals of f and f^2 by more than rounding, breadth first.
struct Rules {
  Samples coarse, fine;
};

Rules adaptive_rules(const std::function<double(double)>& f, std::string_view what) {
  std::vector<std::pair<double, double>> panels;
  for (double a = -kReach; a < kReach; a += kPanelWidth) panels.push_back({a, a + kPanelWidth});
  Samples start;
  for (auto [a, b] : panels) start.add_panel(f, a, b, what);
  const double negligible = 1e-18 * integrals(start).size;

  Rules rules;
  for (size_t i = 0; i < panels.size(); ++i) {
    const auto [a, b] = panels[i];
    const double middle = (a + b) / 2;
    Samples whole, halves;
    whole.add_panel(f, a, b, what);
    halves.add_panel(f, a, middle, what);
    halves.add_panel(f, middle, b, what);
    const Integrals w = integrals(whole), h = integrals(halves);
    const double gap = std::abs(w.first - h.first) + std::abs(w.second - h.second);
    if (gap > negligible + 1e-14 * h.size && panels.size() < kMaxPanels) {
      panels.push_back({a, middle});
      panels.push_back({middle, b});
    } else {
      rules.coarse.append(whole);
      rules.fine.append(halves);
    }
  }
  return rules;
}

/// Projects F on the orthonormal Hermite functions psi_r = psi_0 He_r/sqrt(r!), one after another: they never
/// overflow, and what is left of F gives a tail that cannot come out negative.
HermiteSeries projected(const Samples& s, size_t max_terms) {
  const size_t n = s.x.size();
  std::vector<double> rest = s.F, psi(n), before(n, 0.0);
  for (size_t i = 0; i < n; ++i) psi[i] = root_density(s.x[i]);
  double total = 0;
  for (size_t i = 0; i < n; ++i) total += s.weight[i] * s.F[i] * s.F[i];

  HermiteSeries series{{}, 0, total};
  while (series.mu.size() < max_terms && (series.mu.empty() || series.tail > 1e-16 * total)) {
    const double r = series.mu.size();
    double mu = 0;
    for (size_t i = 0; i < n; ++i) mu += s.weight[i] * psi[i] * rest[i];
    series.mu.push_back(mu);
    series.tail = 0;
    for (size_t i = 0; i < n; ++i) {
      rest[i] -= mu * psi[i];
      series.tail += s.weight[i] * rest[i] * rest[i];
      before[i] = (s.x[i] * psi[i] - std::sqrt(r) * before[i]) / std::sqrt(r + 1);  // psi_{r+1}
    }
    std::swap(psi, before);
  }
  return series;
}

HermiteSeries computed_series(const std::function<double(double)>& f, std::string_view what) {
  const Rules rules = adaptive_rules(f, what);
  HermiteSeries fine = projected(rules.fine, kMaxTerms);
  const HermiteSeries coarse = projected(rules.coarse, fine.mu.size());
  double gap = 0;
  for (size_t r = 0; r < coarse.mu.size(); ++r)
    gap += (fine.mu[r] - coarse.mu[r]) * (fine.mu[r] - coarse.mu[r]);
  const double total = sum_of_squares(fine.mu) + fine.tail;
  fine.error = total > 0 ? std::sqrt(gap / total) : 0;
  return fine;
}

// ---- dual activations ------------------------------------------------------------------------------------

DualForm form_of(const Activation& activation, bool derivative) {
  if (!activation.tabulated) return DualForm::polynomial;
  if (activation.leak) return derivative ? DualForm::leak_derivative : DualForm::leak;
  return describe(phi_of(activation), [&](auto description) {
    if constexpr (requires { description.dual(derivative); })
      return description.dual(derivative);
    else
      return DualForm::polynomial;
  });
}

/// Of the dual as a polynomial: mu_r(f)^2.
std::vector<double> squares_of(const Activation& activation, bool derivative, const HermiteSeries& series) {
  std::vector<double> squares = series.mu;
  for (double& mu : squares) mu *= mu;
  if (!activation.tabulated) return squares;
  return describe(phi_of(activation), [&](auto description) {
    if constexpr (requires { description.squares(derivative); })
      return description.squares(derivative);
    else
      return squares;
  });
}

/// E[f^2] of the function that the series expands, rounded up.
double second_moment(const HermiteSeries& series) {
  return (sum_of_squares(series.mu) * (1 + 2 * series.error) + series.tail) * kRoundUp;
}

/// E[phi''^2], rounded up; its bound M^2 for a user's function.
double curvature(const Activation& activation) {
  const Table* t = activation.tabulated ? table(activation.name) : nullptr;
  return t ? t->curvature : activation.M * activation.M;
}

/// Bound of |computed - exact|, rho off by 4 u (cos of a given theta) included.
///  - relu: with acos, sin and cos within 4 ulp a relative 10 u of h <= 1/2; of h~ 18 u where psi > 1.5
///    (h~ <= 1/2) and 34 u elsewhere (h~ <= 0.15).
///  - leak > 0: share() of that, itself off by a relative 3 u, and two roundings of at most (1 + leak^2)/2.
///  - erf: h <= 0.57 to a relative 5 u, h~ to an absolute 5 u; their derivatives are below 0.46 and 0.57.
///  - Horner's rule commits at most 2r + 1 roundings in the r-th term, squaring mu one more; no term is < 0.
double evaluation_error(const Dual& dual, const HermiteSeries& series) {
  switch (dual.form) {  // without default: a new form does not compile until its error is stated
    case DualForm::leak:
    case DualForm::leak_derivative:
      return (dual.leak > 0 ? 11.5 : 10) * u;
    case DualForm::erf:
    case DualForm::erf_derivative:
      return 10 * u;
    case DualForm::polynomial:
      break;
  }
  double roundings = 0;
  for (size_t r = 0; r < dual.coefficients.size(); ++r) roundings += (6.0 * r + 2) * dual.coefficients[r];
  return (roundings * u + 2 * series.error * second_moment(series) + series.tail) * kRoundUp;
}

}  // namespace

double internal::relu_dual(double psi, double sine, double rho) {
  if (psi > 1.5) return (sine + psi * rho) / (2 * pi);
  double series = 1;
  for (int k = 10; k >= 1; --k) series = 1 - psi * psi / (2 * k * (2 * k + 3)) * series;
  return psi * psi * psi * series / (6 * pi);
}

HermiteSeries hermite(const Activation& activation, bool derivative) {
  if (activation.tabulated) return tabulated_series(activation, derivative);
  const auto& f = derivative ? activation.dphi : activation.phi;
  const std::string what = fmt::format("{} of \"{}\"", derivative ? "dphi" : "phi", activation.name);
  if (!f) throw std::invalid_argument(fmt::format("hermite: {} is missing", what));
  return computed_series(f, what);
}

Dual dual_activation(const Activation& activation, bool derivative) {
  const HermiteSeries series = hermite(activation, derivative);
  Dual dual;
  dual.form = form_of(activation, derivative);
  if (activation.tabulated) dual.leak = activation.leak.value_or(0);
  dual.verified = activation.tabulated;
  dual.plain_slope = derivative ? curvature(activation) : second_moment(hermite(activation, true));
  dual.slope = (second_moment(series) + dual.plain_slope) * kRoundUp;
  if (dual.form == DualForm::polynomial) dual.coefficients = squares_of(activation, derivative, series);
  dual.error = evaluation_error(dual, series);
  return dual;
}

double Dual::operator()(double rho) const {
  rho = std::clamp(rho, -1.0, 1.0);
  switch (form) {
    // pi - theta = acos(-rho), exact to an ulp down to rho = -1 (pi - acos(rho) is not)
    case DualForm::leak:
      return leak * rho + share() * relu_dual(std::acos(-rho), std::sqrt((1 - rho) * (1 + rho)), rho);
    case DualForm::leak_derivative:
      return leak + share() * (std::acos(-rho) / (2 * pi));
    case DualForm::erf:
      return 2 / pi * std::asin(2 * rho / 3);
    case DualForm::erf_derivative:
      return 4 / pi / std::sqrt(9 - 4 * rho * rho);
    case DualForm::polynomial:
      break;
  }
  double value = 0;
  for (size_t r = coefficients.size(); r-- > 0;) value = value * rho + coefficients[r];
  return value;
}

double Dual::at_angle(double theta) const {
  theta = std::clamp(theta, 0.0, pi);
  const double psi = (pi - theta) + kPiRest;
  switch (form) {
    case DualForm::leak:
      return leak * std::cos(theta) + share() * relu_dual(psi, std::sin(theta), std::cos(theta));
    case DualForm::leak_derivative:
      return leak + share() * (psi / (2 * pi));
    case DualForm::erf:
    case DualForm::erf_derivative:
    case DualForm::polynomial:
      break;
  }
  return (*this)(std::cos(theta));
}

}  // namespace zeroloss
