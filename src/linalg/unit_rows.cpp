#include "zeroloss/linalg/unit_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "linalg/centered_row.hpp"
#include "linalg/rounding.hpp"

namespace zeroloss {
namespace {

// 64 bits of mantissa hold the stated error of a norm; 15 bits of exponent hold the squares of all doubles.
static_assert(std::numeric_limits<long double>::digits >= 64 &&
                  std::numeric_limits<long double>::max_exponent >= 16384,
              "norms need an extended long double");

constexpr Index kBlock = 128;

/// x - (high + low) within 3.1 2^-64 of itself, and 0 only if it is 0. Where x is not high, the double next
/// to the sum, |low| is at most half of |x - high|: the second difference cannot cancel.
long double difference(double x, double high, double low) {
  return (static_cast<long double>(x) - high) - low;
}

}  // namespace

void internal::centered_row(const RowMatrix& X, Index i, const Center& center,
                            std::vector<long double>& row) {
  row.resize(static_cast<std::size_t>(X.cols()));
  for (Index j = 0; j < X.cols(); ++j)
    row[static_cast<std::size_t>(j)] =
        center.empty() ? X(i, j) : difference(X(i, j), center.high(j), center.low(j));
}

// Summed in blocks, so that the error is at most (128 + d/128) 2^-64 relative.
long double internal::length_of(const std::vector<long double>& row) {
  const auto d = static_cast<Index>(row.size());
  long double sum = 0;
  for (Index begin = 0; begin < d; begin += kBlock) {
    long double part = 0;
    for (auto j = static_cast<std::size_t>(begin); j < static_cast<std::size_t>(std::min(d, begin + kBlock));
         ++j)
      part += row[j] * row[j];
    sum += part;
  }
  return std::sqrt(sum);
}

std::vector<Index> unit_rows(RowMatrix& X, const Center& center) {
  std::vector<Index> zero;
  std::vector<long double> row;
  for (Index i = 0; i < X.rows(); ++i) {
    internal::centered_row(X, i, center, row);
    if (std::ranges::all_of(row, [](long double x) { return x == 0; })) zero.push_back(i);
  }
  if (!zero.empty()) return zero;
  for (Index i = 0; i < X.rows(); ++i) {
    internal::centered_row(X, i, center, row);
    const long double length = internal::length_of(row);
    for (Index j = 0; j < X.cols(); ++j)
      X(i, j) = static_cast<double>(row[static_cast<std::size_t>(j)] / length);
  }
  return zero;
}

// Of an entry: 3.1 2^-64 for the difference, (64 + d/256 + 3.1 + 2) 2^-64 for the length and the quotient,
// then one rounding to double, u = 2^11 2^-64; 2^-1075 where that underflows. In all below 1.04 u + d 2^-72.
double unit_row_error(Index d) { return 1.25 * internal::u + static_cast<double>(d) * 0x1p-64; }

}  // namespace zeroloss
