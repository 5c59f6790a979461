#include "linalg/decompositions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "linalg/lapack.hpp"
#include "zeroloss/base/blas.hpp"

namespace zeroloss::internal {

namespace {

// Calls `routine` for the size of its scratch, then with that.
template <class Routine>
int with_scratch(const char* name, const Routine& routine) {
  double best = 0;
  int info = routine(&best, -1);
  Vector scratch(std::max<Index>(1, static_cast<Index>(best)));
  if (info == 0) info = routine(scratch.data(), lapack::size(scratch.size()));
  if (info < 0) throw std::runtime_error(fmt::format("LAPACK {} failed with info {}", name, info));
  return info;
}

// L and U of P A, one in the other, and for each row the one that it was exchanged with, from 1.
struct Factored {
  Matrix LU;
  std::vector<int> exchanged;
  bool odd = false;  // exchanges
};
Factored factored(const Matrix& A) {
  Factored f{A, std::vector<int>(static_cast<std::size_t>(A.rows()))};
  const int n = lapack::size(A.rows()), rows = std::max(1, n);
  int info = 0;
  dgetrf_(&n, &n, f.LU.data(), &rows, f.exchanged.data(), &info);
  for (int k = 0; k < n; ++k) f.odd ^= f.exchanged[static_cast<std::size_t>(k)] != k + 1;
  return f;
}

}  // namespace

Lu lu(const Matrix& A) {
  const SerialBlas serial;
  const Factored f = factored(A);
  const int n = lapack::size(A.rows()), rows = std::max(1, n);
  Lu result{f.LU.triangularView<Eigen::UnitLower>(), f.LU.triangularView<Eigen::Upper>(), Eigen::VectorXi(n),
            f.odd, f.LU};
  std::vector<int> order(static_cast<std::size_t>(n));  // rows of P A by those of A
  std::iota(order.begin(), order.end(), 0);
  for (int k = 0; k < n; ++k)
    std::swap(order[static_cast<std::size_t>(k)],
              order[static_cast<std::size_t>(f.exchanged[static_cast<std::size_t>(k)] - 1)]);
  for (int k = 0; k < n; ++k) result.permutation(order[static_cast<std::size_t>(k)]) = k;
  const int singular = with_scratch("dgetri", [&](double* scratch, int size) {
    int info = 0;
    dgetri_(&n, result.inverse.data(), &rows, f.exchanged.data(), scratch, &size, &info);
    return info;
  });
  if (singular > 0) result.inverse.setConstant(std::numeric_limits<double>::quiet_NaN());
  return result;
}

double determinant(const Matrix& A) {
  const SerialBlas serial;
  const Factored f = factored(A);
  return (f.odd ? -1 : 1) * f.LU.diagonal().prod();
}

Matrix cholesky(const Matrix& A) {
  const SerialBlas serial;
  Matrix L = A.triangularView<Eigen::Lower>();
  lapack::potrf('L', L.rows(), L.data(), L.rows());
  return L;
}

Eigen::VectorXcd eigenvalues(const Matrix& A) {
  const SerialBlas serial;
  Matrix H = A;
  const int n = lapack::size(A.rows()), rows = std::max(1, n), one = 1;
  Vector real(n), imaginary(n);
  const int info = with_scratch("dgeev", [&](double* scratch, int size) {
    int failed = 0;
    dgeev_("N", "N", &n, H.data(), &rows, real.data(), imaginary.data(), nullptr, &one, nullptr, &one,
           scratch, &size, &failed);
    return failed;
  });
  if (info > 0) real.setConstant(std::numeric_limits<double>::quiet_NaN());
  Eigen::VectorXcd values(n);
  values.real() = real;
  values.imag() = imaginary;
  return values;
}

RealSchur real_schur(const Matrix& A) {
  const SerialBlas serial;
  const int n = lapack::size(A.rows()), rows = std::max(1, n);
  RealSchur schur{Matrix(n, n), A};
  Vector real(n), imaginary(n);
  int none = 0;
  const int info = with_scratch("dgees", [&](double* scratch, int size) {
    int failed = 0;
    dgees_("V", "N", nullptr, &n, schur.T.data(), &rows, &none, real.data(), imaginary.data(), schur.U.data(),
           &rows, scratch, &size, nullptr, &failed);
    return failed;
  });
  if (info > 0) throw std::runtime_error("LAPACK dgees did not converge");
  return schur;
}

Vector least_squares(Matrix A, const Vector& b) {
  const int n = lapack::size(A.rows()), d = lapack::size(A.cols()), one = 1, rows = std::max(1, n),
            longer = std::max(rows, d);
  const double negligible = longer * std::numeric_limits<double>::epsilon();
  Vector x = Vector::Zero(longer), singular(std::max(1, std::min(n, d)));
  x.head(n) = b;
  int rank = 0;
  std::vector<int> whole(1);
  const int info = with_scratch("dgelsd", [&](double* scratch, int size) {
    int failed = 0;
    dgelsd_(&n, &d, &one, A.data(), &rows, x.data(), &longer, singular.data(), &negligible, &rank, scratch,
            &size, whole.data(), &failed);
    if (size == -1) whole.resize(static_cast<std::size_t>(std::max(1, whole.front())));
    return failed;
  });
  if (info != 0) throw std::runtime_error("LAPACK dgelsd failed with info " + fmt::to_string(info));
  return x.head(d);
}

Qr::Qr(const Matrix& A) : packed_(A), coefficients_(std::min(A.rows(), A.cols())) {
  const SerialBlas serial;
  const int n = lapack::size(A.rows()), d = lapack::size(A.cols()), rows = std::max(1, n);
  with_scratch("dgeqrf", [&](double* scratch, int size) {
    int info = 0;
    dgeqrf_(&n, &d, packed_.data(), &rows, coefficients_.data(), scratch, &size, &info);
    return info;
  });
}

Matrix Qr::R() const {
  return packed_.topRows(std::min(packed_.rows(), packed_.cols())).triangularView<Eigen::Upper>();
}

Matrix Qr::Q(Index columns) const { return multiplied("N", Matrix::Identity(packed_.rows(), columns)); }

Matrix Qr::transposed(Matrix B) const { return multiplied("T", std::move(B)); }

// Q B or Q^T B.
Matrix Qr::multiplied(const char* transposed, Matrix B) const {
  const SerialBlas serial;
  const int n = lapack::size(B.rows()), d = lapack::size(B.cols()), k = lapack::size(coefficients_.size()),
            rows = std::max(1, n);
  with_scratch("dormqr", [&](double* scratch, int size) {
    int info = 0;
    dormqr_("L", transposed, &n, &d, &k, packed_.data(), &rows, coefficients_.data(), B.data(), &rows,
            scratch, &size, &info);
    return info;
  });
  return B;
}

Index Qr::reflections() const { return (coefficients_.array() != 0).count(); }

}  // namespace zeroloss::internal
