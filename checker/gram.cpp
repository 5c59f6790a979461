#include "gram.hpp"

#include <algorithm>
#include <cmath>

#include "kinds.hpp"
#include "progress.hpp"

namespace check {
namespace {

constexpr double kNear = 1e-4;  // of 1 - |rho|, from where on pairs are taken from the points
constexpr slong kNearBits = 256;

struct UnitRows {
  const std::vector<double>& heads;
  const std::vector<double>& tails;
  std::size_t first, d;
  double head(std::size_t i, std::size_t k) const { return heads[(first + i) * d + k]; }
  double tail(std::size_t i, std::size_t k) const { return tails[(first + i) * d + k]; }
  double all(std::size_t i, std::size_t k) const { return head(i, k) + tail(i, k); }
};

}  // namespace

Gram::Gram(const Points& points)
    : points_(points), grid_(1.001, points.dimension()), n_(points.rows()), d_(points.dimension()) {
  points.expect_unit();
  expect_memory(1, 16.0 * static_cast<double>(n_) * static_cast<double>(d_));
  head_.resize(n_ * d_);
  tail_.resize(n_ * d_);
  Progress progress("reading points", n_);
  for (std::size_t i = 0; i < n_; ++i) {
    progress.at(i);
    const Balls row = points.row(i);
    double squares = 0;
    for (std::size_t j = 0; j < d_; ++j) {
      const double head = grid_.head(row[j].middle());
      const Ball rest = row[j] - Ball(head);
      const double tail = rest.middle();
      head_[i * d_ + j] = head;
      tail_[i * d_ + j] = tail;
      const double off = (rest - Ball(tail)).size();
      squares += off * off;
    }
    off_ = std::max(off_, root_up(squares));
  }
}

void Gram::pairs(bool diagonal, const std::string& what,
                 const std::function<void(std::size_t, std::size_t, const Ball&)>& visit) {
  const double off = grid_.error(static_cast<double>(d_)) + 2.001 * off_ + off_ * off_;
  mag_t radius;
  mag_init(radius);
  mag_set_d(radius, off);
  Multiplier multiplier;
  Products product;
  Ball rho, low;
  Progress progress(what, n_ * n_);
  for (std::size_t i0 = 0; i0 < n_; i0 += kTile) {
    const std::size_t rows = std::min(kTile, n_ - i0);
    for (std::size_t j0 = 0; j0 <= i0; j0 += kTile) {
      progress.at(i0 * i0 + 2 * j0 * kTile);
      const std::size_t columns = std::min(kTile, n_ - j0);
      multiplier.products(rows, UnitRows{head_, tail_, i0, d_}, columns, UnitRows{head_, tail_, j0, d_}, d_,
                          product);
      for (std::size_t i = i0; i < i0 + rows; ++i) {
        for (std::size_t j = j0; j < std::min(j0 + columns, i + (diagonal ? 1 : 0)); ++j) {
          const double high = product.high.at(i - i0, j - j0);
          if (i != j && 1 - std::fabs(high) < kNear) {
            const Bits bits(std::max(precision, kNearBits));
            visit(i, j, exact(i, j));
            continue;
          }
          arb_set_d(rho.get(), high);
          arb_set_d(low.get(), product.low.at(i - i0, j - j0));
          arb_add(rho.get(), rho.get(), low.get(), precision);
          arb_add_error_mag(rho.get(), radius);
          visit(i, j, rho);
        }
      }
    }
  }
  mag_clear(radius);
}

double Gram::rough_error() const {
  // A sum of d products in any order, of rows that are rounded to doubles besides.
  return gamma(static_cast<double>(d_) + 4) * 1.01 + 2.001 * off_ + off_ * off_ + 0x1p-900;
}

double Gram::rough(std::size_t i, std::size_t j) const {
  double sum = 0;
  for (std::size_t k = 0; k < d_; ++k) {
    sum += (head_[i * d_ + k] + tail_[i * d_ + k]) * (head_[j * d_ + k] + tail_[j * d_ + k]);
  }
  return sum;
}

void Gram::rough_pairs(const std::function<void(std::size_t, std::size_t, double)>& visit) const {
  Panel left, right;
  Tile sum;
  Progress progress("comparing points", n_ * n_);
  for (std::size_t i0 = 0; i0 < n_; i0 += kTile) {
    const UnitRows a{head_, tail_, i0, d_};
    const std::size_t rows = std::min(kTile, n_ - i0);
    for (std::size_t j0 = 0; j0 <= i0; j0 += kTile) {
      progress.at(i0 * i0 + 2 * j0 * kTile);
      const UnitRows b{head_, tail_, j0, d_};
      const std::size_t columns = std::min(kTile, n_ - j0);
      sum.clear();
      for (std::size_t k = 0; k < d_; k += kDepth) {
        const std::size_t end = std::min(d_, k + kDepth);
        left.pack(rows, k, end, [&](std::size_t i, std::size_t c) { return a.all(i, c); });
        right.pack(columns, k, end, [&](std::size_t j, std::size_t c) { return b.all(j, c); });
        add_products(left, right, sum);
      }
      for (std::size_t i = i0; i < i0 + rows; ++i) {
        for (std::size_t j = j0; j < std::min(j0 + columns, i); ++j) {
          visit(i, j, sum.at(i - i0, j - j0));
        }
      }
    }
  }
}

}  // namespace check
