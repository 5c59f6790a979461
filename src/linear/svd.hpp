#pragma once
#include "zeroloss/base/matrix.hpp"

namespace zeroloss::internal {

/// A = U diag(s) V^T, s descending; U and V^T square, or empty if only the values are asked for. LAPACK's
/// dgesvd: Eigen 3.4's divide-and-conquer loses digits where singular values coincide, as those of every
/// reflection do. A is finite.
struct Svd {
  Matrix U;
  Vector s;
  Matrix Vt;
};
Svd singular_values(Matrix A);
Svd singular_vectors(Matrix A);

}  // namespace zeroloss::internal
