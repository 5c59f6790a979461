#include <Eigen/Eigenvalues>

#include "linalg/decompositions.hpp"

namespace zeroloss::internal {

SymmetricEigen symmetric_eigen(const Matrix& A) {
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(A);
  return {eigen.eigenvalues(), eigen.eigenvectors()};
}

Vector symmetric_eigenvalues(const Matrix& A) {
  return Eigen::SelfAdjointEigenSolver<Matrix>(A, Eigen::EigenvaluesOnly).eigenvalues();
}

Eigen::VectorXcd eigenvalues(const Matrix& A) { return Eigen::EigenSolver<Matrix>(A, false).eigenvalues(); }

RealSchur real_schur(const Matrix& A) {
  const Eigen::RealSchur<Matrix> schur(A);
  return {schur.matrixU(), schur.matrixT()};
}

}  // namespace zeroloss::internal
