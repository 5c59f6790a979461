#pragma once
#include "zeroloss/base/matrix.hpp"

namespace zeroloss::internal {

/// D[i stride + j] = sum_k |A_ik - B_jk| for the rows of A (n x d) and B (m x d), vectorised for the
/// processor at hand. The order of the sum depends on d and the processor's vectors alone, so D(A, B) = D(B,
/// A)^T.
void city_block(const double* A, Index n, const double* B, Index m, Index d, double* D, Index stride);

}  // namespace zeroloss::internal
