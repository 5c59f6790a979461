#include "zeroloss/kernel/inducing.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <array>
#include <atomic>
#include <limits>

#include "support/bounds.hpp"
#include "support/decompositions.hpp"
#include "support/points.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/base/threads.hpp"
#include "zeroloss/kernel/ridge.hpp"

namespace zeroloss {
namespace {

struct Problem {
  RowMatrix X, Z;
  Matrix Y;
  Vector weights;
};

Problem problem(Index n, Index m, Index d, Index c, bool weighted) {
  Problem p{test::sphere(n, d, 3), {}, Matrix(n, c), {}};
  p.Z = p.X.topRows(m);
  Random random(11, Stream::points);
  for (double& y : p.Y.reshaped()) y = random.normal();
  if (!weighted) return p;
  p.weights.resize(n);
  for (double& w : p.weights) w = 0.1 + std::abs(random.normal());
  return p;
}

InducingSolution solution_of(const Problem& p, const std::string& activation_name,
                             const InducingOptions& options) {
  Progress silent;
  return solve_inducing(p.X, p.Z, sigma(activation(activation_name)), p.weights, p.Y, options, silent);
}

// By a singular value decomposition of (W^1/2 K_nm; ridge^1/2 T), K_mm = T^T T: nothing is squared.
Matrix least_squares(const Problem& p, const std::string& activation_name, double ridge) {
  Progress silent;
  const Kernel kernel = sigma(activation(activation_name));
  const Index n = p.X.rows(), m = p.Z.rows();
  Matrix A(n + m, m), B = Matrix::Zero(n + m, p.Y.cols());
  A.topRows(n) = cross_gram(p.X, p.Z, kernel, silent);
  const Matrix K = cross_gram(p.Z, p.Z, kernel, silent);
  A.bottomRows(m) = std::sqrt(ridge) * Matrix(K.llt().matrixU());
  B.topRows(n) = p.Y;
  if (p.weights.size() > 0) {
    A.topRows(n).array().colwise() *= p.weights.array().sqrt();
    B.topRows(n).array().colwise() *= p.weights.array().sqrt();
  }
  return test::least_squares_by_svd(A, B, static_cast<double>(m) * std::numeric_limits<double>::epsilon());
}

// The relative error of the coefficients: the residual and n + m roundings of an entry of the equations M,
// where P = (w/m) K_mm^2 + ridge K_mm leaves the condition of P^-1/2 M P^-1/2, and back from it is that of
// P^1/2.
double coefficients_error(const Problem& p, const std::string& activation_name,
                          const InducingOptions& options) {
  Progress silent;
  const Kernel kernel = sigma(activation(activation_name));
  const auto n = static_cast<double>(p.X.rows()), m = static_cast<double>(p.Z.rows());
  const Vector weights = p.weights.size() > 0 ? p.weights : Vector::Ones(p.X.rows());
  const Matrix A = cross_gram(p.X, p.Z, kernel, silent), K = cross_gram(p.Z, p.Z, kernel, silent);
  const Matrix M = A.transpose() * weights.asDiagonal() * A + options.ridge * K;
  const Matrix P = weights.sum() / m * K * K + options.ridge * K;
  const auto condition = [](const Matrix& of) {
    const Vector values = test::symmetric_eigenvalues(of);
    return values.maxCoeff() / values.minCoeff();
  };
  const auto L = P.llt();
  const Matrix half = L.matrixL().solve(M), H = L.matrixL().solve(half.transpose());
  const double of_P = condition(P);
  return condition(H) * (std::sqrt(of_P) * options.tolerance + of_P * test::gamma_of(n + m));
}

TEST(Inducing, FindsTheLeastSquares) {
  for (const auto& [n, m, d] : {std::array<Index, 3>{1, 1, 3}, {7, 3, 4}, {300, 40, 6}, {5000, 60, 9}})
    for (const bool weighted : {false, true})
      for (const double ridge : {1e-2, 1.0}) {
        SCOPED_TRACE(testing::Message() << n << " points, " << m << " inducing, ridge " << ridge);
        const Problem p = problem(n, m, d, 2, weighted);
        const InducingOptions options{ridge, 1e-12, 200};
        const auto found = solution_of(p, "relu", options);
        EXPECT_LE(found.residual, options.tolerance);
        const Matrix expected = least_squares(p, "relu", ridge);
        EXPECT_LE((found.coefficients - expected).norm(),
                  coefficients_error(p, "relu", options) * expected.norm());
      }
}

TEST(Inducing, AllPointsGiveTheExactPredictor) {
  const Problem p = problem(150, 150, 8, 3, false);
  Progress silent;
  const auto exact = solve_ridge(gram(p.X, sigma(activation("erf")), silent).K, {}, 0.05, p.Y, silent);
  ASSERT_TRUE(exact);
  const InducingOptions options{0.05, 1e-12, 300};
  const auto found = solution_of(p, "erf", options);
  EXPECT_LE((found.coefficients - exact->coefficients).norm(),
            2 * coefficients_error(p, "erf", options) * exact->coefficients.norm());
}

TEST(Inducing, FewStepsSuffice) {
  const Problem p = problem(4000, 200, 5, 1, false);
  const InducingOptions options{1e-2, 1e-6, 100};
  const auto found = solution_of(p, "relu", options);
  EXPECT_LE(found.residual, options.tolerance);
  EXPECT_LE(found.steps, 40);
}

TEST(Inducing, StopsWhereItIsTold) {
  const Problem p = problem(500, 50, 5, 1, false);
  const InducingOptions options{1e-6, 1e-14, 2};
  const auto found = solution_of(p, "relu", options);
  EXPECT_EQ(found.steps, options.most);
  EXPECT_GT(found.residual, options.tolerance);
}

TEST(Inducing, TargetsOfZeroHaveNoCoefficients) {
  Problem p = problem(100, 10, 4, 2, false);
  p.Y.col(1).setZero();
  const auto found = solution_of(p, "relu", {});
  EXPECT_GT(found.coefficients.col(0).norm(), 0);
  EXPECT_EQ(found.coefficients.col(1).norm(), 0);
  p.Y.setZero();
  EXPECT_EQ(solution_of(p, "relu", {}).steps, 0);
}

TEST(Inducing, EqualInducingPointsAreBorne) {
  Problem p = problem(200, 20, 4, 1, false);
  p.Z.row(7) = p.Z.row(3);
  p.Z.row(9) = -p.Z.row(3);
  Progress silent;
  const InducingOptions options{1e-2, 1e-10, 300};
  double rounding = 0;  // of n + m terms, which cancel where points are equal
  const auto values = [&] {
    const Matrix K = cross_gram(p.X, p.Z, sigma(activation("relu")), silent);
    const Matrix A = solution_of(p, "relu", options).coefficients;
    rounding += test::gamma_of(200 + 20) * (K.cwiseAbs() * A.cwiseAbs()).norm();
    return Matrix(K * A);
  };
  const Matrix with = values();
  RowMatrix others(19, 4);
  others << p.Z.topRows(7), p.Z.bottomRows(12);
  p.Z = others;
  const Matrix without = values();
  EXPECT_LE((with - without).norm(), 2 * coefficients_error(p, "relu", options) * with.norm() + rounding);
}

TEST(Inducing, NoBitDependsOnThreads) {
  const Problem p = problem(3000, 70, 6, 2, true);
  const int before = set_thread_count(1);
  const Matrix one = solution_of(p, "relu", {}).coefficients;
  set_thread_count(3);
  const Matrix three = solution_of(p, "relu", {}).coefficients;
  set_thread_count(before);
  EXPECT_EQ(one, three);
}

TEST(Inducing, CanBeInterrupted) {
  const Problem p = problem(3000, 50, 6, 1, false);
  const std::atomic<bool> stop = true;
  Progress cancelled({}, &stop);
  EXPECT_THROW(solve_inducing(p.X, p.Z, sigma(activation("relu")), {}, p.Y, {}, cancelled), Interrupted);
}

TEST(Inducing, WhatDoesNotFitIsRefused) {
  const Problem whole = problem(20, 5, 3, 1, false);
  const auto refused = [&](const auto& change, const std::string& word) {
    Problem p = whole;
    InducingOptions options;
    change(p, options);
    try {
      solution_of(p, "relu", options);
      ADD_FAILURE() << "not refused: " << word;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  };
  refused([](Problem& p, auto&) { p.Z = RowMatrix::Ones(2, 4); }, "features");
  refused([](Problem& p, auto&) { p.Y = Matrix::Ones(3, 1); }, "targets");
  refused([](Problem& p, auto&) { p.Y(2, 0) = std::numeric_limits<double>::infinity(); }, "not finite");
  refused([](Problem& p, auto&) { p.weights = Vector::Ones(3); }, "weights");
  refused([](Problem& p, auto&) { p.weights = Vector::Zero(20); }, "positive");
  refused([](Problem&, auto& o) { o.ridge = 0; }, "ridge");
  refused([](Problem&, auto& o) { o.tolerance = 0; }, "tolerance");
  refused([](Problem&, auto& o) { o.most = 0; }, "most");
}

}  // namespace
}  // namespace zeroloss
