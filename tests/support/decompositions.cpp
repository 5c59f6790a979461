#include "support/decompositions.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/SVD>

namespace zeroloss::test {
namespace {

using Jacobi = Eigen::JacobiSVD<LongMatrix, Eigen::HouseholderQRPreconditioner>;

}  // namespace

Vector symmetric_eigenvalues(const Matrix& A) {
  return Eigen::SelfAdjointEigenSolver<Matrix>(A, Eigen::EigenvaluesOnly).eigenvalues();
}

LongVector jacobi_singular_values(const LongMatrix& A) { return Jacobi(A).singularValues(); }

Vector jacobi_singular_values(const Matrix& A) {
  return jacobi_singular_values(LongMatrix(A.cast<long double>())).cast<double>();
}

double norm2(const Matrix& A) { return jacobi_singular_values(A)(0); }

Matrix least_squares_by_svd(const Matrix& A, const Matrix& B, double tolerance) {
  Jacobi svd(A.cast<long double>(), Eigen::ComputeThinU | Eigen::ComputeThinV);
  svd.setThreshold(tolerance);
  return svd.solve(B.cast<long double>()).cast<double>();
}

Matrix solve_by_ldlt(const Matrix& A, const Matrix& B) { return A.ldlt().solve(B); }

double determinant(const Matrix& A) { return A.determinant(); }

}  // namespace zeroloss::test
