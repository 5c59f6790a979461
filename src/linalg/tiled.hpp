#pragma once
#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/progress.hpp"

/// Dense linear algebra whose bits do not depend on the number of threads: tiles of fixed size, each computed
/// by one thread with BLAS on one thread. Lower triangles; the part above the diagonal is neither read nor
/// meaningful afterwards.
namespace zeroloss::internal::tiled {

/// C (lower) = A A^T, A n x k column-major. C is resized unless it has n rows and as many columns or more,
/// of which those behind are left alone.
void product_with_transpose(const Matrix& A, Matrix& C);

/// C (lower) times A A^T, entry by entry: (S S^T) o (A A^T) without a second matrix of its size.
void multiply_by_product_with_transpose(const Matrix& A, Matrix& C);

/// Replaces A (lower) by its Cholesky factor; false, with A destroyed, if a pivot is not positive and finite.
/// Cancellable between columns of tiles. Columns of A beyond its rows are left alone.
bool factor(Matrix& A, Progress& progress);
bool factor(Eigen::MatrixXf& A, Progress& progress);

/// B <- L^-1 B, L^-T B, and (L L^T)^-1 B.
void solve_forward(const Matrix& L, Eigen::Ref<Matrix> B);
void solve_backward(const Matrix& L, Eigen::Ref<Matrix> B);
void solve(const Matrix& L, Eigen::Ref<Matrix> B);

/// A V for symmetric A (lower triangle given), V n x b.
Matrix product(const Matrix& A, const Matrix& V);

}  // namespace zeroloss::internal::tiled
