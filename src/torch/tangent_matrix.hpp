#pragma once
#include <memory>

#include "torch/panels.hpp"
#include "zeroloss/network/tangent_steps.hpp"

namespace zeroloss::internal {

/// K = (S S^T) o (X X^T), S n x m and X n x d on the device of K. `relied_on`: by a proof, so that products
/// are probed. Throws BackendError.
void form_tangent(TorchPanels& K, const torch::Tensor& S, const torch::Tensor& X, bool relied_on);

/// What form_tangent() takes beside K, bytes.
double form_tangent_bytes(Index n, Index width);

/// K and the factor of a shifted one on a device, proved by the factor's residual. Throws ResourceError where
/// tangent_matrix_bytes() are not free, BackendError.
double tangent_matrix_bytes(Index n, Index d, Index m, Index width);
std::unique_ptr<TangentMatrix> torch_tangent_matrix(const Matrix& S, const RowMatrix& X,
                                                    const torch::Device& device);

}  // namespace zeroloss::internal
