#pragma once
#include <memory>
#include <string>
#include <vector>

#include "zeroloss/kernel/dual.hpp"
#include "zeroloss/kernel/packed.hpp"
#include "zeroloss/kernel/separation.hpp"

/// Gram kernels of n unit vectors: K_ij = k(<x_i, x_j>), only the lower half, in n(n+1)/2 numbers.
namespace zeroloss {

namespace internal {
class DeepKernel;
}

/// |k'(rho)| <= most + share/(2 pi sqrt(1 - rho^2)).
struct Edge {
  double most = 0, share = 0;
};

/// A kernel on the sphere: k(rho) = f_hat(rho), or rho f_hat(rho) where `times_rho`, or that of many layers.
struct Kernel {
  std::string name;
  Dual dual = {};
  bool times_rho = false;
  std::shared_ptr<const internal::DeepKernel> deep = {};  ///< of deep.hpp, in place of `dual`; else null

  double operator()(double rho) const;
  double at_angle(double theta) const;
  double slope() const;   ///< sup |k'| over [-1, 1]; infinite where share of edge() is not 0
  Edge edge() const;      ///< of a kernel whose slope is infinite
  double error() const;   ///< bound (estimate unless verified) of |computed - exact|, as Dual::error
  bool verified() const;  ///< error() is proven
  /// Near pairs are computed from their angle: where k' has no bound, and where k is tabulated.
  bool by_angle() const;
};

Kernel sigma(const Activation& activation);           ///< Sigma = rho h(rho): J J^T at infinite width
Kernel sigma_features(const Activation& activation);  ///< Sigma~ = h~(rho): phi phi^T at infinite width
Kernel power(int r);                                  ///< G^{odot r}, r >= 1

template <class T>
struct Gram {
  Packed<T> K;
  /// Proven bound of ||K - exact||_F for the exactly normalised rows (theory 3); infinite for float.
  double entry_error = 0;
  /// The 16 closest pairs up to sign, nearest first.
  std::vector<Pair> closest = {};
  /// Pairs with 1 - |rho| <= 1e-6 (distance <= 1.42e-3), measured on the vectors themselves.
  Index near_pairs = 0;
  /// Proven lower bound of delta, the least distance up to sign; infinite for one row, 0 for float.
  double separation = 0;
};

/// K for the rows of X, n x d, unit length to the accuracy of normalize_rows. Tiles of fixed size, one thread
/// a tile: dgemm into K, then the entries in place, so the result does not depend on the number of threads.
/// Error of an entry: (gamma_d + 2.01 unit_row_error(d)) sup |k'| + that of the dual activation; close pairs
/// of relu, where k' is unbounded, and of kernels of many layers are computed from theta = 2 atan2(||x - y||,
/// ||x + y||). Cost n^2 d / 2
/// multiply-adds. Throws ResourceError if K does not fit, Interrupted when cancelled.
template <class T>
Gram<T> gram(const Rows<T>& X, const Kernel& kernel, Progress& progress);

extern template Gram<double> gram(const Rows<double>&, const Kernel&, Progress&);
extern template Gram<float> gram(const Rows<float>&, const Kernel&, Progress&);

/// The same into memory that is there already (n x n packed), to hold one kernel at a time.
template <class T>
void gram_into(Gram<T>& result, const Rows<T>& X, const Kernel& kernel, Progress& progress);

/// k(<x_i, z_j>) for other points: rows of X (n x d) against rows of Z (m x d), n x m, all of unit length as
/// above. Tiles as in gram, the same accuracy of an entry, and no entry depends on the number of threads.
/// Throws std::invalid_argument if the numbers of features differ or a value is not finite, ResourceError,
/// Interrupted.
RowMatrix cross_gram(const RowMatrix& X, const RowMatrix& Z, const Kernel& kernel, Progress& progress);

}  // namespace zeroloss
