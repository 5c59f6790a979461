#include "zeroloss/kernel/tail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include "kernel/deep_series.hpp"
#include "kernel/tail_error.hpp"
#include "kernel/tail_passes.hpp"
#include "linalg/rounding.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/threads.hpp"

// This file computes bounds: it relies on IEEE arithmetic and must not be compiled with -ffast-math.

namespace zeroloss {
using namespace internal;
namespace {

Index tiles_of(Index n) { return (n + kTile - 1) / kTile; }

struct RowBound {
  int k = -1;  // of the grid; none so far
  double diagonal = 0, row_sum = 0;
  Index row = 0;

  double value() const {
    const double gap = diagonal - row_sum;
    return k < 0 ? -INFINITY : gap * (1 - 4 * u);
  }
};

class Bounds {
 public:
  /// `own`: the grid was made for this series, so its first sum is that of g.
  Bounds(const PowerGrid& grid, const PowerSeries& series, bool own, double error)
      : grid_(grid), series_(series), first_(grid.odd || own ? 0 : 1), error_(error) {
    weights_ = Matrix::Zero(grid.size(), grid.size());
    for (int k = first_; k < grid.size(); ++k) weights_.col(k) = tail_weights(grid, series, grid.power(k));
    if (!grid.odd && own) weights_(0, 0) = 1;
  }

  /// Sums of the rows for one start of the tail, over w_i: n numbers.
  Vector rows(const Matrix& sums, const Floats& w, int k) const {
    const Vector lost = lost_sums(w);
    return over(sums * weights_.col(k) + Vector::Constant(sums.rows(), lost.dot(weights_.col(k))), w);
  }

  RowBound best(const Matrix& sums, const Floats& w) const {
    const Index n = sums.rows();
    const Vector lost = lost_sums(w);
    std::vector<RowBound> of_power(static_cast<std::size_t>(grid_.size()));
    for (Index begin = 0; begin < n; begin += kTile) {
      const Index count = std::min(kTile, n - begin);
      const Matrix rows = (sums.middleRows(begin, count) * weights_).rowwise() + lost.transpose() * weights_;
      for (int k = first_; k < grid_.size(); ++k)
        for (Index i = 0; i < count; ++i) {
          RowBound& bound = of_power[static_cast<std::size_t>(k)];
          const double found = rows(i, k) / static_cast<double>(w[static_cast<std::size_t>(begin + i)]) * kUp;
          const double sum = std::isnan(found) ? INFINITY : std::max(0.0, found);
          if (bound.k >= 0 && sum <= bound.row_sum) continue;
          bound.k = k;
          bound.row_sum = sum;
          bound.row = begin + i;
        }
    }
    RowBound best;
    for (RowBound& bound : of_power) {
      bound.diagonal = bound.k < 0 ? 0 : series_.tail_below(std::max(1, grid_.power(bound.k)));
      if (!(bound.diagonal > 0)) continue;  // nothing of the series is left
      if (best.k < 0 || bound.value() > best.value()) best = bound;
    }
    return best;
  }

  /// c_r |rho|^r over r >= N, an upper bound.
  double tail(double closeness, int k) const {
    double sum = 0;
    for (int q = std::max(k, 1 - static_cast<int>(grid_.odd)); q < grid_.size(); ++q)
      sum += weights_(q, k) * std::pow(closeness, grid_.power(q));
    return sum;
  }

 private:
  static Vector over(Vector sums, const Floats& w) {
    for (Index i = 0; i < sums.size(); ++i) sums(i) /= static_cast<double>(w[static_cast<std::size_t>(i)]);
    return sums;
  }

  // What the sums may lack: powers left out, and g's errors.
  Vector lost_sums(const Floats& w) const {
    double all = 0;
    for (const float weight : w) all += static_cast<double>(weight);
    Vector lost = Vector::Constant(grid_.size(), kLeftOut * all);
    if (!grid_.odd) lost(0) = all * first_sum_error(grid_, error_);
    return lost;
  }

