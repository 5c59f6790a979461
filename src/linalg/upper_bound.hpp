#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "linalg/rounding.hpp"

namespace zeroloss::internal {

/// An upper bound of a number that is not negative. Sums, products and roots of bounds are rounded up, by
/// 2^-62 of themselves and by what underflows, in long double: its range is that of doubles' products, and
/// beyond it a bound is infinite. NaN stays NaN.
class UpperBound {
 public:
  constexpr UpperBound() = default;
  constexpr UpperBound(double value) : value_(value) {}
  constexpr explicit UpperBound(long double value) : value_(value) {}

  /// Rounded up.
  explicit operator double() const {
    return value_ == 0 ? 0.0 : static_cast<double>(value_) * (1 + 4 * u) + kTiny;
  }

  friend UpperBound operator+(UpperBound a, UpperBound b) {
    return UpperBound((a.value_ + b.value_) * kMore);
  }
  friend UpperBound operator*(UpperBound a, UpperBound b) {
    return a.value_ == 0 || b.value_ == 0 ? UpperBound(0 * (a.value_ + b.value_)) : up(a.value_ * b.value_);
  }
  friend UpperBound sqrt(UpperBound a) { return a.value_ == 0 ? a : up(std::sqrt(a.value_)); }
  UpperBound& operator+=(UpperBound b) { return *this = *this + b; }

  friend UpperBound min(UpperBound a, UpperBound b) { return b.value_ < a.value_ ? b : a; }
  friend UpperBound max(UpperBound a, UpperBound b) {
    return b.value_ > a.value_ || std::isnan(b.value_) ? b : a;
  }

 private:
  static constexpr long double kMore = 1 + 0x1p-62L, kLeast = std::numeric_limits<long double>::min();
  static UpperBound up(long double value) { return UpperBound(value * kMore + kLeast); }
  long double value_ = 0;
};

/// sqrt(a^2 + b^2 + c^2).
inline UpperBound length_of(UpperBound a, UpperBound b, UpperBound c = 0) {
  return sqrt(a * a + b * b + c * c);
}

}  // namespace zeroloss::internal
