#include "kernel/tile_pass.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/parallel_for.hpp"
#include "kernel/entries.hpp"
#include "kernel/entry_run.hpp"
#include "linalg/lapack.hpp"
#include "linalg/rounding.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss::internal {
namespace {

constexpr Index kGroupsOfTiles = 16;  // each with a sum of its own: the same for any number of threads
constexpr Index kBetweenReports = 4;  // tiles of a group

struct GroupOfTiles {
  Matrix sum;  // of its tiles' products, n x c
  Tally tally;
  double squares = 0;  // of the entries
};

/// One tile on or below the diagonal: rows i.., columns j...
class TileOfPass {
 public:
  TileOfPass(const RowMatrix& X, const Kernel& kernel)
      : X_(X),
        runs_(kernel, X.cols()),
        at_one_(kernel(1)),
        buffer_(static_cast<std::size_t>(kTile * kTile)) {}

  void add(Index i, Index j, const Matrix& V, GroupOfTiles& group) {
    const Index n = X_.rows(), d = X_.cols(), c = V.cols();
    const Index rows = std::min(kTile, n - i), columns = std::min(kTile, n - j);
    double* tile = buffer_.data();
    lapack::gemm('T', 'N', rows, columns, d, 1.0, X_.data() + i * d, d, X_.data() + j * d, d, 0.0, tile,
                 rows);
    const bool diagonal = i == j;
    for (Index q = 0; q < columns; ++q) {
      const Index first = diagonal ? q + 1 : 0, at = j + q;
      double* column = tile + q * rows;
      const auto place = [&](Index p) -> PlacedPair<double> {
        const Index row = i + first + p;
        return {row, at, X_.row(row).data(), X_.row(at).data()};
      };
      runs_.finish(column + first, rows - first, place, group.tally);
      double sum = 0;
      for (Index p = first; p < rows; ++p) sum += column[p] * column[p];
      group.squares += 2 * sum;
      if (!diagonal) continue;
      column[q] = at_one_;  // <x, x> = 1 exactly
      group.squares += at_one_ * at_one_;
    }
    // Into a place of its own, so that a product goes through the sums of its tile alone.
    part_.resize(kTile, c);
    if (diagonal) {
      lapack::symm('L', rows, c, tile, rows, V.data() + j, n, 0.0, part_.data(), kTile);
      group.sum.middleRows(i, rows) += part_.topRows(rows);
      return;
    }
    lapack::gemm('N', 'N', rows, c, columns, 1.0, tile, rows, V.data() + j, n, 0.0, part_.data(), kTile);
    group.sum.middleRows(i, rows) += part_.topRows(rows);
    lapack::gemm('T', 'N', columns, c, rows, 1.0, tile, rows, V.data() + i, n, 0.0, part_.data(), kTile);
    group.sum.middleRows(j, columns) += part_.topRows(columns);
  }

 private:
  const RowMatrix& X_;
  EntryRuns<double> runs_;
  double at_one_;
  std::vector<double> buffer_;
  Matrix part_;
};

Index sides(Index n) { return (n + kTile - 1) / kTile; }

}  // namespace

// A tile's sum of at most kTile products; sums of a group's tiles; sums of groups.
double tile_pass_additions(Index n) { return static_cast<double>(kTile + sides(n) + kGroupsOfTiles + 1); }

double tile_pass_bytes(Index n, Index c) {
  return 8 * (static_cast<double>(kGroupsOfTiles) + 2) * static_cast<double>(n) * static_cast<double>(c) +
         8.0 * static_cast<double>(kTile * kTile) * thread_count();
}

TilePass tile_pass(const RowMatrix& X, const Kernel& kernel, const Matrix& V, Progress& progress) {
  const Index n = X.rows(), c = V.cols(), side = sides(n);
  require_memory(tile_pass_bytes(n, c), "a pass over the kernel", "use fewer points");
  std::vector<std::pair<Index, Index>> tiles;
  for (Index j = 0; j < side; ++j)
    for (Index i = j; i < side; ++i) tiles.emplace_back(i * kTile, j * kTile);
  const Index count = std::ssize(tiles), groups = std::min(kGroupsOfTiles, count);
  std::vector<GroupOfTiles> sums(static_cast<std::size_t>(groups));
  for (GroupOfTiles& group : sums) group.sum.setZero(n, c);
  const Threads threads(count > 1 ? kernel_work(n, n, X.cols()) / 2 : 0);
  progress.stage("kernel " + kernel.name, static_cast<double>(count));
  for (Index begin = 0; begin < count; begin += kBetweenReports * kGroupsOfTiles) {
    const Index end = std::min(count, begin + kBetweenReports * kGroupsOfTiles);
    const SerialBlas serial;
    parallel_for(
        groups, [&] { return TileOfPass(X, kernel); },
        [&](TileOfPass& tile, Index g) {
          for (Index t = begin + g; t < end; t += groups) {
            const auto [i, j] = tiles[static_cast<std::size_t>(t)];
            tile.add(i, j, V, sums[static_cast<std::size_t>(g)]);
          }
        });
    progress.advance(static_cast<double>(end - begin));
  }
  progress.finish();
  Index near = 0;
  double singular = 0, squares = 0;
  for (const GroupOfTiles& group : sums) {
    near += group.tally.closest.near_pairs();
    singular += group.tally.singular_sum;
    squares += group.squares;
    if (&group != &sums.front()) sums.front().sum += group.sum;
  }
  return {std::move(sums.front().sum),
          entry_error(kernel, as_double(n), as_double(X.cols()), as_double(near), singular),
          std::sqrt(squares) * kUp};
}

}  // namespace zeroloss::internal
