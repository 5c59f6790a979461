#pragma once
#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/kernel/packed.hpp"

/// Point sets and dense references for tests.
namespace zeroloss::test {

/// n random points on the unit sphere of R^d.
inline RowMatrix sphere(Index n, Index d, std::uint64_t seed = 1) {
  Random random(seed, Stream::points);
  RowMatrix X(n, d);
  for (Index i = 0; i < n; ++i) {
    for (Index k = 0; k < d; ++k) X(i, k) = random.normal();
    X.row(i) /= X.row(i).norm();
  }
  return X;
}

/// n x c standard normal numbers.
inline Matrix normal_matrix(Index n, Index c, std::uint64_t seed, Stream stream) {
  Matrix A(n, c);
  Random(seed, stream).fill_normal(A);
  return A;
}

/// The packed matrix in full.
template <class T>
Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> dense(const Packed<T>& A) {
  Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> full(A.n(), A.n());
  for (Index j = 0; j < A.n(); ++j)
    for (Index i = j; i < A.n(); ++i) full(i, j) = full(j, i) = A(i, j);
  return full;
}

/// The lower triangle of a full matrix, packed.
inline Packed<double> pack(const Matrix& full) {
  Packed<double> A(full.rows());
  for (Index j = 0; j < A.n(); ++j)
    for (Index i = j; i < A.n(); ++i) A(i, j) = full(i, j);
  return A;
}

}  // namespace zeroloss::test
