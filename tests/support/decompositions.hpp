#pragma once
#include "zeroloss/base/matrix.hpp"

/// Eigen's decompositions, which tests measure ours against: each takes seconds to compile, so they are
/// compiled once.
namespace zeroloss::test {

using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

/// Of a symmetric matrix, ascending.
Vector symmetric_eigenvalues(const Matrix& A);

/// By Jacobi's rotations, descending.
Vector jacobi_singular_values(const Matrix& A);
LongVector jacobi_singular_values(const LongMatrix& A);

/// The largest singular value.
double norm2(const Matrix& A);

/// Of the X with least ||A X - B||_F the shortest, by singular values; those below `tolerance` times the
/// largest count as 0.
Matrix least_squares_by_svd(const Matrix& A, const Matrix& B, double tolerance);

/// A^-1 B of a symmetric A, by L D L^T.
Matrix solve_by_ldlt(const Matrix& A, const Matrix& B);

/// By L U.
double determinant(const Matrix& A);

}  // namespace zeroloss::test
