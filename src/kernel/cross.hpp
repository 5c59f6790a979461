#pragma once
#include "zeroloss/kernel/gram.hpp"

namespace zeroloss::internal {

/// Sums for each row of X that what is seen is added to, n numbers each; null where nobody asks. For kernels
/// whose slope is infinite.
struct CrossSeen {
  double* singular = nullptr;  ///< of 1/(1 - rho^2), as Tally::singular_sum
  double* near = nullptr;      ///< pairs whose angle was measured on the vectors
};

/// k(<x_i, z_j>) for rows of X, n x d, and of Z, m x d, all of unit length: row i at K + i stride. With BLAS
/// on one thread. Pairs whose angle an inner product does not tell are measured on the vectors.
void cross_entries(const double* X, Index n, const double* Z, Index m, Index d, const Kernel& kernel,
                   double* K, Index stride, const CrossSeen& seen = {});

}  // namespace zeroloss::internal
