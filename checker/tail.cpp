// lambda_min without the matrix: docs/theory.md, section 3, the tail of the power series.

#include <algorithm>
#include <cmath>

#include "gram.hpp"
#include "kernel.hpp"
#include "kinds.hpp"
#include "progress.hpp"
#include "verdict.hpp"

namespace check {
namespace {

constexpr std::size_t kCells = 1 << 14;

// Upper bounds of |T_N(rho)|, linear in rho on each of kCells equal parts of [0, 1] and of [-1, 0]. With x =
// |rho| the even part E and the odd part O of T_N are convex and grow with x: a chord is above each, and the
// chord of the cell before, drawn on, is below. T_N(x) = E + O, and |T_N(-x)| is the larger of E - O and O -
// E.
class TailTable {
 public:
  TailTable(const Kernel& kernel, const Balls& coefficients, std::size_t power) {
    const Bits bits(128);
    Balls even(kCells + 1), odd(kCells + 1);
    Ball left_out;
    for (std::size_t r = 0; r < power && r < coefficients.size(); ++r) {
      left_out += coefficients[r];
    }
    const auto part = [&](const Ball& rho) {
      Ball head;
      for (std::size_t r = std::min(power, coefficients.size()); r-- > 0;) {
        head = head * rho + coefficients[r];
      }
      return kernel.entry(rho) - head;
    };
    for (std::size_t k = 0; k <= kCells; ++k) {
      const Ball x(static_cast<double>(k) / kCells);
      const Ball plus = part(x), minus = part(-x);
      even[k] = (plus + minus) / Ball(2);
      odd[k] = (plus - minus) / Ball(2);
    }
    tau_ = (kernel.at_one() - left_out).lower();
    const auto before = [](const Balls& f, std::size_t k) { return k == 0 ? f[0] : f[k] + f[k] - f[k - 1]; };
    for (std::size_t k = 0; k < kCells; ++k) {
      const auto cell = [](const Ball& left, const Ball& right) {
        return Line{std::max(0.0, left.upper()), std::max(0.0, right.upper())};
      };
      above_.push_back(cell(even[k] + odd[k], even[k + 1] + odd[k + 1]));
      below_.push_back(cell(even[k] - odd[k], even[k + 1] - before(odd, k)));
      below_other_.push_back(cell(odd[k] - even[k], odd[k + 1] - before(even, k)));
    }
  }

  double tau() const { return tau_; }
  // For a rho that may be off by `error`.
  double operator()(double rho, double error) const {
    const double x = std::min(1.0, std::fabs(rho) + error);
    const double least = std::max(0.0, std::fabs(rho) - error);
    if (rho > error) {
      return at(above_, x);
    }
    if (rho < -error && static_cast<std::size_t>(least * kCells) == static_cast<std::size_t>(x * kCells)) {
      // Within one cell both lines are bounds; the larger end of what rho may be counts.
      return std::max({at(below_, x), at(below_, least), at(below_other_, x), at(below_other_, least)});
    }
    return at(above_, x);  // |T_N(rho)| <= T_N(|rho|), as no coefficient is negative
  }

 private:
  struct Line {
    double left, right;
  };
  static double at(const std::vector<Line>& lines, double x) {
    const auto k = std::min(static_cast<std::size_t>(x * kCells), kCells - 1);
    const double f = x * kCells - static_cast<double>(k);
    return (lines[k].left * (1 - f) + lines[k].right * f) * (1 + 1e-14);
  }
  std::vector<Line> above_, below_, below_other_;
  double tau_ = 0;
};

}  // namespace

// lambda_min >= tau_N - max_i sum_j |T_N(rho_ij)| w_j/w_i.
double tail_bound(const Points& points, const Kernel& kernel, std::size_t power,
                  const std::vector<double>& weights) {
  const std::size_t n = points.rows();
  const Gram gram(points);
  std::size_t most = power;
  std::vector<std::size_t> powers{power};
  if (power == 0) {  // some that are tried on a few rows
    powers.clear();
    for (double next = 1; next < 300; next = std::max(next + 1, std::floor(next * 1.15))) {
      powers.push_back(static_cast<std::size_t>(next));
    }
    most = powers.back();
  }
  const Balls coefficients = kernel.coefficients(most);
  std::vector<TailTable> tables;
  for (const std::size_t p : powers) {
    tables.emplace_back(kernel, coefficients, p);
  }
  std::size_t best = 0;
  if (tables.size() > 1) {
    std::vector<double> sums(tables.size());
    const std::size_t stride = std::max<std::size_t>(1, n / 50);
    for (std::size_t i = 0; i < n; i += stride) {
      std::vector<double> row(tables.size());
      for (std::size_t j = 0; j < n; ++j) {
        const double rho = i == j ? 0 : gram.rough(i, j);
        for (std::size_t t = 0; t < tables.size() && i != j; ++t) {
          row[t] += tables[t](rho, gram.rough_error()) * weights[j] / weights[i];
        }
      }
      for (std::size_t t = 0; t < tables.size(); ++t) {
        sums[t] = std::max(sums[t], row[t]);
      }
    }
    for (std::size_t t = 0; t < tables.size(); ++t) {
      best = tables[t].tau() - sums[t] > tables[best].tau() - sums[best] ? t : best;
    }
  }
  std::vector<double> sums(n);
  const TailTable& table = tables[best];
  gram.rough_pairs([&](std::size_t i, std::size_t j, double rho) {
    const double bound = table(rho, gram.rough_error());
    sums[i] += bound * weights[j];
    sums[j] += bound * weights[i];
  });
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    largest = std::max(largest, sums[i] / weights[i]);
  }
  return (Ball(table.tau()) - Ball(largest) * Ball(1 + 1e-9)).lower();
}

}  // namespace check
