#pragma once
#include <torch/types.h>

#include <set>

#include "kernel/pair_measure.hpp"
#include "kernel/tail_passes.hpp"

namespace zeroloss::internal {

/// Pairs of blocks of rows on a device: products in float32, and their powers, summed over stretches of kTile
/// in float32 and beyond these in float64. X must outlive it. Throws BackendError where float32 is TF32.
class TorchTail final : public TailPasses {
 public:
  TorchTail(const RowBlocks& X, const PowerGrid& grid, const torch::Device& device);

  PowerSums run(const Floats& weights, Progress& progress) override;
  double error() const override { return static_cast<double>(measure_.error()); }

  /// Of the device, for blocks of so many rows.
  static double bytes(const torch::Device& device, Index n, Index d, Index rows, Index sums);

 private:
  /// Rows from `begin` on, and as floats on the device, with rows of 0 up to a multiple of kTile.
  struct Block {
    const RowMatrix& X;
    Index begin;
    torch::Tensor F;
    torch::Tensor sums;  ///< grid.size() x rows of F, float64

    Index tiles() const { return F.size(0) / kTile; }
  };

  /// Before so many tiles are summed at once: each number once.
  void probe(Index tiles);
  Block block(const RowBlocks::Block& loaded) const;
  void add(Block& rows, Block& columns, Progress& progress);
  void add_tile(Block& rows, Index a, Index count, Block& columns, Index b);
  double refine(torch::Tensor& rho, const Block& rows, Index a, const Block& columns, Index b);

  const RowBlocks& X_;
  PowerGrid grid_;
  torch::Device device_;
  PairMeasure measure_;
  Index most_;  // tiles at once
  std::set<Index> probed_;
  torch::Tensor weights_;
  Closest closest_;
};

}  // namespace zeroloss::internal
