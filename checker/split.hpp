#pragma once

// Inner products of rows to more than double precision, with a bound of their error.
//
// A row x is head + tail: the head is a multiple of 2^-q next to x, the tail what is left. Products of heads
// are multiples of 2^-2q, and all their partial sums are at most the largest ||head||^2 (Cauchy and Schwarz,
// which holds for the sums of absolute values too). Where that is at most 2^(53 - 2q), they are exact in
// doubles, in any order. What is left, head tail' + tail (head' + tail'), is smaller by 2^-q, and so are its
// rounding errors.

#include <algorithm>
#include <cmath>
#include <vector>

#include "tiles.hpp"
#include "verdict.hpp"

namespace check {

constexpr double kUnit = 0x1p-53;

// Not below k u/(1 - k u), for k < 2^40.
inline double gamma(double k) { return k * kUnit * 1.001; }
// Not below the root of a sum of at most 2^40 squares that was computed in doubles, in any order.
inline double root_up(double sum) { return std::sqrt(sum) * 1.001 + 0x1p-500; }

struct Grid {
  double shift = 0;     // x + shift - shift is the head of x
  double head_row = 0;  // not below the length of any row of heads
  double tail_row = 0;

  // For rows of at most this length and this many numbers. Tails are at most half a step.
  Grid(double longest, std::size_t numbers) {
    const double root = std::sqrt(static_cast<double>(numbers));
    if (!(longest < 0x1p400)) {
      throw Open("numbers are too large for doubles");
    }
    for (int bits = 60;; --bits) {
      tail_row = std::ldexp(root, -bits - 1) * 1.001;
      head_row = longest * 1.001 + tail_row;
      if (head_row * head_row * 1.001 <= std::ldexp(1.0, 53 - 2 * bits)) {
        shift = std::ldexp(1.5, 52 - bits);
        return;
      }
    }
  }
  double head(double x) const { return (x + shift) - shift; }
  // Not below the error of one inner product of this many terms.
  double error(double terms) const {
    return gamma(2 * terms + 8) * tail_row * (2 * head_row + tail_row) * 1.001 + (terms + 8) * 0x1p-1060;
  }
};

// Inner products of rows: high + low but for the grid's error.
struct Products {
  Tile high, low;
  void clear() { high.clear(), low.clear(); }
};

// Rows of doubles, get(i, k), as heads and tails.
template <class Get>
struct Rows {
  const Grid& grid;
  Get get;
  double head(std::size_t i, std::size_t k) const { return grid.head(get(i, k)); }
  double tail(std::size_t i, std::size_t k) const { return get(i, k) - head(i, k); }
  double all(std::size_t i, std::size_t k) const { return get(i, k); }
};
template <class Get>
Rows(const Grid&, Get) -> Rows<Get>;

// Adds up the products of tiles.
class Multiplier {
 public:
  // c = the inner products of `rows_a` rows of a and `rows_b` of b, of `terms` numbers.
  template <class A, class B>
  void products(std::size_t rows_a, const A& a, std::size_t rows_b, const B& b, std::size_t terms,
                Products& c) {
    c.clear();
    for (std::size_t from = 0; from < terms; from += kDepth) {
      const std::size_t to = std::min(terms, from + kDepth);
      head_a_.pack(rows_a, from, to, [&](std::size_t i, std::size_t k) { return a.head(i, k); });
      tail_a_.pack(rows_a, from, to, [&](std::size_t i, std::size_t k) { return a.tail(i, k); });
      head_b_.pack(rows_b, from, to, [&](std::size_t i, std::size_t k) { return b.head(i, k); });
      tail_b_.pack(rows_b, from, to, [&](std::size_t i, std::size_t k) { return b.tail(i, k); });
      all_b_.pack(rows_b, from, to, [&](std::size_t i, std::size_t k) { return b.all(i, k); });
      add_products(head_a_, head_b_, c.high);
      add_products(head_a_, tail_b_, c.low);
      add_products(tail_a_, all_b_, c.low);
    }
  }

 private:
  Panel head_a_, tail_a_, head_b_, tail_b_, all_b_;
};

}  // namespace check
