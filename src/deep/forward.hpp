#pragma once
#include <vector>

#include "zeroloss/deep/network.hpp"

/// A network on given points, in double: what predictions and training see. Bits do not depend on threads.
namespace zeroloss::internal {

/// One layer on n points; a residual layer with U has a too.
struct LayerValues {
  Matrix z;  ///< n x m: W h + b
  Matrix a;  ///< n x m: phi(z)
  Matrix h;  ///< n x p: what the next layer sees
};

struct ForwardPass {
  Matrix h0;                        ///< n x d
  std::vector<LayerValues> layers;  ///< L
  Matrix f;                         ///< n x K

  /// What layer l, 0-based, sees; of L: what V sees.
  const Matrix& input(std::size_t l) const { return l == 0 ? h0 : layers[l - 1].h; }
};

/// Throws std::invalid_argument for a network whose sizes do not agree, DataError for points that do not fit
/// it or are not finite.
void check_points(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X);

/// A B^T + 1 b^T of A n x m and B p x m; b has p numbers, or none.
Matrix affine(const Matrix& A, const RowMatrix& B, const Vector& b);

/// h_0, n x the first layer's inputs. Rows without a length become NaN where they are divided by it.
Matrix inputs(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X);

/// Cost: n times the weights, in multiply-adds.
ForwardPass forward(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X);

}  // namespace zeroloss::internal
