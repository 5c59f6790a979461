#pragma once
#include <string>

#include "proof/certified_points.hpp"
#include "proof/evaluate.hpp"

namespace zeroloss::internal {

/// An exact zero-loss relu network beside W, with some pre-activations held at zero.
struct Existence {
  bool holds = false;
  double radius = 0;        ///< it lies within this of W; rounded up
  double margin = 0;        ///< > 1 if it holds; rounded down
  Index kinks = 0;          ///< pre-activations held at zero
  double kink_bound = 0;    ///< the largest |z_ij| among them at W
  TwoLayer polished = {};   ///< if it holds: weights whose misfit is at rounding level
  std::string reason = {};  ///< why not
};

/// Let P be any weights and let each entry (i, j) with v_j != 0 be on, off or a kink. A stacks the n rows of
/// the Jacobian of the outputs F that the entries `on` give, and a row "x_i on neuron j" for each kink. With
/// rho = ||(F(P) - y; z_ij of the kinks at P)||/s_min(A): if every <x_i, p_j> is at least ||x_i|| rho where
/// `on` and at most -||x_i|| rho where `off`, an exact solution lies within rho of P, because the least move
/// that solves A's equations keeps every sign. margin = least |<x_i, p_j>|/(||x_i|| rho).
///
/// P solves A's equations from W. At first entries are as the signs of z say, exact zeros are kinks; then
/// those whose sign does not survive (within rho) become kinks too, until all do or there are too many: over
/// 2 n (1,000 if that is more), over d of one neuron, or n + kinks > m d. z: the pre-activations of `network`
/// (relu) at X. Cost: n^2 m/2 multiply-adds and a Cholesky factorisation of side n + kinks a round (seen: 1
/// to 4 rounds), two more for the proof; memory 16 (n + kinks)^2 + 16 n^2 + 40 n m bytes.
Existence relu_existence(const TwoLayer& network, const CertifiedPoints& points, const Vector& y,
                         const verified::PreActivations& z, Progress& progress);

}  // namespace zeroloss::internal
