#include "kernel/power_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "linalg/rounding.hpp"
#include "zeroloss/kernel/dual.hpp"

namespace zeroloss::internal {
namespace {

// Of leak z + (1 - leak) relu(z), where rho h(rho) of relu is rho/4 + rho asin(rho)/(2 pi): c_2 = 1/(2 pi),
// c_(r+2) = c_r (r - 1)^2/(r (r + 1)). A coefficient is off by 3 roundings each step, 6 at its start; all
// together are h(1) = (1 + leak^2)/2.
PowerSeries leak_power_series(double leak) {
  const double share = (1 - leak) * (1 - leak), all = (1 + leak * leak) / 2;
  PowerSeries series{std::vector<double>(kMostPower + 1), (1.5 * kMostPower + 8) * u * kUp, 0, 0};
  series.c[1] = (1 + leak) * (1 + leak) / 4;
  series.c[2] = share / (2 * std::numbers::pi);
  for (int r = 2; r + 2 <= kMostPower; r += 2) {
    const double s = r;
    series.c[static_cast<std::size_t>(r) + 2] =
        series.c[static_cast<std::size_t>(r)] * ((s - 1) * (s - 1)) / (s * (s + 1));
  }
  double sum = 0;
  for (std::size_t r = series.c.size(); r-- > 0;) sum += series.c[r];
  const double off = all * (2 * series.error + 2 * gamma_of(kMostPower));
  series.rest_below = std::max(0.0, all - sum - off);
  series.rest_above = all - sum + off;
  return series;
}

}  // namespace

bool PowerSeries::odd() const {
  for (std::size_t r = 0; r < c.size(); r += 2)
    if (c[r] != 0) return false;
  return true;
}

bool PowerSeries::even_but_linear() const {
  for (std::size_t r = 3; r < c.size(); r += 2)
    if (c[r] != 0) return false;
  return true;
}

double PowerSeries::tail_below(int N) const {
  double sum = 0;  // from the small ones up
  for (int r = degree(); r >= N; --r) sum += c[static_cast<std::size_t>(r)];
  return (sum * (1 - error) + rest_below) * kDown;
}

PowerSeries sigma_series(const Activation& activation) {
  if (!activation.tabulated)
    throw std::invalid_argument(
        fmt::format("tail_bound: nothing is proven of the Hermite coefficients of {}", activation.name));
  if (activation.leak) return leak_power_series(*activation.leak);
  const HermiteSeries hermite_series = hermite(activation, true);
  PowerSeries series{{0.0}, (2.01 * hermite_series.error + 2 * u) * kUp, 0, hermite_series.tail * kUp};
  for (const double mu : hermite_series.mu) series.c.push_back(mu * mu);
  return series;
}

PowerSeries power_series(int r) {
  PowerSeries series{std::vector<double>(static_cast<std::size_t>(r) + 1), 0, 0, 0};
  series.c.back() = 1;
  return series;
}

}  // namespace zeroloss::internal
