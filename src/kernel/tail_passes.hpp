#pragma once
#include <vector>

#include "kernel/closest.hpp"
#include "kernel/pair_measure.hpp"
#include "kernel/power_sums.hpp"
#include "zeroloss/base/progress.hpp"
#include "zeroloss/kernel/row_blocks.hpp"

/// What a pass of the tail bound over all pairs of points sums.
namespace zeroloss::internal {

using Floats = std::vector<float>;

/// Sums of powers of all rows, n x grid.size(), and what the pass saw of the closest pairs.
struct PowerSums {
  Matrix of_rows;
  Closest closest;
};

/// Passes over the pairs of some points, wherever these are.
class TailPasses {
 public:
  TailPasses() = default;
  virtual ~TailPasses() = default;
  TailPasses(const TailPasses&) = delete;
  TailPasses& operator=(const TailPasses&) = delete;

  /// `weights`: one a point, then 0 up to a multiple of kTile.
  virtual PowerSums run(const Floats& weights, Progress& progress) = 0;
  /// Of an inner product in single precision.
  virtual double error() const = 0;
};

/// Pairs of two blocks of rows in this process.
class TailTiles {
 public:
  /// Rows begin .. in both precisions; begin is a multiple of kTile, X outlives it.
  struct Block {
    Block(const RowMatrix& rows, Index first) : X(rows), begin(first), F(rows.cast<float>()) {}
    const RowMatrix& X;
    Index begin;
    Rows<float> F;

    Index end() const { return begin + X.rows(); }
  };

  /// Of n points of d numbers in all.
  TailTiles(Index n, Index d, const PowerGrid& grid);

  /// All pairs of a row of the one and one of the other, or i > j where they are the same: sums of powers,
  /// weighed, are added to the rows of the sums of both, which begin where their blocks do. `rows` is not
  /// before `columns`.
  void add(const Block& rows, const Block& columns, const Floats& weights, Eigen::Ref<Matrix> row_sums,
           Eigen::Ref<Matrix> column_sums, Progress& progress);
  /// Progress in units of tiles: of all pairs of n points.
  static double tiles_of_all(Index n);
  /// Of all that was added since the last call.
  Closest take_closest();

  const PowerGrid& grid() const { return grid_; }
  double error() const { return measure_.error(); }

 private:
  struct Work {
    Floats tile, columns;
    Closest closest;
  };

  Index length(Index tile) const;
  void add_to(Eigen::Ref<Matrix> sums, Index from, Index tile, const Floats& values) const;
  void products(const Block& of_rows, Index a, const Block& of_columns, Index b, Work& work) const;

  Index n_, d_;
  PowerGrid grid_;
  PairMeasure measure_;
  std::vector<Work> works_;
};

}  // namespace zeroloss::internal
