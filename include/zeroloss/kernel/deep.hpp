#pragma once
#include "zeroloss/base/matrix.hpp"
#include "zeroloss/kernel/gram.hpp"

/// Kernels of networks with many layers, all of them infinitely wide and drawn without biases (theory 15;
/// Jacot, Gabriel, Hongler 2018; Lee et al. 2018). With H = h~/h~(1) and q = h/h~(1), phi scaled so that
/// E[phi(g)^2] = 1, from rho_0 = rho, P_0 = 0 (residual: P_0 = rho, an embedding layer that is trained):
///
///     plain     rho_l = H(rho_(l-1)),   P_l = q(rho_(l-1)) (P_(l-1) + rho_(l-1))
///     residual  rho_l = (rho_(l-1) + a^2 H)/(1 + a^2),
///               P_l = (P_(l-1) + a^2 (q (P_(l-1) + rho_(l-1)) + H))/(1 + a^2)
namespace zeroloss {

struct Depth {
  Index layers = 1;       ///< hidden layers, or residual blocks: 1 .. 1000
  bool residual = false;  ///< h + a U phi(W h) divided by sqrt(1 + a^2), in place of phi(W h)
  double scale = 1;       ///< a, of the residual branches: > 0, finite

  bool deep() const { return residual || layers != 1; }  ///< not the network of one hidden layer
};

/// rho_L: the last hidden layer's inner product at infinite width, which alone is trained (NNGP).
/// k(1) = 1. Both kernels are tabulated: an entry costs one polynomial of degree 10 whatever the depth, and
/// their proven errors are part of Gram::entry_error. Not verified for a user's activation. Throws
/// std::invalid_argument for a depth out of range, and what dual_activation throws. Cost: some 3,500
/// evaluations of the recursion.
Kernel deep_features(const Activation& activation, const Depth& depth);

/// rho_L + P_L: J J^T where the weights of all layers are trained (NTK). One plain layer: (Sigma + Sigma~)
/// over h~(1), and not Sigma, of which the hidden layer alone is trained.
Kernel deep_tangent(const Activation& activation, const Depth& depth);

/// What certify and the estimators take: Sigma of one plain layer, deep_tangent otherwise.
Kernel tangent(const Activation& activation, const Depth& depth);

}  // namespace zeroloss
