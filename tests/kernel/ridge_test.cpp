#include "zeroloss/kernel/ridge.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "support/bounds.hpp"
#include "support/decompositions.hpp"
#include "support/points.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
namespace {

Matrix normal_matrix(Index n, Index d, std::uint64_t seed) {
  Random random(seed, Stream::points);
  Matrix A(n, d);
  for (double& a : A.reshaped()) a = random.normal();
  return A;
}

// Positive definite, of full rank if d >= n.
Matrix covariance(Index n, Index d) {
  const Matrix A = normal_matrix(n, d, 5);
  return A * A.transpose() / static_cast<double>(d);
}

RidgePath path_of(const Matrix& K, const Vector& weights = {}) {
  Progress silent;
  return RidgePath(test::pack(K), weights, silent);
}

Vector some_weights(Index n) { return normal_matrix(n, 1, 9).col(0).array().square() + 0.1; }

// K + ridge W^-1.
Matrix regularised(Matrix K, const Vector& weights, double ridge) {
  for (Index i = 0; i < K.rows(); ++i) K(i, i) += ridge / (weights.size() > 0 ? weights(i) : 1);
  return K;
}

TEST(RidgePath, SolvesAsADenseFactorisationDoes) {
  for (const Index n : {1, 2, 3, 20, 64, 65, 128, 129, 200, 300})
    for (const bool weighted : {false, true})
      for (const double ridge : {1e-3, 0.5, 20.0}) {
        SCOPED_TRACE(testing::Message() << n << " points, ridge " << ridge << (weighted ? ", weights" : ""));
        const Matrix K = covariance(n, std::max<Index>(2, n / 2)), Y = normal_matrix(n, 3, 7);
        const Vector weights = weighted ? some_weights(n) : Vector();
        const Matrix A = regularised(K, weights, ridge);
        const auto found = path_of(K, weights).solve(ridge, Y);
        ASSERT_TRUE(found);
        const Vector eigenvalues = test::symmetric_eigenvalues(A);
        const double condition = eigenvalues(n - 1) / eigenvalues(0);
        const double spread = weighted ? std::sqrt(weights.maxCoeff() / weights.minCoeff()) : 1;
        const double allowed = 2 * test::solution_error(static_cast<double>(n), condition * spread);
        const Matrix expected = test::solve_by_ldlt(A, Y);
        EXPECT_LE((found->coefficients - expected).norm(), allowed * expected.norm());
        const Matrix inverse = test::solve_by_ldlt(A, Matrix::Identity(n, n));
        const Matrix residuals = expected.array().colwise() / inverse.diagonal().array();
        EXPECT_LE((found->residuals - residuals).norm(), allowed * residuals.norm() * condition);
        Progress silent;
        const auto single = solve_ridge(test::pack(K), weights, ridge, Y, silent);
        ASSERT_TRUE(single);
        EXPECT_LE((single->coefficients - expected).norm(), allowed * expected.norm());
        EXPECT_LE((single->residuals - residuals).norm(), allowed * residuals.norm() * condition);
      }
}

TEST(RidgePath, ResidualsAreThoseOfLeavingThePointOut) {
  const Index n = 40;
  const double ridge = 0.05;
  const Matrix K = covariance(n, 60), Y = normal_matrix(n, 2, 7);
  const Vector weights = some_weights(n);
  const auto found = path_of(K, weights).solve(ridge, Y);
  ASSERT_TRUE(found);
  const Matrix whole = regularised(K, weights, ridge);
  const Matrix inverse = test::solve_by_ldlt(whole, Matrix::Identity(n, n));
  const Vector values = test::symmetric_eigenvalues(whole);
  const double spread = std::sqrt(weights.maxCoeff() / weights.minCoeff());
  const double error = test::solution_error(n, values(n - 1) / values(0) * spread);  // of any solution here
  for (Index left_out = 0; left_out < n; ++left_out) {
    std::vector<Index> others;
    for (Index i = 0; i < n; ++i)
      if (i != left_out) others.push_back(i);
    const Matrix A = regularised(K(others, others), weights(others), ridge);
    const Matrix solution = test::solve_by_ldlt(A, Y(others, Eigen::all));
    const Matrix residual = Y.row(left_out) - K(left_out, others) * solution;
    const double of_ratio = found->coefficients.norm() + residual.norm() * inverse.col(left_out).norm();
    const double size = of_ratio / inverse(left_out, left_out) + K(left_out, others).norm() * solution.norm();
    EXPECT_LE((found->residuals.row(left_out) - residual).norm(), error * size);
  }
}

TEST(RidgePath, SaysWhereTheMatrixIsSingular) {
  const RidgePath path = path_of(covariance(30, 10));
  const Matrix Y = normal_matrix(30, 1, 7);
  EXPECT_FALSE(path.solve(0, Y));
  EXPECT_TRUE(path.solve(1e-6, Y));
  Progress silent;
  EXPECT_FALSE(solve_ridge(test::pack(covariance(30, 10)), {}, 0, Y, silent));
}

TEST(RidgePath, RefusesWhatIsNoRidgeNoWeightsAndNoTargets) {
  const Matrix K = covariance(4, 6);
  const RidgePath path = path_of(K);
  EXPECT_THROW(path.solve(-1, Matrix::Ones(4, 1)), std::invalid_argument);
  EXPECT_THROW(path.solve(1, Matrix::Ones(3, 1)), std::invalid_argument);
  EXPECT_THROW(path_of(K, Vector::Ones(3)), std::invalid_argument);
  EXPECT_THROW(path_of(K, Vector{{1, 0, 1, 1}}), std::invalid_argument);
}

TEST(RidgePath, CanBeInterrupted) {
  const std::atomic<bool> cancelled = true;
  Progress progress({}, &cancelled);
  EXPECT_THROW(RidgePath(test::pack(covariance(300, 300)), {}, progress), Interrupted);
}

}  // namespace
}  // namespace zeroloss
