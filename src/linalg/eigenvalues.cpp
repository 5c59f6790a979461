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

}  // namespace zeroloss::internal
