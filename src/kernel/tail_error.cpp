#include "kernel/tail_error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "linalg/rounding.hpp"
#include "zeroloss/linalg/unit_rows.hpp"

namespace zeroloss::internal {

// Rows x^ of doubles are within e of the unit vectors x, their floats f within eta of these: u32 a number,
// and 2^-126 where it is flushed. <f, f'> is off by 2 eta + eta^2, its computation by gamma_d ||f|| ||f'||,
// and 2^-125 a product that underflows.
float float_product_error(Index d) {
  const auto size = static_cast<double>(d);
  const double e = unit_row_error(d), eta = u32 * (1 + e) + e + std::sqrt(size) * 0x1p-126;
  const double gamma32 = size * u32 / (1 - size * u32);
  const double error = gamma32 * (1 + eta) * (1 + eta) + 2 * eta + eta * eta + size * 0x1p-125 + 0x1p-23;
  const auto rounded = static_cast<float>(error * kUp);
  return std::nextafter(rounded, std::numeric_limits<float>::infinity());
}

Vector tail_weights(const PowerGrid& grid, const PowerSeries& series, int N) {
  const int last = grid.size() - 1;
  Vector a = Vector::Zero(grid.size());
  int k = grid.odd ? 0 : 1;
  const auto advance = [&](int r) {
    while (k < last && grid.power(k + 1) <= r) ++k;
  };
  for (int r = std::max(N, grid.power(k)); r <= series.degree(); ++r) {
    advance(r);
    const double c = series.c[static_cast<std::size_t>(r)];
    if (k == last) {
      a(k) += c;
      continue;
    }
    const double beyond = r - grid.power(k), width = grid.power(k + 1) - grid.power(k);
    a(k) += c * (1 - beyond / width);
    a(k + 1) += c * (beyond / width);
  }
  a *= 1 + series.error;
  advance(std::max(N, series.degree() + 1));
  a(k) += series.rest_above;
  for (int q = 0; q <= last; ++q) a(q) *= sum_slack(grid.power(q)) * kUp;
  return a;
}

// |g'| <= c_1 + 2 P', taken up to |rho| = 1 + error; sums of 512 terms of at most c_1 each, and at most ten
// roundings of c_1 |rho| + 2 P in each.
double first_sum_error(const PowerGrid& grid, double error) {
  const double c1 = grid.c1, low2 = grid.low2, low4 = grid.low4, low6 = grid.low6;
  const double slope = (c1 + 2 * (2 * low2 + 4 * low4 + 6 * low6)) * std::pow(1 + error, 6);
  const double size = c1 + 2 * (low2 + low4 + low6) * std::pow(1 + error, 6);
  return (slope * (error + 0x1p-21) + (600 * c1 + 10 * size) * u32 * 1.01) * kUp;
}

}  // namespace zeroloss::internal
