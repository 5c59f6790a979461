#pragma once
#include <functional>
#include <vector>

#include "deep/forward.hpp"
#include "zeroloss/kernel/packed.hpp"

/// The Jacobian J of the outputs in the weights of the layers that move, through its factors: row (i, k),
/// number i K + k, has the blocks g_l h_{l-1}^T of W_l, g_l of b_l, s u_l a_l^T of U_l and s u_l of bU_l
/// (theory 16).
namespace zeroloss::internal {

/// Which layers move: L hidden ones, then the output layer.
using Moving = std::vector<bool>;

/// The first of them; L + 1 if none.
std::size_t first_moving(const Moving& moving);

/// Derivatives of every output of every point, N = n K rows, in the layers that move; of others empty.
struct BackwardPass {
  std::vector<Matrix> g;  ///< N x m: in z_l
  std::vector<Matrix> u;  ///< N x p: in h_l, of layers with U or bU; else empty
};

/// What visit() sees of layer l: derivatives in h_l (u), in phi(z_l) but for s (q) and in z_l (g).
using BackwardVisit = std::function<void(std::size_t l, const Matrix& u, const Matrix& q, const Matrix& g)>;

/// Row (i, k) is multiplied by weights(i), of n. Cost: N times the weights behind the first layer that moves;
/// with visit(), which sees every layer, all weights.
BackwardPass backward(const DeepNetwork& network, const ForwardPass& pass, const Moving& moving,
                      const Vector& weights, const BackwardVisit& visit = {});

/// K (lower, N x N) = J J^T without J: sums of products of Gram matrices. Cost: N^2/2 times the units, n^2/2
/// times what they see. Bits do not depend on threads.
void tangent_gram(const DeepNetwork& network, const ForwardPass& pass, const BackwardPass& back,
                  const Moving& moving, const Vector& weights, Matrix& K);

/// The same packed: the lower triangle alone, with the same bits.
void tangent_gram(const DeepNetwork& network, const ForwardPass& pass, const BackwardPass& back,
                  const Moving& moving, const Vector& weights, Packed<double>& K);

/// The rows of J J^T of points first to first + count - 1, count K x N, with the bits that the triangle and
/// its mirror image have. Cost: count K N times the units, of whole tiles.
void tangent_rows(const DeepNetwork& network, const ForwardPass& pass, const BackwardPass& back,
                  const Moving& moving, const Vector& weights, Index first, Index count, RowMatrix& rows);

/// Points in a tile of these: rows in multiples of it cost nothing that is thrown away.
Index points_of_tile(Index outputs);

/// Its diagonal, from N times the units alone; rounded as sums of as many terms are.
Vector tangent_diagonal(const DeepNetwork& network, const ForwardPass& pass, const BackwardPass& back,
                        const Moving& moving, const Vector& weights);

/// J^T q, q of N numbers, in the place of the weights that move; others are 0.
DeepNetwork pulled_back(const DeepNetwork& network, const ForwardPass& pass, const BackwardPass& back,
                        const Moving& moving, const Vector& weights, const Vector& q);

/// J w, N numbers, w as pulled_back() has it. Cost: n times the weights, N times the units.
Vector pushed_forward(const DeepNetwork& network, const ForwardPass& pass, const BackwardPass& back,
                      const Moving& moving, const Vector& weights, const DeepNetwork& w);

/// theta - J^T q.
DeepNetwork moved(const DeepNetwork& network, const ForwardPass& pass, const BackwardPass& back,
                  const Moving& moving, const Vector& weights, const Vector& q);

/// ||theta - theta'||, rounded up, of networks of the same layers.
double distance(const DeepNetwork& a, const DeepNetwork& b);

}  // namespace zeroloss::internal
