#include "kernel/deep_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "kernel/deep_kernel.hpp"
#include "linalg/rounding.hpp"
#include "zeroloss/kernel/dual.hpp"

// This file computes bounds: it relies on IEEE arithmetic and must not be compiled with -ffast-math.

namespace zeroloss::internal {
namespace {

using Long = long double;
using Series = std::vector<Long>;

constexpr Long kEpsilon = std::numeric_limits<Long>::epsilon();  // twice the unit roundoff
constexpr std::size_t kTerms = kDeepPower + 1;
constexpr Long kNegligible = 1e-300L;  // less is 0 in a series that is rounded down

// Sum of a[k] b[-k]: at most 42 roundings on any product.
Long convolve(const Long* a, const Long* b, std::size_t count) {
  if (count > 32) {
    const std::size_t half = count / 2;
    return convolve(a, b, half) + convolve(a + half, b - half, count - half);
  }
  Long sum = 0;
  for (std::size_t k = 0; k < count; ++k) sum += a[k] * *(b - k);
  return sum;
}

// The layers of theory 15 for series without negative coefficients, all rounded down or all rounded up: each
// operation is monotone in every coefficient.
class Layers {
 public:
  Layers(const Activation& activation, const Depth& depth, bool up)
      : away_(up ? kEpsilon : -kEpsilon), residual_(depth.residual) {
    const Long a = depth.scale;
    keep_ = residual_ ? rounded(1 / (1 + a * a)) : 0;
    move_ = residual_ ? rounded(1 / (1 + 1 / (a * a))) : 1;
    if (activation.leak) {
      const Long leak = *activation.leak;
      leak_ = true;
      bend_ = rounded((1 - leak) * (1 - leak) / (1 + leak * leak));
      straight_ = rounded((1 + leak) * (1 + leak) / (2 * (1 + leak * leak)));  // 1 - s/2
    } else {  // the h~(1) to divide by is rounded the other way
      const HermiteSeries of_phi = hermite(activation, false), of_slope = hermite(activation, true);
      const Long off = 2.01L * static_cast<Long>(of_phi.error) + 0x1p-58L;
      const Long unit =
          up ? sum_of_squares(of_phi) * (1 - off)
             : sum_of_squares(of_phi) * (1 + off) + static_cast<Long>(of_phi.tail) * (1 + 0x1p-40L);
      const auto coefficient = [&](double mu, double error) {
        return rounded(static_cast<Long>(mu) * mu / unit) *
               (1 + (up ? 2.01L : -2.01L) * static_cast<Long>(error));
      };
      for (const double mu : of_slope.mu) slope_.push_back(coefficient(mu, of_slope.error));
      mean_ = coefficient(of_phi.mu[0], of_phi.error);
      if (up) slope_rest_ = rounded(static_cast<Long>(of_slope.tail) / unit);
    }
  }

  /// The kernel at rho = 1: the sum of all coefficients.
  Long most(Index layers) const {
    Long q = slope_rest_, P = residual_ ? 1 : 0;
    for (const Long c : slope_) q = rounded(q + c);
    if (leak_) q = 1;
    for (Index l = 0; l < layers; ++l) P = rounded(keep_ * P + move_ * (q * (P + 1) + (residual_ ? 1 : 0)));
    return 1 + P;
  }

  Series tangent(Index layers) const {
    Series rho(kTerms), P(kTerms);
    rho[1] = 1;
    if (residual_) P = rho;
    for (Index l = 0; l < layers; ++l) {
      const Series q = slopes(rho), H = integral(q, rho);
      const Series moved = product(q, sum(P, 1, rho, 1));
      rho = sum(rho, keep_, H, move_);
      P = sum(P, keep_, residual_ ? sum(moved, 1, H, 1) : moved, move_);
    }
    return sum(rho, 1, P, 1);
  }

 private:
  static Long sum_of_squares(const HermiteSeries& series) {
    Long sum = 0;
    for (const double mu : series.mu) sum += static_cast<Long>(mu) * mu;
    return sum;
  }

  // At most 64 roundings of something that is not negative, in the direction wanted.
  Long rounded(Long value) const { return away_ < 0 && value < kNegligible ? 0 : value * (1 + 64 * away_); }

  Series product(const Series& a, const Series& b) const {
    Series c(kTerms);
    const auto [first_a, end_a] = range(a);
    const auto [first_b, end_b] = range(b);
    for (std::size_t r = first_a + first_b; r < std::min(kTerms, end_a + end_b); ++r) {
      const std::size_t first = std::max(first_a, r + 1 > end_b ? r + 1 - end_b : 0),
                        end = std::min(end_a, r + 1 - first_b);
      if (first < end) c[r] = rounded(convolve(a.data() + first, b.data() + r - first, end - first));
    }
    return c;
  }
  // Where coefficients are that are not 0: [first, end).
  static std::pair<std::size_t, std::size_t> range(const Series& a) {
    std::size_t first = 0, end = a.size();
    while (end > 0 && a[end - 1] == 0) --end;
    while (first < end && a[first] == 0) ++first;
    return {first, end};
  }
  Series sum(const Series& a, Long by, const Series& b, Long and_by) const {
    Series c(kTerms);
    for (std::size_t r = 0; r < kTerms; ++r) c[r] = rounded(by * a[r] + and_by * b[r]);
    return c;
  }

