#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "linalg/rounding.hpp"

/// What is known of one number, and how errors go through sums and products. Never with -ffast-math.
namespace zeroloss::internal::graph {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Whose numbers are enclosed: those of exact arithmetic, or whatever a runtime gets that rounds every
/// operation to the type of its result, adds in any order, fused or not, and may take what is below the
/// normal numbers for zero, in what an operation gets and in what it gives.
struct Rounding {
  double v = 0;         ///< unit roundoff of the runtime; 0: exact arithmetic
  double lost = kTiny;  ///< what an operation may lose to underflow, there or here
  double largest = std::numeric_limits<double>::infinity();  ///< a runtime's number below this is finite
  /// Of the factors of matrix products, where these are rounded further (TF32, bfloat16, float16).
  double factor = 0, factor_lost = 0, factor_largest = std::numeric_limits<double>::infinity();
  bool precise = false;  ///< here products are summed with 64-bit mantissas, for 20 times the time
  double sum = 0;        ///< unit roundoff of the sums of these products; 0: v

  bool exact() const { return v == 0; }
  /// Of partial sums of products.
  Rounding of_sums() const {
    Rounding r = *this;
    r.v = std::max(v, sum);
    return r;
  }
  double flushed() const { return v == 0 ? 0 : lost; }  ///< what an argument may lose
};

/// A number that is within e of h. Infinite or NaN where nothing is known.
struct Ball {
  double h = 0, e = 0;

  double size() const { return (std::abs(h) + e) * kUp; }
};

/// h with the error that came, and with that of `count` operations of our double arithmetic and of the
/// runtime, whose intermediate results are at most `size`.
inline Ball rounded(double h, double came, double size, const Rounding& r, double count = 1) {
  const double e =
      (came + count * (u * size + r.v * (size + came) * (1 + count * r.v) + r.lost)) * kUp + kTiny;
  return {h, size + came < r.largest ? e : std::numeric_limits<double>::infinity()};
}

/// Whether a runtime has this number, too.
inline bool holds(double x, const Rounding& r) {
  return r.exact() || (r.v == 0x1p-24 && std::abs(x) <= std::numeric_limits<float>::max() &&
                       static_cast<double>(static_cast<float>(x)) == x && (x == 0 || std::abs(x) >= r.lost));
}

/// Whether a is minus infinity itself, in any arithmetic, as masks have it.
inline bool is_masked(Ball a) { return a.h == -std::numeric_limits<double>::infinity() && a.e == 0; }

inline Ball add(Ball a, Ball b, const Rounding& r) {
  const double h = a.h + b.h;
  const auto bounded = [](Ball x) { return is_masked(x) || (x.h - x.h == 0 && x.e < kInfinite); };
  if ((is_masked(a) || is_masked(b)) && bounded(a) && bounded(b)) return {h, 0};
  if (a.e == 0 && b.e == 0) {  // of small whole numbers sums are exact
    const double part = h - a.h;
    if ((a.h - (h - part)) + (b.h - part) == 0 && holds(h, r) && holds(a.h, r) && holds(b.h, r))
      return {h, 0};
  }
  return rounded(h, (a.e + b.e + 2 * r.flushed()) * kUp, std::abs(h), r);
}
inline Ball subtract(Ball a, Ball b, const Rounding& r) { return add(a, {-b.h, b.e}, r); }

inline Ball multiply(Ball a, Ball b, const Rounding& r) {
  const double h = a.h * b.h;
  const double came =
      ((a.e == 0 ? 0 : std::abs(b.h) * a.e) + (b.e == 0 ? 0 : std::abs(a.h) * b.e + a.e * b.e)) * kUp + kTiny;
  const double flushed = r.exact() ? 0 : r.flushed() * (a.size() + b.size());
  return rounded(h, (a.e == 0 && b.e == 0 ? 0 : came) + flushed, std::abs(h), r);
}

/// Unknown where b may be 0.
inline Ball divide(Ball a, Ball b, const Rounding& r) {
  const double h = a.h / b.h, room = (std::abs(b.h) - b.e) * kDown;
  if (!(room > r.flushed())) return {h, std::numeric_limits<double>::infinity()};
  double came = r.flushed() / room * kUp;
  if (a.e != 0 || b.e != 0) came = (came + a.e / room + std::abs(h) * (b.e / room + u)) * kUp + kTiny;
  return rounded(h, came, std::abs(h), r);
}

/// Unknown where a may be below 0.
inline Ball root(Ball a, const Rounding& r) {
  const double h = std::sqrt(a.h), low = (a.h - a.e) * kDown;
  if (!(a.h >= a.e)) return {h, std::numeric_limits<double>::infinity()};
  // |sqrt(a) - sqrt(b)| = |a - b|/(sqrt(a) + sqrt(b)).
  const double came = a.e == 0 ? 0 : a.e / ((h + std::sqrt(low > 0 ? low : 0)) * kDown) * kUp + kTiny;
  return rounded(h, low < r.flushed() ? std::max(came, h) : came, h, r);
}

/// The sum of k balls in any order, k roundings of partial sums whose sizes are at most that of all; here
/// with 64-bit mantissas.
class Sum {
 public:
  void operator+=(Ball b) {
    h_ += b.h;
    size_ += std::abs(b.h);
    came_ += b.e;
    ++count_;
  }
  double size() const { return (static_cast<double>(size_) + came_) * kUp; }  ///< of all that is added
  Ball result(const Rounding& r) const {
    const double k = count_, runtime = r.exact() ? 0 : k * r.v / (1 - k * r.v);
    const auto h = static_cast<double>(h_), size = static_cast<double>(size_) * kUp;
    const double e = (came_ + k * 0x1p-63 * size + u * std::abs(h) + runtime * (size + came_) +
                      k * (r.lost + r.flushed())) *
                         kUp +
                     kTiny;
    return {h, k * r.v < 0.5 && size + came_ < r.largest ? e : kInfinite};
  }

 private:
  long double h_ = 0, size_ = 0;
  double came_ = 0, count_ = 0;
};

}  // namespace zeroloss::internal::graph
