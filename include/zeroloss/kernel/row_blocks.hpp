#pragma once
#include <functional>
#include <vector>

#include "zeroloss/base/matrix.hpp"

namespace zeroloss {

/// Rows of unit length, a block at a time: those of a matrix in memory, which is one block and must outlive
/// this, or rows that are read as they are wanted.
class RowBlocks {
 public:
  static constexpr Index kWhole = 512;  ///< where there are several blocks, rows come in multiples of this
  /// These rows, in this order.
  using Read = std::function<RowMatrix(const std::vector<Index>& rows)>;

  explicit RowBlocks(const RowMatrix& X);
  /// n rows of d numbers, all >= 1, of which so many are in memory at a time: a multiple of kWhole, else
  /// std::invalid_argument; 0: as many as 32 MB hold.
  RowBlocks(Index n, Index d, Read read, Index rows = 0);

  /// Rows begin .. begin + X().rows() - 1.
  class Block {
   public:
    const RowMatrix& X() const { return whole_ != nullptr ? *whole_ : own_; }

    Index begin = 0;

   private:
    friend class RowBlocks;
    RowMatrix own_;
    const RowMatrix* whole_ = nullptr;
  };

  Index n() const { return n_; }
  Index d() const { return d_; }
  Index rows_of_a_block() const { return rows_; }  ///< of all but the last
  Index count() const { return (n_ + rows_ - 1) / rows_; }
  Block load(Index k) const;
  RowMatrix rows(const std::vector<Index>& wanted) const;

 private:
  Index n_, d_, rows_;
  Read read_;
  const RowMatrix* whole_ = nullptr;
};

}  // namespace zeroloss
