#pragma once
#include "deep/jacobian.hpp"
#include "zeroloss/deep/certificate.hpp"

/// Damped Gauss-Newton steps in the space of outputs (Levenberg-Marquardt) and chord steps with an old
/// factor, while these still halve the misfit.
namespace zeroloss::internal {

class LevenbergMarquardt {
 public:
  /// `equations` have to outlive it and were passed by check_equations(). Throws ResourceError if memory does
  /// not suffice.
  LevenbergMarquardt(const DeepNetwork& network, const DeepEquations& equations);

  /// Goes on until a step lowers the misfit; false if none does any more, or if it would take more than
  /// `most` factorisations in all. Interrupted may leave only before anything has moved.
  bool step(Index most, Progress& progress);

  const DeepNetwork& network() const { return at_.network; }
  const ForwardPass& pass() const { return at_.pass; }
  double misfit() const { return at_.misfit; }
  double size() const { return size_; }  ///< ||targets||, at least 1e-300
  Index factorizations() const { return factorizations_; }

  /// What it goes on with, besides the network: how it is damped, and the weights that its factor is of, if
  /// that still serves; a factor is computed again.
  struct Damping {
    double damping = 1e-4, worse = 4;  // of the mean of the diagonal
    double mu = 0;                     // of the factor
    Index factorizations = 0;
  };
  Damping damping() const { return {damping_, worse_, mu_, factorizations_}; }
  const DeepNetwork* factored() const { return usable_ ? &factored_ : nullptr; }
  void restore(DeepNetwork network, const Damping& damping, const DeepNetwork* factored, Progress& progress);

 private:
  // A network with what is known of it at the points.
  struct At {
    DeepNetwork network;
    ForwardPass pass;
    Vector residual;
    double misfit = 0;
  };
  At at(DeepNetwork network) const;
  At moved_by(const Vector& q) const;
  bool factor(Progress& progress);
  bool across_kinks(Index most, Progress& progress);

  const DeepEquations& equations_;
  Moving moving_;
  Vector weights_;
  double size_;
  At at_;
  BackwardPass back_;  // of at_, once it is needed
  Matrix L_;           // of J J^T + mu I, of earlier weights
  DeepNetwork factored_;
  bool usable_ = false;  // and still serves
  double damping_ = 1e-4, worse_ = 4, mu_ = 0;
  Index factorizations_ = 0;
};

}  // namespace zeroloss::internal
