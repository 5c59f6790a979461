#pragma once
#include <vector>

#include "deep/evaluate.hpp"

/// How fast what the layers make of a point changes with the weights, at the weights that were evaluated:
/// norms of the derivatives themselves, where products of norms grow by a factor a layer (theory 16).
namespace zeroloss::internal::verified {

/// Of one point, rounded up; infinite where the sign of a z_j at a kink is not certain.
struct Sensitivity {
  Vector z, h;  ///< L: ||dz_l/dtheta||, ||dh_l/dtheta||, theta all weights that move
};

/// Of all points, each computed once it is needed. Bits do not depend on threads.
class Sensitivities {
 public:
  /// All three have to outlive it; it sees the forward pass of `e` and its sizes.
  Sensitivities(const DeepNetwork& network, const DeepEvaluation& e, const Moving& moving);

  double work() const;  ///< multiply-adds a point: two or four products of matrices a layer
  void compute(Index points, Progress& progress);  ///< of the first so many
  const Sensitivity& of(Index i) const { return known_[static_cast<std::size_t>(i)]; }

 private:
  Sensitivity at(Index i) const;

  const DeepNetwork& network_;
  const DeepEvaluation& e_;
  const Moving& moving_;
  std::vector<Activation> activations_;
  std::vector<double> W_, U_;  // Frobenius norms, rounded up
  std::vector<Sensitivity> known_;
};

}  // namespace zeroloss::internal::verified
