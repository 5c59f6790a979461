#include <omp.h>

#include <algorithm>
#include <cmath>

#include "base/parallel_for.hpp"
#include "kernel/tail_error.hpp"
#include "kernel/tail_passes.hpp"
#include "linalg/lapack.hpp"
#include "linalg/rounding.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/threads.hpp"

// This file computes bounds: it relies on IEEE arithmetic and must not be compiled with -ffast-math.

namespace zeroloss::internal {
namespace {

static_assert(RowBlocks::kWhole % kTile == 0);

Index tiles_for(Index n) { return (n + kTile - 1) / kTile; }

}  // namespace

TailTiles::TailTiles(Index n, Index d, const PowerGrid& grid)
    : n_(n), d_(d), grid_(grid), measure_(d, float_product_error(d)) {}

double TailTiles::tiles_of_all(Index n) {
  const auto side = static_cast<double>(tiles_for(n));
  return side * (side + 1) / 2;
}

Closest TailTiles::take_closest() {
  Closest all;
  for (Work& work : works_) {
    all.add(work.closest);
    work.closest = {};
  }
  return all;
}

void TailTiles::add(const Block& rows, const Block& columns, const Floats& weights,
                    Eigen::Ref<Matrix> row_sums, Eigen::Ref<Matrix> column_sums, Progress& progress) {
  const auto size = static_cast<std::size_t>(grid_.size() * kTile);
  const auto first_tile = [](const Block& block) { return block.begin / kTile; };
  const auto end_tile = [](const Block& block) { return block.begin / kTile + tiles_for(block.X.rows()); };
  const Threads threads(end_tile(rows) > 1 ? kernel_work(n_, n_, d_) / 2 : 0);
  const SerialBlas serial;
  works_.resize(std::max<std::size_t>(works_.size(), static_cast<std::size_t>(thread_count())));
  for (Work& work : works_) {
    work.tile.resize(static_cast<std::size_t>(kTile * kTile));
    work.columns.resize(size);
  }
  std::vector<Floats> sums_of_rows(static_cast<std::size_t>(kTilesAtOnce));
  for (Index a = first_tile(rows); a < end_tile(rows); ++a)
    for (Index first = first_tile(columns); first <= std::min(a, end_tile(columns) - 1);
         first += kTilesAtOnce) {
      const Index end = std::min({a + 1, end_tile(columns), first + kTilesAtOnce});
      parallel_for(end - first, [&](Index k) {
        const Index b = first + k;
        Work& work = works_[static_cast<std::size_t>(omp_get_thread_num())];
        Floats& of_rows = sums_of_rows[static_cast<std::size_t>(b - first)];
        of_rows.assign(size, 0);
        std::fill(work.columns.begin(), work.columns.end(), 0.F);
        products(rows, a, columns, b, work);
        add_powers(grid_, work.tile.data(), length(a), length(b), measure_.error(),
                   weights.data() + a * kTile, weights.data() + b * kTile, of_rows.data(),
                   work.columns.data());
        if (b != a)
          add_to(column_sums, columns.begin, b, work.columns);  // no other tile of these is in work
        else
          for (std::size_t k = 0; k < size; ++k) of_rows[k] += work.columns[k];
      });
      for (Index b = first; b < end; ++b)
        add_to(row_sums, rows.begin, a, sums_of_rows[static_cast<std::size_t>(b - first)]);
      progress.advance(static_cast<double>(end - first));
    }
}

Index TailTiles::length(Index tile) const { return std::min(kTile, n_ - tile * kTile); }

// NOLINTNEXTLINE(performance-unnecessary-value-param): a Ref is a pointer, and passed as one
void TailTiles::add_to(Eigen::Ref<Matrix> sums, Index from, Index tile, const Floats& values) const {
  for (Index k = 0; k < sums.cols(); ++k)
    sums.col(k).segment(tile * kTile - from, length(tile)) +=
        Eigen::Map<const Eigen::VectorXf>(values.data() + k * kTile, length(tile)).cast<double>();
}

// <x_i, x_j> for i of tile a (contiguous) and j of tile b; 0 where not i > j.
void TailTiles::products(const Block& of_rows, Index a, const Block& of_columns, Index b, Work& work) const {
  const Index rows = length(a), columns = length(b);
  float* tile = work.tile.data();
  if (rows < kTile) std::fill(work.tile.begin(), work.tile.end(), 0.F);
  lapack::gemm('T', 'N', rows, columns, d_, 1.F, of_rows.F.data() + (a * kTile - of_rows.begin) * d_, d_,
               of_columns.F.data() + (b * kTile - of_columns.begin) * d_, d_, 0.F, tile, kTile);
  for (Index j = 0; j < columns; ++j) {
    float* column = tile + j * kTile;
    if (a == b) std::fill(column, column + j + 1, 0.F);
    const auto largest = static_cast<double>(entries::largest(column, static_cast<std::size_t>(rows)));
    if (largest < measure_.least(work.closest)) continue;
    for (Index i = a == b ? j + 1 : 0; i < rows; ++i)
      measure_.measure(column[i], of_rows.X.row(a * kTile + i - of_rows.begin).data(),
                       of_columns.X.row(b * kTile + j - of_columns.begin).data(), a * kTile + i,
                       b * kTile + j, work.closest);
  }
}

}  // namespace zeroloss::internal
