#pragma once
#include "deep/evaluate.hpp"

/// What float32 makes of a network of layers (theory 16).
namespace zeroloss::internal::verified {

/// n x K: how far outputs that a runtime computes in float32 can be from the exact ones at the points as
/// doubles, rounded up. It rounds the points and may add products in any order, fuse them or not, fold
/// factors into matrices, multiply by them before a linear map or behind it, and flush subnormal numbers to
/// zero; its smooth activations are taken to be within 16 2^-24 (1 + |phi| + |z|) of phi(z). Infinite where a
/// number may leave the range of float32.
Matrix single_errors(const DeepNetwork& network, const std::vector<LayerNorms>& norms,
                     const Eigen::Ref<const RowMatrix>& X, const DeepEvaluation& e);

}  // namespace zeroloss::internal::verified
