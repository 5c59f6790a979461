#include "linalg/matrix_and_factor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "linalg/tiled.hpp"

namespace zeroloss::internal {
namespace {

Matrix positive_definite(Index n) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  const Matrix A = Matrix(n, n + 5).unaryExpr([&](double) { return normal(random); });
  return A * A.transpose();
}

MatrixAndFactor stored(const Matrix& K) {
  Matrix lower = Matrix::Constant(K.rows(), K.rows() + 1, std::nan(""));  // what is not given is not read
  lower.leftCols(K.rows()).triangularView<Eigen::Lower>() = K;
  return MatrixAndFactor(std::move(lower));
}

// Sides below, at and beyond those of tiles: what two whole matrices say, bit for bit.
TEST(MatrixAndFactor, IsAMatrixAndAFactor) {
  for (const Index n : {1, 2, 63, 64, 65, 256, 300}) {
    const Matrix K = positive_definite(n);
    MatrixAndFactor both = stored(K);
    EXPECT_EQ(both.n(), n);
    EXPECT_EQ(both.diagonal(), K.diagonal());
    Progress silent;
    for (const double s : {0.0, -3.0}) {
      ASSERT_TRUE(both.factor(1, s, silent));
      Matrix L = K, x = K.leftCols(1);
      L.diagonal().array() -= s;
      ASSERT_TRUE(tiled::factor(L, silent));
      tiled::solve(L, x);
      EXPECT_EQ(both.solve(K.leftCols(1)), x) << n;
      // symm sums in an order of its own: n terms of a row and a column, each at most trace K.
      EXPECT_LE((both.product(x) - K * x).norm(),
                static_cast<double>(2 * n + 2) * 0x1p-53 * K.trace() * x.norm());
    }
    const double above = K.trace() * 1.01 + 1;
    EXPECT_FALSE(both.factor(-1, 0, silent));
    EXPECT_FALSE(both.factor(1, above, silent));
    ASSERT_TRUE(both.factor(-1, above, silent));
    Matrix L = -K, x = K.leftCols(1);
    L.diagonal() = above - K.diagonal().array();
    ASSERT_TRUE(tiled::factor(L, silent));
    tiled::solve(L, x);
    EXPECT_EQ(both.solve(K.leftCols(1)), x) << n;
  }
}

}  // namespace
}  // namespace zeroloss::internal
