#include "kernel/exact_collinearity.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace zeroloss::internal {
namespace {

// x = mantissa 2^exponent
struct Scaled {
  long long mantissa;
  int exponent;
};
Scaled scaled(double x) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return {static_cast<long long>(std::ldexp(fraction, 53)), exponent - 53};
}

}  // namespace

Integers direction(const RowMatrix& points, Index i, const Center& center) {
  const Index d = points.cols();
  std::vector<std::array<Scaled, 3>> terms(static_cast<std::size_t>(d));
  int least = std::numeric_limits<int>::max();
  for (Index j = 0; j < d; ++j) {
    const double high = center.empty() ? 0 : center.high(j), low = center.empty() ? 0 : center.low(j);
    auto& of = terms[static_cast<std::size_t>(j)] = {scaled(points(i, j)), scaled(-high), scaled(-low)};
    for (const auto& [mantissa, exponent] : of)
      if (mantissa != 0) least = std::min(least, exponent);
  }
  Integers numbers(terms.size());
  Integer divisor = 0;
  for (std::size_t j = 0; j < terms.size(); ++j) {
    for (const auto& [mantissa, exponent] : terms[j])
      if (mantissa != 0) numbers[j] += Integer(mantissa) << (exponent - least);
    if (divisor != 1 && numbers[j] != 0) divisor = gcd(divisor, numbers[j]);
  }
  if (divisor > 1)
    for (Integer& number : numbers) number /= divisor;
  return numbers;
}

std::string key(const Integers& direction, int sign) {
  std::string text;
  for (const Integer& number : direction) {
    if (number == 0) {
      text += '.';
      continue;
    }
    text += (number < 0) == (sign < 0) ? '+' : '-';
    text += Integer(abs(number)).str(0, std::ios_base::hex);
  }
  return text;
}

Index rank(std::vector<Integers> rows) {
  std::size_t found = 0;
  Integer before = 1;
  const std::size_t columns = rows.empty() ? 0 : rows.front().size();
  for (std::size_t column = 0; column < columns && found < rows.size(); ++column) {
    const auto pivot = std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(found), rows.end(),
                                    [&](const Integers& row) { return row[column] != 0; });
    if (pivot == rows.end()) continue;
    std::swap(*pivot, rows[found]);
    const Integers& top = rows[found];
    for (std::size_t below = found + 1; below < rows.size(); ++below) {
      const Integer factor = rows[below][column];
      for (std::size_t k = column; k < columns;
           ++k)  // a minor of the matrix: the division leaves no rest (Bareiss)
        rows[below][k] = (top[column] * rows[below][k] - factor * top[k]) / before;
    }
    before = top[column];
    ++found;
  }
  return static_cast<Index>(found);
}

}  // namespace zeroloss::internal
