#include "support/decompositions.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/SVD>

namespace zeroloss::test {

Vector symmetric_eigenvalues(const Matrix& A) {
  return Eigen::SelfAdjointEigenSolver<Matrix>(A, Eigen::EigenvaluesOnly).eigenvalues();
}

Vector jacobi_singular_values(const Matrix& A) { return Eigen::JacobiSVD<Matrix>(A).singularValues(); }

LongVector jacobi_singular_values(const LongMatrix& A) {
  return Eigen::JacobiSVD<LongMatrix>(A).singularValues();
}

double norm2(const Matrix& A) { return jacobi_singular_values(A)(0); }

Matrix least_squares_by_svd(const Matrix& A, const Matrix& B, double tolerance) {
  Eigen::BDCSVD<Matrix> svd(A, Eigen::ComputeThinU | Eigen::ComputeThinV);
  svd.setThreshold(tolerance);
  return svd.solve(B);
}

Matrix solve_by_ldlt(const Matrix& A, const Matrix& B) { return A.ldlt().solve(B); }

double determinant(const Matrix& A) { return A.determinant(); }

}  // namespace zeroloss::test
