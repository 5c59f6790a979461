#pragma once
#include "zeroloss/deep/certificate.hpp"

/// Gauss-Newton in Gram space: from given weights to ones at which a proof holds (theory 16).
namespace zeroloss {

struct PolishOptions {
  Index max_factorizations = 60;  ///< Cholesky factorisations of side N = n K, >= 1
  double tolerance =
      1e-12;  ///< done once ||F|| is at most this times the length of the targets, or falls no more
};

struct PolishedNetwork {
  DeepNetwork network;
  double misfit = 0;    ///< ||F|| as computed
  double distance = 0;  ///< from the network given; rounded up
  Index steps = 0;      ///< taken
  Index factorizations = 0;
};

/// Damped Gauss-Newton steps (J J^T + mu I) q = F, theta - J^T q, mu by how much of the predicted fall is had
/// (Levenberg-Marquardt), and chord steps with an old factor while each still halves ||F||. Cost of a step: n
/// K times the weights; of a factorisation N^3/3. Memory 8 N^2 bytes and some 20 N times the units. Bits do
/// not depend on threads. Throws as certify_network does.
PolishedNetwork polish(const DeepNetwork& network, const DeepEquations& equations,
                       const PolishOptions& options, Progress& progress);

}  // namespace zeroloss
