#include "linalg/decompositions.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "linalg/lapack.hpp"

namespace zeroloss::internal {

Lu lu(const Matrix& A) {
  const Eigen::PartialPivLU<Matrix> lu(A);
  return {lu.matrixLU().triangularView<Eigen::UnitLower>(), lu.matrixLU().triangularView<Eigen::Upper>(),
          lu.permutationP().indices(), lu.permutationP().determinant() < 0, lu.inverse()};
}

double determinant(const Matrix& A) { return A.determinant(); }

Matrix cholesky(const Matrix& A) { return Eigen::LLT<Matrix>(A).matrixL(); }

Vector least_squares(Matrix A, const Vector& b) {
  const int n = lapack::size(A.rows()), d = lapack::size(A.cols()), one = 1, rows = std::max(1, n),
            longer = std::max(rows, d);
  const double negligible = longer * std::numeric_limits<double>::epsilon();
  Vector x = Vector::Zero(longer), singular(std::max(1, std::min(n, d)));
  x.head(n) = b;
  int rank = 0, info = 0, integers = 0, query = -1;
  double best = 0;
  dgelsd_(&n, &d, &one, A.data(), &rows, x.data(), &longer, singular.data(), &negligible, &rank, &best,
          &query, &integers, &info);
  Vector scratch(std::max<Index>(1, static_cast<Index>(best)));
  std::vector<int> whole(static_cast<std::size_t>(std::max(1, integers)));
  const int size = lapack::size(scratch.size());
  dgelsd_(&n, &d, &one, A.data(), &rows, x.data(), &longer, singular.data(), &negligible, &rank,
          scratch.data(), &size, whole.data(), &info);
  if (info != 0) throw std::runtime_error("LAPACK dgelsd failed with info " + fmt::to_string(info));
  return x.head(d);
}

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
