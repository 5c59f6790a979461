#pragma once
#include <hwy/aligned_allocator.h>

#include <cmath>
#include <limits>

#include "train/engine/passes.hpp"
#include "zeroloss/network/network.hpp"

/// Gradient descent on one output of a small network, all of it in a core's caches: one thread, points in the
/// lanes of vectors, nothing but registers between Z and phi(Z). Every step is taken in weight space.
namespace zeroloss::internal {

/// Up to these sizes fit and sweep train with SmallTrainer.
constexpr Index kSmallPoints = 1000, kSmallSide = 200;
inline bool is_small(Index n, Index d, Index width) {
  return n <= kSmallPoints && d <= kSmallSide && width <= kSmallSide;
}

namespace small {

constexpr Index kMostVectors = 4;  ///< vectors of points in a part of the pass forward
constexpr Index kSlack = 5;        ///< vectors behind Z and phi(Z) that may be overwritten

/// A network in training as its steps see it, in vectors of `lanes` points: ceil(n/lanes) of them, the last
/// filled up with zeros. Weights are stored in blocks, see below.
template <class T>
struct Network {
  Index n = 0, d = 0, m = 0;
  T* X = nullptr;       ///< for each vector of points d vectors, one an input
  T* y = nullptr;       ///< a vector for each vector of points
  T* inside = nullptr;  ///< the same; all bits set for a point, none where there is none
  T* W = nullptr;       ///< rows of blocks
  T* pull = nullptr;    ///< for each row of blocks, -step v_j in the lanes of neuron j
  T* v = nullptr;       ///< m
  T* Z = nullptr;       ///< for each vector of points m vectors, one a neuron; phi'(Z) after a pass forward
  T* values = nullptr;  ///< phi(Z) of a few vectors of points
  T* scaled = nullptr;  ///< diag(r) phi'(Z) of the neurons of one row of blocks
  T* r = nullptr;       ///< f - y, a vector for each vector of points
};

/// A block holds the weights from `inputs` inputs to `neurons` neurons, as many as a vector of the processor
/// in use has lanes; the weight from input i to neuron a of the block in lane a inputs + i.
struct Blocks {
  Index neurons, inputs;
  Index lanes() const { return neurons * inputs; }
};
template <class T>
Blocks blocks();

/// Z, r and phi'(Z) from W; returns ||r||^2, summed in double.
template <class T>
double forward(Phi phi, const Network<T>& network);

/// `most` steps W <- W - step J^T r, each followed by forward(); ends early once ||r||^2 is not in (low,
/// high). Returns the steps taken; `squares` is ||r||^2 before and after.
template <class T>
Index descend(Phi phi, const Network<T>& network, Index most, double low, double high, double& squares);

}  // namespace small

/// Flops of a step: 4 n d m, and n m of phi with phi'. For one machine its results depend on nothing but the
/// arguments; across processors they agree to rounding, since sums over points are taken in lanes.
template <class T>
class SmallTrainer {
 public:
  /// v, X, y and step are rounded to T. n, d, m >= 1.
  SmallTrainer(const RowMatrix& X, const Vector& y, const TwoLayer& start, const Activation& activation,
               double step);

  double residual_norm() const { return std::sqrt(squares_); }  ///< ||r||; not finite once diverged

  /// At least one and at most `most` steps; stops once ||r|| <= low or not < high. Returns how many.
  Index descend(Index most, double low = 0, double high = std::numeric_limits<double>::infinity());

  RowMatrix weights() const;       ///< m x d
  void place(const RowMatrix& W);  ///< other weights, rounded to T; then r anew
  Vector residual() const;         ///< f - y at the weights as they are

 private:
  Index place_of(Index j, Index i) const;  // of W(j, i) in W

  Phi phi_;
  small::Blocks blocks_;
  hwy::AlignedFreeUniquePtr<T[]> memory_;
  small::Network<T> network_;
  double squares_ = 0;
};

extern template class SmallTrainer<double>;
extern template class SmallTrainer<float>;

}  // namespace zeroloss::internal
