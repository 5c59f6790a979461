#pragma once

#if __has_include(<flint/fmpz_mat.h>)
#include <flint/fmpz_mat.h>
#else
#include <fmpz_mat.h>
#endif

#include <string>

#include "ball.hpp"
#include "verdict.hpp"

namespace check {

// Exact numbers as whole ones times a common power of two.
class Whole {
 public:
  explicit Whole(const Balls& row) : size_(static_cast<slong>(row.size())) {
    constexpr slong kLongest = 1 << 20;
    numbers_ = _fmpz_vec_init(size_);
    std::vector<slong> exponents(row.size());
    fmpz_t exponent;
    fmpz_init(exponent);
    slong least = 0, most = 0;
    bool any = false;
    for (slong j = 0; j < size_; ++j) {
      arf_get_fmpz_2exp(numbers_ + j, exponent, arb_midref(row[j].get()));
      if (fmpz_is_zero(numbers_ + j)) {
        continue;
      }
      if (!fmpz_fits_si(exponent)) {
        exponents[j] = kLongest * 4;
      } else {
        exponents[j] = fmpz_get_si(exponent);
      }
      least = any ? std::min(least, exponents[j]) : exponents[j];
      most = any ? std::max(most, exponents[j]) : exponents[j];
      any = true;
    }
    fmpz_clear(exponent);
    if (most - least > kLongest) {
      throw Open("numbers of one point are too far apart in size");
    }
    for (slong j = 0; j < size_; ++j) {
      if (!fmpz_is_zero(numbers_ + j)) {
        fmpz_mul_2exp(numbers_ + j, numbers_ + j, exponents[j] - least);
      }
    }
    power_ = least;
  }
  ~Whole() { _fmpz_vec_clear(numbers_, size_); }
  Whole(const Whole&) = delete;
  Whole& operator=(const Whole&) = delete;

  // Divides by the greatest common divisor and forgets the power: what is left is a direction.
  void primitive() {
    fmpz_t divisor;
    fmpz_init(divisor);
    _fmpz_vec_content(divisor, numbers_, size_);
    if (!fmpz_is_zero(divisor)) {
      _fmpz_vec_scalar_divexact_fmpz(numbers_, numbers_, size_, divisor);
    }
    fmpz_clear(divisor);
    power_ = 0;
  }
  void negate() { _fmpz_vec_neg(numbers_, numbers_, size_); }
  int first_sign() const {
    for (slong j = 0; j < size_; ++j) {
      if (!fmpz_is_zero(numbers_ + j)) {
        return fmpz_sgn(numbers_ + j);
      }
    }
    return 0;
  }
  // Equal rows, and no others, have equal texts: numbers_ are odd somewhere, so that the power is one of the
  // row.
  std::string text() const {
    std::string text = std::to_string(power_);
    for (slong j = 0; j < size_; ++j) {
      char* digits = fmpz_get_str(nullptr, 62, numbers_ + j);
      text += ',';
      text += digits;
      flint_free(digits);
    }
    return text;
  }
  const fmpz* data() const { return numbers_; }

 private:
  slong size_;
  fmpz* numbers_;
  slong power_ = 0;
};

}  // namespace check
