#pragma once
#include "zeroloss/kernel/gram.hpp"

namespace zeroloss::internal {

/// k(<x_i, z_j>) for rows of X, n x d, and of Z, m x d, all of unit length: row i at K + i stride. With BLAS
/// on one thread. Pairs whose angle an inner product does not tell are measured on the vectors.
void cross_entries(const double* X, Index n, const double* Z, Index m, Index d, const Kernel& kernel,
                   double* K, Index stride);

}  // namespace zeroloss::internal
