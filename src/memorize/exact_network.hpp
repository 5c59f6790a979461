#pragma once
#include <vector>

#include "memorize/balls.hpp"

/// How far a network for real-valued targets is from one that gives exactly these (theory 11, "Proof").
namespace zeroloss::internal {

class ExactNetwork {
 public:
  /// Y are n x r targets, points[a] is the row of X whose image is neuron a of the blocks, and neurons[i] the
  /// neuron of the image of row i. All but the last are to outlive it. Takes 24 n k bytes.
  ExactNetwork(const Memorizer& network, const RowMatrix& X, const Matrix& Y,
               const std::vector<Index>& points, std::vector<Index> neurons);

  /// What each_ball() says, of every point once, from several threads.
  void take(const OutputBalls& balls);

  /// Once all are taken: the Frobenius norm of what is to be added to V, rounded up; infinite where it is not
  /// proved that there is such a network.
  double distance() const;

 private:
  double block_distance(Index first, Index size) const;  ///< squared

  const Memorizer& network_;
  const Matrix& Y_;
  const std::vector<Index>& points_;
  std::vector<Index> neurons_;
  double scale_;                              ///< a power of two: the code of y is scale (y, 0), exactly
  std::vector<char> moved_;                   ///< of every point: by its own block, and by no other one
  bool one_image_ = false;                    ///< of points that differ, in the network's precision
  RowMatrix activations_, errors_, missing_;  ///< of every neuron's point: in its block; |code - state|
};

}  // namespace zeroloss::internal