  const PowerGrid& grid_;
  const PowerSeries& series_;
  const int first_;
  const double error_;
  Matrix weights_;
};

// Weights of the next pass: where rows are alike this is Perron's vector, and of a star it is so at once.
void improve_weights(Floats& w, const Vector& rows) {
  constexpr float kLeast = 0x1p-12F;
  const double most = std::max(rows.maxCoeff(), 0x1p-1000);
  float largest = 0;
  for (Index i = 0; i < rows.size(); ++i) {
    float& weight = w[static_cast<std::size_t>(i)];
    weight *= static_cast<float>(std::sqrt(std::max(0.0, rows(i)) / most));
    largest = std::max({largest, weight, kLeast});
  }
  for (Index i = 0; i < rows.size(); ++i) {
    float& weight = w[static_cast<std::size_t>(i)];
    weight = std::max(weight / largest, kLeast);
  }
}

void check_tail(const RowBlocks& X, Index passes) {
  if (X.n() < 1 || X.d() < 1)
    throw std::invalid_argument("tail_bound: X needs at least one row and one column");
  if (X.d() > (Index{1} << 20))
    throw std::invalid_argument(fmt::format(
        "tail_bound: products of more than 2^20 features are too rough in float32; got {}", X.d()));
  if (passes < 1) throw std::invalid_argument(fmt::format("tail_bound: passes must be >= 1; got {}", passes));
}

// What each point has in the row that holds the bound down.
Vector parts_of(const RowBlocks& X, const Bounds& bounds, const RowBound& best, const Floats& w) {
  const RowMatrix lowest = X.rows({best.row});
  Vector parts(X.n());
  for (Index k = 0; k < X.count(); ++k) {
    const RowBlocks::Block block = X.load(k);
    parts.segment(block.begin, block.X().rows()) = block.X() * lowest.row(0).transpose();
  }
  for (Index j = 0; j < X.n(); ++j)
    parts(j) = w[static_cast<std::size_t>(j)] *
               (j == best.row ? best.diagonal : bounds.tail(std::min(1.0, std::abs(parts(j))), best.k));
  return parts / parts.sum();
}

}  // namespace

TailBound tail_bound(const RowMatrix& X, const Activation& activation, const Depth& depth, Index passes,
                     Progress& progress) {
  if (!X.allFinite()) throw std::invalid_argument("tail_bound: X has values that are not finite");
  return tail_bound(RowBlocks(X), activation, depth, passes, progress);
}

TailBound tail_bound(const RowBlocks& X, const Activation& activation, const Depth& depth, Index passes,
                     Progress& progress) {
  return tail_bound(X, activation, depth, passes, progress, this_process());
}

TailBound tail_bound(const RowBlocks& X, const Activation& activation, const Depth& depth, Index passes,
                     Progress& progress, Engine& engine) {
  check_tail(X, passes);
  const PowerSeries series = depth.deep() ? deep_series(activation, depth) : sigma_series(activation),
                    product = power_series(2);
  const PowerGrid grid = power_grid(series);
  const Index n = X.n();
  const auto points = static_cast<double>(n);
  const double numbers = static_cast<double>(std::min(n, 2 * X.rows_of_a_block()) * X.d());
  require_memory(
      (X.count() > 1 ? 12 : 4) * numbers + 8.0 * (grid.size() + 4) * points + 8e6 * (thread_count() + 1),
      fmt::format("the tail bound of {} points", n), "try fewer points");
  const std::unique_ptr<TailPasses> work = engine.tail_passes(X, grid);
  const Bounds own(grid, series, true, work->error()), of_product(grid, product, false, work->error());
  Floats w(static_cast<std::size_t>(tiles_of(n) * kTile), 0.F);
  std::fill_n(w.begin(), n, 1.F);
  TailBound result;
  RowBound best;
  for (Index pass = 0; pass < passes; ++pass) {
    const auto began = std::chrono::steady_clock::now();
    const PowerSums sums = work->run(w, progress);
    const RowBound found = own.best(sums.of_rows, w);
    if (pass == 0) {
      result.product = std::max(0.0, of_product.best(sums.of_rows, w).value());
      const std::vector<Index> ends = sums.closest.ends();
      result.closest = sums.closest.pairs(X.rows(ends), ends);
      result.near_pairs = sums.closest.near_pairs();
      result.separation = separation_bound(result.closest, result.near_pairs, static_cast<double>(X.d()));
    }
    if (pass == 0 || found.value() > best.value()) {
      best = found;
      result.parts = parts_of(X, own, best, w);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    result.passes.push_back({std::max(0.0, found.value()), took.count()});
    if (pass + 1 < passes) improve_weights(w, own.rows(sums.of_rows, w, found.k));
  }
  result.lambda_min = std::max(0.0, best.value());
  result.power = std::max(1, grid.power(best.k));
  result.diagonal = best.diagonal;
  result.row_sum = best.row_sum;
  result.row = best.row;
  return result;
}

}  // namespace zeroloss
