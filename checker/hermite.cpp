#include "hermite.hpp"

#include <cmath>
#include <functional>
#include <map>

#include "verdict.hpp"

namespace check {
namespace {

constexpr int kTerms = 320;
constexpr slong kIntegralBits = 1000;  // the recurrence of He_r loses up to some 600
constexpr double kDigits = 150;        // errors of sums are about exp(-this)

// f on the real line, and what is known of it: analytic and at most `most` for |Im z| <= half, at most
// `most_real` on the line.
struct Strip {
  std::function<Ball(const Ball&)> f;
  Ball half;
  double most, most_real;
};

// The trapezoidal rule for E[f(g) He_r(g)]/sqrt(r!), r < terms. Of a function F that is analytic in the strip
// and whose integral along each line of it is at most M it is off by 2 M/(exp(2 pi half/step) - 1) at most
// [Trefethen, Weideman, SIAM Review 2014, Thm 5.1]. With p_r = He_r/sqrt(r!) and n the normal density,
//   integral |n f p_r|(x + iy) dx <= exp(y^2/2) most (integral n(x) |p_r(x + iy)|^2 dx)^(1/2),
// where the last is sum_k binomial(r, k) y^(2k)/k!, as He_r(x + iy) = sum_k binomial(r, k) He_(r-k)(x)
// (iy)^k. What is left out beyond X is at most 1.74 most_real exp(-X^2/4)/X, as |p_r(x)| <= 1.0865 exp(x^2/4)
// (Cramer).
Balls coefficients(const Strip& strip, int terms) {
  const double half = strip.half.middle();
  const double growth = half * std::sqrt(static_cast<double>(terms)) + half * half;
  const double step = 2 * M_PI * half / (kDigits + growth);
  const double width = std::sqrt(4 * kDigits);
  const long nodes = std::lround(std::ceil(width / step));
  const Ball h(step);
  const Ball factor = h / sqrt(Ball(2) * Ball::pi());
  std::vector<Ball> root(static_cast<std::size_t>(terms) + 1);
  for (int r = 0; r <= terms; ++r) {
    root[r] = sqrt(Ball(r));
  }
  Balls sums(terms);
  for (long k = -nodes; k <= nodes; ++k) {
    const Ball x = h * Ball(static_cast<double>(k));
    const Ball weight = factor * exp(-(x * x) / Ball(2)) * strip.f(x);
    Ball before, now(1);
    for (int r = 0; r < terms; ++r) {
      sums[r].add_product(weight, now);
      Ball next = (x * now - root[r] * before) / root[r + 1];
      before = std::move(now);
      now = std::move(next);
    }
  }
  const Ball beyond =
      Ball(1.74) * Ball(strip.most_real) * exp(-square(h * Ball(static_cast<double>(nodes))) / Ball(4));
  const Ball pole = exp(Ball(2) * Ball::pi() * strip.half / h) - Ball(1);
  const Ball y2 = square(strip.half);
  for (int r = 0; r < terms; ++r) {
    Ball term(1), laguerre(1);
    for (int k = 1; k <= r; ++k) {
      term *= y2 * Ball(r - k + 1) / square(Ball(k));
      laguerre += term;
    }
    const Ball most = exp(y2 / Ball(2)) * Ball(strip.most) * sqrt(laguerre);
    sums[r].widen((Ball(2) * most / pole + beyond).size());
  }
  return sums;
}

Ball sigmoid_at(const Ball& z) { return Ball(1) / (Ball(1) + exp(-z)); }

// phi'. |1 + exp(-z)| >= 1 for |Im z| <= pi/2, and |sigmoid(z) sigmoid(-z)| = 1/(2 (cosh x + cos y)) <=
// 1/(2 cosh x). |cosh z|^2 = cosh(x)^2 - sin(y)^2 >= 1/2 for |Im z| <= pi/4. |x + iy|/(2 cosh x) <= (0.67 +
// pi/2)/2.
Strip derivative(const std::string& name) {
  const Ball quarter = Ball::pi() / Ball(4);
  const Ball half = Ball::pi() / Ball(2);
  if (name == "tanh") {
    return {[](const Ball& x) { return Ball(1) / square(cosh(x)); }, quarter, 2, 1};
  }
  if (name == "sigmoid") {
    return {[](const Ball& x) { return sigmoid_at(x) * sigmoid_at(-x); }, half, 0.5, 0.25};
  }
  if (name == "softplus") {
    return {[](const Ball& x) { return sigmoid_at(x); }, half, 1, 1};
  }
  if (name == "silu") {
    return {[](const Ball& x) { return sigmoid_at(x) * (Ball(1) + x * sigmoid_at(-x)); }, half, 2.13, 1.1};
  }
  throw Open("no series is known for the kernel of " + name);
}

// gelu' = Phi + z n with n = Phi' the density, so that gelu^(r + 1) = n^(r-1) - n^(r+1), r >= 1
// (derivatives). With D_k = E[n^(k)(g)], the k-th derivative at 0 of exp(-t^2/4)/(2 sqrt(pi)): D_(2j) =
// (-1)^j (2j)!/(j! 4^j)/(2 sqrt(pi)). So sqrt(r!) mu_r = |D_(2j)| (1 + (2j + 1)/2) for r = 2j + 1 but for a
// sign, mu_0 = 1/2, and c_r falls by a factor of
//   (2j + 1)^2 (2j + 5)^2/(4 (2j + 3)^3 (2j + 2)),
// which is below 1/3 from j = 2 on. E[gelu(g)] = E[n(g)] = 1/(2 sqrt(pi)) (Stein).
Hermite of_gelu() {
  Hermite series;
  series.c.resize(kTerms);
  series.c[0] = 0.25;
  Ball c = Ball(9) / (Ball(16) * Ball::pi());
  series.all = series.c[0];
  int j = 0;
  for (; 2 * j + 1 < kTerms; ++j) {
    series.c[2 * j + 1] = c;
    series.all += c;
    const Ball odd(2 * j + 3);
    c *= square(Ball(2 * j + 1) * Ball(2 * j + 5)) / (Ball(4) * odd * odd * odd * Ball(2 * j + 2));
  }
  // The rest is between 0 and 3/2 of its first term.
  const Ball rest = c * Ball(1.5);
  series.all += rest / Ball(2);
  series.all.widen((rest / Ball(2)).size());
  series.mean = Ball(1) / (Ball(2) * sqrt(Ball::pi()));
  return series;
}

Hermite computed(const std::string& activation) {
  const Bits bits(kIntegralBits);
  if (activation == "gelu") {
    return of_gelu();
  }
  const Strip strip = derivative(activation);
  Hermite series;
  series.c = coefficients(strip, kTerms);
  for (Ball& c : series.c) {
    c = square(c);
  }
  const Strip squared{[&](const Ball& x) { return square(strip.f(x)); }, strip.half, strip.most * strip.most,
                      strip.most_real * strip.most_real};
  series.all = coefficients(squared, 1)[0];
  if (activation == "sigmoid") {
    series.mean = 0.5;
  } else if (activation == "silu") {  // E[g sigmoid(g)] = E[sigmoid'(g)]
    const Strip slope{[](const Ball& x) { return sigmoid_at(x) * sigmoid_at(-x); }, strip.half, 0.5, 0.25};
    series.mean = coefficients(slope, 1)[0];
  } else if (activation == "softplus") {
    // |log(1 + e^z)| <= log(1 + e^x) + pi/2 in the strip; its mean is at most log 2 + E|g| + pi/2 < 3.1,
    // which stands for `most` as the mean of |f| would. Beyond X it is below exp(x^2/4), as Cramer's bound of
    // p_0 would be.
    const Strip value{[](const Ball& x) { return log1p(exp(x)); }, strip.half, 3.1, 1};
    series.mean = coefficients(value, 1)[0];
  }
  return series;
}

}  // namespace

const Hermite& hermite(const std::string& activation) {
  static std::map<std::string, Hermite> known;
  const auto found = known.find(activation);
  return found != known.end() ? found->second : known.emplace(activation, computed(activation)).first->second;
}

}  // namespace check