  // q(rho), q = h/h~(1).
  Series slopes(const Series& rho) const {
    if (leak_) return slopes_of_leak(rho);
    // Horner in a power of rho, of polynomials below it.
    const auto few = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(slope_.size()))));
    std::vector<Series> powers(1, Series(kTerms));
    powers[0][0] = 1;
    while (powers.size() <= few) powers.push_back(product(powers.back(), rho));
    Series q(kTerms);
    for (std::size_t block = (slope_.size() + few - 1) / few; block-- > 0;) {
      q = product(q, powers[few]);
      for (std::size_t k = 0; k < few && block * few + k < slope_.size(); ++k)
        if (slope_[block * few + k] > 0) q = sum(q, 1, powers[k], slope_[block * few + k]);
    }
    return q;
  }

  // q' = (s/pi) (1 - rho^2)^(-1/2); f = (1 - v)^(-1/2), v = rho^2, is the solution of 2 (1 - v) f' = v' f:
  // r (1 - v_0) f_r = sum over k of v_k (r - k) f_(r-k) + (k v_k/2) f_(r-k).
  Series slopes_of_leak(const Series& rho) const {
    const Series v = product(rho, rho);
    Series f(kTerms), by_degree(kTerms), v_slope(kTerms), rho_slope(kTerms), q(kTerms);
    for (std::size_t k = 0; k < kTerms; ++k) {
      v_slope[k] = static_cast<Long>(k) * v[k] / 2;
      rho_slope[k] = static_cast<Long>(k) * rho[k];
    }
    const Long below = 1 - v[0];
    f[0] = rounded(1 / std::sqrt(below));
    const Long share = rounded(bend_ / std::numbers::pi_v<Long>);
    for (std::size_t r = 1; r < kTerms; ++r) {
      const Long both = convolve(v.data() + 1, by_degree.data() + r - 1, r) +
                        convolve(v_slope.data() + 1, f.data() + r - 1, r);
      f[r] = rounded(both / (static_cast<Long>(r) * below));
      by_degree[r] = static_cast<Long>(r) * f[r];
      q[r] = rounded(share * convolve(rho_slope.data() + 1, f.data() + r - 1, r) / static_cast<Long>(r));
    }
    // 1 - (s/pi) acos(rho_0) = 1 - s/2 + (s/pi) asin(rho_0), a sum of what is not negative
    q[0] = rounded(straight_ + share * rounded(std::asin(rho[0])));
    return q;
  }

  // H(rho), whose derivative is q(rho) rho'.
  Series integral(const Series& q, const Series& rho) const {
    Series H(kTerms), rho_slope(kTerms);
    for (std::size_t k = 0; k < kTerms; ++k) rho_slope[k] = static_cast<Long>(k) * rho[k];
    for (std::size_t r = 1; r < kTerms; ++r)
      H[r] = rounded(convolve(rho_slope.data() + 1, q.data() + r - 1, r) / static_cast<Long>(r));
    H[0] = rounded(at_zero(rho[0], q[0]));
    return H;
  }

  // H(rho_0). Of a leak rho q + (s/pi) sqrt(1 - rho^2).
  Long at_zero(Long rho, Long q) const {
    if (leak_) {
      // The root falls with rho, the sum does not: its slope is q. So it is taken of this rho itself.
      return rho * q + bend_ / std::numbers::pi_v<Long> * std::sqrt((1 - rho) * (1 + rho));
    }
    Long sum = 0, power = 1;
    for (std::size_t k = 0; k < slope_.size(); ++k) {  // mu_(k+1)(phi)^2 = mu_k(phi')^2/(k + 1)
      power *= rho;
      sum += slope_[k] * power / static_cast<Long>(k + 1);
    }
    return mean_ + sum;
  }

  Long away_, keep_, move_;
  bool residual_, leak_ = false;
  Long bend_ = 0, straight_ = 0;    // of a leak a: s = (1 - a)^2/(1 + a^2), 1 - s/2
  Long mean_ = 0, slope_rest_ = 0;  // of the others: mu_0(phi)^2/h~(1), what slope_ leaves out
  Series slope_;                    // mu_r(phi')^2/h~(1)
};

}  // namespace

PowerSeries deep_series(const Activation& activation, const Depth& depth) {
  check(depth);
  if (!activation.tabulated)
    throw std::invalid_argument(
        fmt::format("tail_bound: nothing is proven of the Hermite coefficients of {}", activation.name));
  const Layers down(activation, depth, false), up(activation, depth, true);
  PowerSeries series;
  Long kept = 0;
  for (const Long c : down.tangent(depth.layers)) {
    series.c.push_back(static_cast<double>(c) * (1 - 2 * u));
    kept += static_cast<Long>(series.c.back());
  }
  while (series.c.size() > 8 && series.c.back() == 0) series.c.pop_back();
  const Long slack = 1e-15L * up.most(depth.layers);  // covers the roundings of these sums
  series.rest_above = static_cast<double>(up.most(depth.layers) - kept + slack) * kUp;
  if (activation.leak) {  // the coefficients of others fall geometrically
    Long most = slack;
    for (const Long c : up.tangent(depth.layers)) most += c;
    const Long rest = down.most(depth.layers) - most;
    if (rest > 0) series.rest_below = static_cast<double>(rest) * kDown;
  }
  return series;
}

}  // namespace zeroloss::internal
