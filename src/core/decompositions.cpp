#include "core/decompositions.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>

namespace zeroloss::internal {

Lu lu(const Matrix& A) {
  const Eigen::PartialPivLU<Matrix> lu(A);
  return {lu.matrixLU().triangularView<Eigen::UnitLower>(), lu.matrixLU().triangularView<Eigen::Upper>(),
          lu.permutationP().indices(), lu.permutationP().determinant() < 0, lu.inverse()};
}

double determinant(const Matrix& A) { return A.determinant(); }

Matrix cholesky(const Matrix& A) { return Eigen::LLT<Matrix>(A).matrixL(); }

Qr::Qr(const Matrix& A) {
  const Eigen::HouseholderQR<Matrix> qr(A);
  packed_ = qr.matrixQR();
  coefficients_ = qr.hCoeffs();
}

Matrix Qr::R() const {
  return packed_.topRows(std::min(packed_.rows(), packed_.cols())).triangularView<Eigen::Upper>();
}

Matrix Qr::Q(Index columns) const {
  return Eigen::householderSequence(packed_, coefficients_) * Matrix::Identity(packed_.rows(), columns);
}

Matrix Qr::transposed(Matrix B) const {
  B.applyOnTheLeft(Eigen::householderSequence(packed_, coefficients_).transpose());
  return B;
}

Index Qr::reflections() const { return (coefficients_.array() != 0).count(); }

}  // namespace zeroloss::internal
