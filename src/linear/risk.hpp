#pragma once
#include <vector>

#include "zeroloss/linear/linear_resnet.hpp"

namespace zeroloss::internal {

struct Risk {
  double excess = 0;         ///< ||E Sigma^(1/2)||_F^2
  double gradient_norm = 0;  ///< ||grad f||_F
};

/// What landscape() says that costs no norms of layers; G becomes the gradient. 3 l products.
Risk risk_and_gradient(const LinearProblem& problem, const LinearResnet& network, std::vector<Matrix>& G);

/// 2 sqrt(l) (1 - tau)^(l-1) sqrt(s_min(Sigma) excess); 0 for tau >= 1.
double gradient_bound(const LinearProblem& problem, Index layers, double tau, double excess);

}  // namespace zeroloss::internal
