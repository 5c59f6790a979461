#pragma once
#include "zeroloss/kernel/gram.hpp"

namespace zeroloss::internal {

constexpr double as_double(Index k) { return static_cast<double>(k); }

/// K V with K formed anew, tile by tile, and what such a pass sees. No bit depends on the number of threads.
struct TilePass {
  Matrix product;          ///< n x c
  double entry_error = 0;  ///< as Gram::entry_error
  double norm = 0;         ///< ||K||_F as computed, rounded up
};

/// For the rows of X, n x d, of unit length, and V, n x c. Each entry of the product is a sum of n products
/// in a tree whose branches have at most tile_pass_additions(n) nodes. n^2 (d/2 + 25 + c) multiply-adds; 16 n
/// c doubles and 2 MB a thread. Throws ResourceError, Interrupted.
TilePass tile_pass(const RowMatrix& X, const Kernel& kernel, const Matrix& V, Progress& progress);

/// Roundings on the way of a product through the sums of tile_pass, that of the product among them.
double tile_pass_additions(Index n);

/// Memory of a pass, bytes.
double tile_pass_bytes(Index n, Index c);

}  // namespace zeroloss::internal
