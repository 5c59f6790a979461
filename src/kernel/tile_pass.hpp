#pragma once
#include <memory>
#include <vector>

#include "zeroloss/kernel/conjugate_gradients.hpp"
#include "zeroloss/kernel/gram.hpp"

namespace zeroloss::internal {

/// K V with K formed anew, tile by tile, and what such a pass sees.
struct TilePass {
  Matrix product;          ///< n x c
  double entry_error = 0;  ///< as Gram::entry_error
  double norm = 0;         ///< ||K||_F as computed, rounded up
};

/// Roundings on the way of a product through the sums of a pass, that of the product among them.
double tile_pass_additions(Index n);

/// Memory of a pass, bytes.
double tile_pass_bytes(Index n, Index c);

/// Tiles fall into so many groups, each with a sum of its own, which are added in order: no bit of a pass
/// depends on the number of threads, or on which process has which group.
constexpr Index kGroupsOfTiles = 16;

/// What a group of tiles adds to a pass.
struct GroupSum {
  Matrix product;           ///< n x c
  double near_pairs = 0;    ///< as Gram::near_pairs
  double singular_sum = 0;  ///< of 1/(1 - rho^2), where the kernel's error needs it
  double squares = 0;       ///< of the entries
};

/// Those of some groups, in their order. X: n x d, rows of unit length; V: n x c. Each entry of a product is
/// a sum in a tree whose branches have at most tile_pass_additions(n) nodes. n^2 (d/2 + 25 + c) multiply-adds
/// for all groups; n c doubles a group and 2 MB a thread. Throws ResourceError, Interrupted.
std::vector<GroupSum> group_sums(const RowMatrix& X, const Kernel& kernel, const Matrix& V,
                                 const std::vector<Index>& groups, Progress& progress);

/// Of all groups in order.
TilePass pass_of(std::vector<GroupSum> all, const Kernel& kernel, Index d);

/// Tiles of some groups, kept as numbers of type T, float or double: of all groups n^2/2 of them.
template <class T>
class KeptTiles {
 public:
  KeptTiles(const RowMatrix& X, const Kernel& kernel, const std::vector<Index>& groups, Progress& progress);

  /// The sum of their products with V, n x c.
  Matrix product(const Matrix& V) const;

 private:
  struct Tile {
    Index i, j;
    std::vector<T> entries;  // of rows i.. and columns j.., column by column
  };
  Index n_;
  std::vector<std::vector<Tile>> groups_;
};

/// Products with the kernel of some points, wherever its tiles are.
class KernelTiles {
 public:
  KernelTiles() = default;
  virtual ~KernelTiles() = default;
  KernelTiles(const KernelTiles&) = delete;
  KernelTiles& operator=(const KernelTiles&) = delete;

  /// K V with every error counted.
  virtual TilePass pass(const Matrix& V, Progress& progress) = 0;
  /// Where product() has the kernel from, from now on: float64, float32 or tiles.
  virtual void keep(KernelStorage storage, Progress& progress) = 0;
  virtual Matrix product(const Matrix& V, Progress& progress) = 0;
  /// Memory of this process that keep() takes.
  virtual double bytes(KernelStorage storage) const = 0;
};

/// In this process. X and the kernel must outlive it.
std::unique_ptr<KernelTiles> kernel_tiles(const RowMatrix& X, const Kernel& kernel);

}  // namespace zeroloss::internal
