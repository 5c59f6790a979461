#pragma once

// Numbers as balls: a midpoint and a rigorous radius, by FLINT (Arb).

#if __has_include(<flint/arb.h>)
#include <flint/arb.h>
#include <flint/arb_hypgeom.h>
#include <flint/arb_mat.h>
#else
#include <arb.h>
#include <arb_hypgeom.h>
#include <arb_mat.h>
#endif

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace check {

// Bits of a midpoint, of every operation below.
inline slong precision = 128;

// Another precision until the end of a block.
class Bits {
 public:
  explicit Bits(slong bits) : before_(precision) { precision = bits; }
  ~Bits() { precision = before_; }
  Bits(const Bits&) = delete;
  Bits& operator=(const Bits&) = delete;

 private:
  slong before_;
};

class Ball {
 public:
  Ball() { arb_init(x_); }
  Ball(double value) : Ball() { arb_set_d(x_, value); }
  Ball(const Ball& other) : Ball() { arb_set(x_, other.x_); }
  Ball(Ball&& other) noexcept : Ball() { arb_swap(x_, other.x_); }
  ~Ball() { arb_clear(x_); }
  Ball& operator=(const Ball& other) {
    arb_set(x_, other.x_);
    return *this;
  }
  Ball& operator=(Ball&& other) noexcept {
    arb_swap(x_, other.x_);
    return *this;
  }

  static Ball pi() {
    return make([](arb_t z) { arb_const_pi(z, precision); });
  }
  template <class F>
  static Ball make(F&& fill) {
    Ball z;
    fill(z.x_);
    return z;
  }

  arb_ptr get() { return x_; }
  arb_srcptr get() const { return x_; }

  Ball& operator+=(const Ball& y) {
    arb_add(x_, x_, y.x_, precision);
    return *this;
  }
  Ball& operator-=(const Ball& y) {
    arb_sub(x_, x_, y.x_, precision);
    return *this;
  }
  Ball& operator*=(const Ball& y) {
    arb_mul(x_, x_, y.x_, precision);
    return *this;
  }
  Ball& operator/=(const Ball& y) {
    arb_div(x_, x_, y.x_, precision);
    return *this;
  }
  friend Ball operator+(Ball x, const Ball& y) { return std::move(x += y); }
  friend Ball operator-(Ball x, const Ball& y) { return std::move(x -= y); }
  friend Ball operator*(Ball x, const Ball& y) { return std::move(x *= y); }
  friend Ball operator/(Ball x, const Ball& y) { return std::move(x /= y); }
  Ball operator-() const {
    return make([&](arb_t z) { arb_neg(z, x_); });
  }

  // x += a b
  void add_product(const Ball& a, const Ball& b) { arb_addmul(x_, a.x_, b.x_, precision); }
  // May differ by `radius` more, which is not negative.
  void widen(double radius) {
    Ball r(radius);
    arb_add_error(x_, r.x_);
  }

  // Certainly so; false where the balls overlap or are not finite.
  friend bool operator<(const Ball& x, const Ball& y) { return arb_lt(x.x_, y.x_) != 0; }
  friend bool operator<=(const Ball& x, const Ball& y) { return arb_le(x.x_, y.x_) != 0; }
  friend bool operator>(const Ball& x, const Ball& y) { return arb_gt(x.x_, y.x_) != 0; }
  friend bool operator>=(const Ball& x, const Ball& y) { return arb_ge(x.x_, y.x_) != 0; }

  bool finite() const { return arb_is_finite(x_) != 0; }
  double middle() const { return arf_get_d(arb_midref(x_), ARF_RND_NEAR); }
  double upper() const { return end(ARF_RND_CEIL); }
  double lower() const { return end(ARF_RND_FLOOR); }
  double size() const {  // the largest absolute value, rounded up
    return std::max(std::fabs(upper()), std::fabs(lower()));
  }
  Ball upper_end() const {
    return make([&](arb_t z) { arb_get_ubound_arf(arb_midref(z), x_, precision); });
  }

 private:
  double end(arf_rnd_t round) const {
    if (!finite()) {
      return round == ARF_RND_CEIL ? std::numeric_limits<double>::infinity()
                                   : -std::numeric_limits<double>::infinity();
    }
    arf_t e;
    arf_init(e);
    if (round == ARF_RND_CEIL) {
      arb_get_ubound_arf(e, x_, 64);
    } else {
      arb_get_lbound_arf(e, x_, 64);
    }
    const double d = arf_get_d(e, round);
    arf_clear(e);
    return d;
  }

  arb_t x_;
};

// A function of one number by FLINT's.
template <auto kFunction>
Ball of(const Ball& x) {
  return Ball::make([&](arb_t z) { kFunction(z, x.get(), precision); });
}
inline Ball sqrt(const Ball& x) { return of<arb_sqrtpos>(x); }  // of the part that is not negative
inline Ball square(const Ball& x) { return of<arb_sqr>(x); }
inline Ball exp(const Ball& x) { return of<arb_exp>(x); }
inline Ball log(const Ball& x) { return of<arb_log>(x); }
inline Ball log1p(const Ball& x) { return of<arb_log1p>(x); }
inline Ball sin(const Ball& x) { return of<arb_sin>(x); }
inline Ball cos(const Ball& x) { return of<arb_cos>(x); }
inline Ball cosh(const Ball& x) { return of<arb_cosh>(x); }
inline Ball sinh(const Ball& x) { return of<arb_sinh>(x); }
inline Ball tanh(const Ball& x) { return of<arb_tanh>(x); }
inline Ball asin(const Ball& x) { return of<arb_asin>(x); }
inline Ball acos(const Ball& x) { return of<arb_acos>(x); }
inline Ball erf(const Ball& x) { return of<arb_hypgeom_erf>(x); }
inline Ball erfc(const Ball& x) { return of<arb_hypgeom_erfc>(x); }
inline Ball abs(const Ball& x) {
  return Ball::make([&](arb_t z) { arb_abs(z, x.get()); });
}
inline Ball min(const Ball& x, const Ball& y) {
  return Ball::make([&](arb_t z) { arb_min(z, x.get(), y.get(), precision); });
}
inline Ball max(const Ball& x, const Ball& y) {
  return Ball::make([&](arb_t z) { arb_max(z, x.get(), y.get(), precision); });
}

using Balls = std::vector<Ball>;

static_assert(sizeof(Ball) == sizeof(arb_struct));  // so that Balls are an array of FLINT's

// Of the first numbers of each.
inline Ball dot(const Ball* x, const Ball* y, std::size_t count) {
  return Ball::make([&](arb_t z) {
    if (count > 0) {
      arb_dot(z, nullptr, 0, x->get(), 1, y->get(), 1, static_cast<slong>(count), precision);
    }
  });
}
inline Ball dot(const Balls& x, const Balls& y) { return dot(x.data(), y.data(), x.size()); }
inline Ball length(const Balls& x) { return sqrt(dot(x, x)); }

}  // namespace check
