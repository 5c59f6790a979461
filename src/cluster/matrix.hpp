#pragma once
#include <memory>

#include "cluster/block_cyclic.hpp"
#include "zeroloss/kernel/kernel_matrix.hpp"

namespace zeroloss::internal {

constexpr const char* kMatrixService = "kernel matrix";

/// Of process 0. X must outlive it.
std::unique_ptr<KernelMatrix> cluster_matrix(const Group& group, const RowMatrix& X, Index block);

/// Of the others, until process 0 has done with its matrix.
void serve_matrix(const Group& group);

}  // namespace zeroloss::internal
