#include "symmetric.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "progress.hpp"
#include "split.hpp"

namespace check {

Symmetric::Symmetric(std::size_t n) : n_(n), a_(n * n), diagonal_(n) {}

double Symmetric::error() const { return root_up(squares_) + more_; }

double Symmetric::trace() const {
  double sum = 0;
  for (const double x : diagonal_) {
    sum += x;
  }
  return sum;
}

double Symmetric::largest_diagonal() const {
  double most = 0;
  for (const double x : diagonal_) {
    most = std::max(most, std::fabs(x));
  }
  return most;
}

// Block columns from the left: A less what the columns before have made, a small factor, and a division by
// it.
bool Symmetric::factor(double sign, double shift) {
  sign_ = sign;
  shift_ = shift;
  Panel left, right;
  Tile sum;
  Progress progress("factoring", n_);
  for (std::size_t j0 = 0; j0 < n_; j0 += kTile) {
    progress.at(j0);
    const std::size_t columns = std::min(kTile, n_ - j0);
    for (std::size_t i0 = j0; i0 < n_; i0 += kTile) {
      const std::size_t rows = std::min(kTile, n_ - i0);
      sum.clear();
      for (std::size_t k = 0; k < j0; k += kDepth) {
        const std::size_t end = std::min(j0, k + kDepth);
        left.pack(rows, k, end, [&](std::size_t i, std::size_t l) { return a_[(i0 + i) * n_ + l]; });
        right.pack(columns, k, end, [&](std::size_t j, std::size_t l) { return a_[(j0 + j) * n_ + l]; });
        add_products(left, right, sum);
      }
      for (std::size_t i = i0; i < i0 + rows; ++i) {
        for (std::size_t j = j0; j < std::min(j0 + columns, i + 1); ++j) {
          double x = (i == j ? sign * diagonal_[i] + shift : sign * a_[j * n_ + i]) - sum.at(i - i0, j - j0);
          for (std::size_t k = j0; k < j; ++k) {
            x -= a_[i * n_ + k] * a_[j * n_ + k];
          }
          if (i == j) {
            if (!(x > 0) || !std::isfinite(x)) {
              return false;
            }
            a_[i * n_ + i] = std::sqrt(x);
          } else {
            a_[i * n_ + j] = x / a_[j * n_ + j];
          }
        }
      }
    }
  }
  return true;
}

// sign A + shift I = L L^T + R, and L L^T is positive semidefinite whatever L is: ||R||_F bounds what is
// lost.
double Symmetric::loss() const {
  double longest = 0;
  for (std::size_t i = 0; i < n_; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k <= i; ++k) {
      sum += a_[i * n_ + k] * a_[i * n_ + k];
    }
    longest = std::max(longest, sum);
  }
  const Grid grid(root_up(longest), n_);
  const auto rows_from = [&](std::size_t first) {
    return Rows{grid, [this, first](std::size_t i, std::size_t k) {
                  return k <= first + i ? a_[(first + i) * n_ + k] : 0.0;
                }};
  };
  Multiplier multiplier;
  Products product;
  double squares = 0;
  Progress progress("measuring what the factor leaves", n_ * n_);
  for (std::size_t i0 = 0; i0 < n_; i0 += kTile) {
    progress.at(i0 * i0);
    const std::size_t rows = std::min(kTile, n_ - i0);
    for (std::size_t j0 = 0; j0 <= i0; j0 += kTile) {
      const std::size_t columns = std::min(kTile, n_ - j0);
      multiplier.products(rows, rows_from(i0), columns, rows_from(j0), j0 + columns, product);
      const double off = grid.error(static_cast<double>(j0 + columns));
      for (std::size_t i = i0; i < i0 + rows; ++i) {
        for (std::size_t j = j0; j < std::min(j0 + columns, i + 1); ++j) {
          const double high = product.high.at(i - i0, j - j0);
          const double low = product.low.at(i - i0, j - j0);
          const double a = sign_ * get(i, j);
          // (a [+ shift] - high) - low, each operation off by u of its result.
          double rest = a - high;
          double rounding = kUnit * std::fabs(rest);
          if (i == j) {
            rest += shift_;
            rounding += kUnit * (std::fabs(rest) + std::fabs(shift_));
          }
          rest -= low;
          rounding += kUnit * std::fabs(rest);
          const double most = std::fabs(rest) + 1.001 * rounding + off;
          squares += (i == j ? 1 : 2) * most * most;
        }
      }
    }
  }
  const double loss = root_up(squares);
  return std::isfinite(loss) ? loss : std::numeric_limits<double>::infinity();
}

void Symmetric::solve(std::vector<double>& x) const {
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      x[i] -= a_[i * n_ + k] * x[k];
    }
    x[i] /= a_[i * n_ + i];
  }
  for (std::size_t i = n_; i-- > 0;) {
    x[i] /= a_[i * n_ + i];
    for (std::size_t k = 0; k < i; ++k) {
      x[k] -= a_[i * n_ + k] * x[i];
    }
  }
}

Ball Symmetric::rayleigh(const std::vector<double>& x) const {
  Balls vector(x.begin(), x.end());
  Balls row(n_);
  Ball sum;
  for (std::size_t i = 0; i < n_; ++i) {
    for (std::size_t j = 0; j < n_; ++j) {
      row[j] = get(i, j);
    }
    sum.add_product(vector[i], dot(row, vector));
  }
  Ball quotient = sum / dot(vector, vector);
  quotient.widen(error());
  return quotient;
}

namespace {

// Computed, from a factor that exists.
std::vector<double> smallest_vector(const Symmetric& a) {
  std::vector<double> x(a.size());
  std::uint64_t state = 1;  // any start that is not at right angles to it
  for (double& value : x) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<double>(state >> 40) - 0x1p23;
  }
  for (int step = 0; step < 40; ++step) {
    a.solve(x);
    double most = 0;
    for (const double value : x) {
      most = std::max(most, std::fabs(value));
    }
    for (double& value : x) {
      value /= most;
    }
  }
  return x;
}

}  // namespace

Least least_eigenvalue(Symmetric& a, double sign, double s) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Least found{-kInfinity, kInfinity};
  // sign A - s I, moved up by what rounding will lose: lambda_min >= s + spare - loss - error of A.
  const double n = static_cast<double>(a.size());
  const double scale = std::max(a.largest_diagonal(), std::fabs(s));
  double spare = 4 * n * kUnit * scale + 2 * a.error();
  for (int attempt = 0; attempt < 6; ++attempt) {
    const double shift = -(s + spare);
    if (!a.factor(sign, shift)) {
      spare /= 4;
      continue;
    }
    const Ball lower = Ball(-shift) - Ball(a.loss()) - Ball(a.error());
    found.lower = std::max(found.lower, lower.lower());
    if (found.lower >= s) {
      return found;
    }
    spare = 1.5 * (spare + (s - found.lower));
  }
  // A vector that may show the contrary: inverse iteration from a little below the least eigenvalue, where a
  // factor exists.
  double below = std::fabs(s) * 1e-9 + 8 * n * kUnit * scale;
  bool factored = false;
  for (int attempt = 0; attempt < 40 && !(factored = a.factor(sign, below - s)); ++attempt) {
    below *= 8;
  }
  if (!factored) {
    return found;
  }
  found.lower = std::max(found.lower, (Ball(s) - Ball(below) - Ball(a.loss()) - Ball(a.error())).lower());
  const Ball quotient = Ball(sign) * a.rayleigh(smallest_vector(a));
  found.upper = quotient.upper();
  return found;
}

}  // namespace check
