// Dense linear algebra by tiles: against Eigen, and the same bits for any number of threads.
#include "linalg/tiled.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <cmath>
#include <stdexcept>

#include "linalg/parallel.hpp"
#include "support/points.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss::test {
using namespace internal;
namespace {

constexpr double u = 0x1p-53;

Matrix random_matrix(Index rows, Index columns) {
  Matrix A(rows, columns);
  Random(4, Stream::points).fill_normal(A);
  return A;
}

Matrix full(const Matrix& lower) { return lower.selfadjointView<Eigen::Lower>(); }

// Around the side of a tile, 256.
const std::vector<Index> kSides{1, 2, 7, 255, 256, 257, 600};

TEST(Tiled, ProductWithTranspose) {
  for (const Index n : kSides)
    for (const Index k : {Index{1}, Index{40}, n}) {
      const Matrix A = random_matrix(n, k);
      Matrix C;
      tiled::product_with_transpose(A, C);
      const double bound = static_cast<double>(k + 2) * 2 * u * A.rowwise().squaredNorm().maxCoeff();
      EXPECT_LT((full(C) - A * A.transpose()).cwiseAbs().maxCoeff(), bound) << n << " " << k;
    }
}

TEST(Tiled, FactorAndSolve) {
  Progress silent;
  for (const Index n : kSides) {
    const Matrix B = random_matrix(n, n + 3);
    Matrix A;
    tiled::product_with_transpose(B, A);
    A.diagonal().array() += static_cast<double>(n);
    Matrix L = A;
    ASSERT_TRUE(tiled::factor(L, silent));
    const Matrix lower = L.triangularView<Eigen::Lower>();
    const double size = A.diagonal().sum(), k = static_cast<double>(n + 2);
    EXPECT_LT((lower * lower.transpose() - full(A)).norm(), 4 * k * u * size) << n;

    const Matrix V = random_matrix(n, 70);  // more columns than one thread takes
    Matrix X = V;
    tiled::solve(L, X);
    EXPECT_LT((full(A) * X - V).norm(), 8 * k * k * u * size / static_cast<double>(n) * X.norm()) << n;
    Matrix forward = V;
    tiled::solve_forward(L, forward);
    EXPECT_LT((lower * forward - V).norm(), 4 * k * u * lower.norm() * forward.norm()) << n;
    EXPECT_LT((tiled::product(A, V) - full(A) * V).norm(), 4 * k * u * full(A).norm() * V.norm()) << n;
  }
}

TEST(Tiled, IndefiniteOrNotFiniteIsSaid) {
  Progress silent;
  for (const Index n : {1, 300}) {
    Matrix A = Matrix::Identity(n, n);
    A(n - 1, n - 1) = -1e-3;
    EXPECT_FALSE(tiled::factor(A, silent));
    Matrix B = Matrix::Identity(n, n);
    B(n - 1, 0) = std::nan("");
    EXPECT_FALSE(tiled::factor(B, silent));
    Matrix C = Matrix::Identity(n, n);
    C(n - 1, n - 1) = INFINITY;
    EXPECT_FALSE(tiled::factor(C, silent));
  }
}

TEST(Tiled, UpperTriangleIsLeftAlone) {
  Progress silent;
  const Index n = 300;
  Matrix C = Matrix::Constant(n, n, 7);
  tiled::product_with_transpose(random_matrix(n, n + 5), C);
  C.diagonal().array() += 10;
  ASSERT_TRUE(tiled::factor(C, silent));
  for (Index j = 1; j < n; ++j) EXPECT_TRUE((C.col(j).head(j).array() == 7).all());
}

TEST(Tiled, ThreadsChangeNoBit) {
  Progress silent;
  const int before = omp_get_max_threads();
  const Matrix A = random_matrix(700, 90), V = random_matrix(700, 150);
  Matrix K[2], X[2];
  for (const int threads : {1, 3}) {
    omp_set_num_threads(threads);
    Matrix& L = K[threads / 2];
    L = Matrix::Zero(700, 700);
    tiled::product_with_transpose(A, L);
    L.diagonal().array() += 1;
    ASSERT_TRUE(tiled::factor(L, silent));
    X[threads / 2] = V;
    tiled::solve(L, X[threads / 2]);
  }
  omp_set_num_threads(before);
  EXPECT_TRUE(K[0] == K[1]);
  EXPECT_TRUE(X[0] == X[1]);
}

// Against whole products; columns behind the square, and what is above the diagonal, stay.
TEST(Tiled, EntryByEntry) {
  for (const Index n : {5, 256, 300}) {
    const Matrix A = random_matrix(n, 20), B = random_matrix(n, 9);
    Matrix C = Matrix::Constant(n, n + 1, 7);
    tiled::product_with_transpose(A, C);
    ASSERT_EQ(C.cols(), n + 1);
    tiled::multiply_by_product_with_transpose(B, C);
    const Matrix whole = (A * A.transpose()).cwiseProduct(B * B.transpose());
    const Matrix size =
        (A.cwiseAbs() * A.cwiseAbs().transpose()).cwiseProduct(B.cwiseAbs() * B.cwiseAbs().transpose());
    for (Index j = 0; j <= n; ++j)
      for (Index i = 0; i < n; ++i)
        if (i >= j)
          EXPECT_NEAR(C(i, j), whole(i, j),
                      70 * 0x1p-53 * size(i, j));  // sums of 20 and of 9, twice, and a product
        else
          EXPECT_EQ(C(i, j), 7);
  }
}

TEST(Tiled, FloatFactor) {
  Progress silent;
  const Index n = 600;
  const Matrix A = random_matrix(n, n + 50);
  Matrix K = A * A.transpose();
  K.diagonal().array() += 1;
  Eigen::MatrixXf L = Eigen::MatrixXf::Constant(n, n + 1, 7);
  L.leftCols(n).triangularView<Eigen::Lower>() = K.cast<float>();
  ASSERT_TRUE(tiled::factor(L, silent));
  Matrix lower = L.leftCols(n).cast<double>();
  lower.triangularView<Eigen::StrictlyUpper>().setZero();
  // Cholesky's backward error (n + 1) u trace, and K's rounding, in float32.
  EXPECT_LE((lower * lower.transpose() - K).norm(), static_cast<double>(n + 2) * 0x1p-24 * K.trace());
  EXPECT_TRUE((L.col(n).array() == 7).all());
  L.leftCols(n).triangularView<Eigen::Lower>() = (-K).cast<float>();
  EXPECT_FALSE(tiled::factor(L, silent));
}

TEST(Tiled, CanBeCancelled) {
  std::atomic<bool> cancel{true};
  Progress progress({}, &cancel);
  Matrix A = Matrix::Identity(4, 4);
  EXPECT_THROW(tiled::factor(A, progress), Interrupted);
}

// Threads call BLAS, which refuses sides that it cannot count: the process goes on.
TEST(Parallel, WhatBlasRefusesIsThrown) {
  constexpr Index kSide = 2000, kInner = Index{1} << 31;
  double one = 1;
  EXPECT_THROW(internal::parallel::gemm('N', 'N', kSide, kSide, kInner, 1.0, &one, kSide, &one, kInner, 0.0,
                                        &one, kSide),
               std::invalid_argument);
}

}  // namespace
}  // namespace zeroloss::test
