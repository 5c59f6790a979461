#include "zeroloss/kernel/spectrum.hpp"

#include <gtest/gtest.h>

#include <Eigen/QR>
#include <cmath>

#include "support/decompositions.hpp"
#include "support/points.hpp"

namespace zeroloss {
namespace {

using namespace test;

Matrix orthogonal(Index n, std::uint64_t seed = 5) {
  Matrix A(n, n);
  Random(seed, Stream::points).fill_normal(A);
  return Eigen::HouseholderQR<Matrix>(A).householderQ();
}

Operator times(const Matrix& A) {
  return [&A](const Matrix& V) { return Matrix(A * V); };
}

TEST(BlockLanczos, FindsTheLargestEigenpair) {
  for (const Index n : {1, 2, 3, 5, 9, 40, 300}) {
    const Matrix Q = orthogonal(n);
    const Vector values = Vector::LinSpaced(n, 1, static_cast<double>(n));
    const Matrix A = Q * values.asDiagonal() * Q.transpose();
    const auto found = block_lanczos(times(A), random_block(n), 1, 200, 1e-14);
    EXPECT_NEAR(found.values.tail(1).value(), static_cast<double>(n), 1e-11 * static_cast<double>(n)) << n;
    EXPECT_LE((A * found.vectors.col(0) - static_cast<double>(n) * found.vectors.col(0)).norm(),
              1e-6 * static_cast<double>(n))
        << n;
    EXPECT_NEAR(found.vectors.col(0).norm(), 1, 1e-14);
  }
}

// Weights are a Gauss quadrature: exact for powers up to 2 k - 1 after k steps.
TEST(BlockLanczos, QuadratureIsExactForLowPowers) {
  const Index n = 60;
  const Matrix Q = orthogonal(n);
  const Matrix A = Q * Vector::LinSpaced(n, 0.1, 2).asDiagonal() * Q.transpose();
  Matrix start(n, 3);
  Random(7, Stream::points).fill_normal(start);
  const auto found = block_lanczos(times(A), start, 4, 4, 0);
  Matrix power = start;
  for (int k = 0; k <= 7; ++k) {
    const Vector expected = start.cwiseProduct(power).colwise().sum().transpose();
    const Vector quadrature = found.weights.transpose() * found.values.array().pow(k).matrix();
    EXPECT_LE((quadrature - expected).lpNorm<Eigen::Infinity>(), 1e-11 * expected.lpNorm<Eigen::Infinity>())
        << k;
    power = (A * power).eval();
  }
}

TEST(BlockLanczos, DependentStartColumnsAndInvariantSubspaces) {
  const Matrix Q = orthogonal(30);
  Vector values = Vector::Constant(30, 1);
  values(3) = 4;
  const Matrix A = Q * values.asDiagonal() * Q.transpose();
  Matrix start(30, 4);
  Random(7, Stream::points).fill_normal(start);
  start.col(1) = 2 * start.col(0);
  start.col(2).setZero();
  const auto found = block_lanczos(times(A), start, 10, 10, 0);  // ends early: two distinct eigenvalues
  EXPECT_NEAR(found.values.tail(1).value(), 4, 1e-13);
  EXPECT_LE(found.iterations, 4);
  const Vector norms = found.weights.colwise().sum().transpose();
  for (Index c = 0; c < 4; ++c)
    EXPECT_NEAR(norms(c), start.col(c).squaredNorm(), 1e-12 * start.squaredNorm());
}

TEST(Spectrum, ExtremesAgreeWithDenseEigenvalues) {
  Progress progress;
  for (const auto& [n, d] : {std::pair<Index, Index>{1, 1}, {2, 3}, {5, 4}, {50, 10}, {400, 30}}) {
    const RowMatrix X = sphere(n, d);
    const Kernel kernel = sigma(activation("relu"));
    auto work = gram(X, kernel, progress);
    const Matrix K = dense(work.K);
    const Vector reference = symmetric_eigenvalues(K);
    const double scale = static_cast<double>(n) * 0x1p-52 * reference.tail(1).value();
    PackedMatrix matrix(X);
    matrix.form(kernel, 0, progress);
    EXPECT_NEAR(largest_eigenpair(matrix, progress).value, reference.tail(1).value(), 4 * scale);
    const Vector all = eigenvalues(work.K);
    EXPECT_LE((all - reference).lpNorm<Eigen::Infinity>(), 4 * scale);
    const auto system = eigensystem(work.K);
    EXPECT_LE((K * system.vectors - system.vectors * system.values.asDiagonal()).norm(), 40 * scale);
    ASSERT_EQ(factor_with_ridge(matrix, kernel, progress), 0);
    const auto lowest = smallest_eigenpair(matrix, 0, progress);
    EXPECT_NEAR(lowest.value, reference(0), 4 * scale);
    EXPECT_LE((K * lowest.vector - lowest.value * lowest.vector).norm(), 1e-6);
  }
}

// The residual's bound against A - L L^T in long double, for sizes that fall on all sides of panels and of
// the packed corner; and it sees a factor that is wrong.
TEST(Spectrum, ResidualOfAFactor) {
  using Long = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  Progress progress;
  for (const Index n : {1, 2, 3, 50, 255, 256, 257, 511, 513, 700}) {
    const RowMatrix X = sphere(n, 20);
    const Kernel kernel = sigma(activation("relu"));
    auto shifted = gram(X, kernel, progress).K;
    shift_diagonal(shifted, 0.25);
    const Matrix A = dense(shifted);
    PackedMatrix matrix(X);
    matrix.form(kernel, 0.25, progress);
    ASSERT_TRUE(matrix.factor(progress));
    auto packed = gram(X, kernel, progress).K;
    shift_diagonal(packed, 0.25);
    ASSERT_TRUE(factor(packed, progress));
    Matrix L = Matrix::Zero(n, n);
    for (Index j = 0; j < n; ++j)
      for (Index i = j; i < n; ++i) L(i, j) = packed(i, j);
    const Long exact = A.cast<long double>() - L.cast<long double>() * L.cast<long double>().transpose();
    const double size = static_cast<double>(n), most = size * 0x1p-53 * (A.norm() + L.squaredNorm());
    const double bound = matrix.residual(kernel, 0.25, progress);
    EXPECT_GE(bound, static_cast<double>(exact.norm()));
    EXPECT_LE(bound, 2 * most + 20 * 0x1p-53 * A.norm() + static_cast<double>(exact.norm()));
    // Of another matrix: K + 0.5 I is off by 0.25 on the diagonal.
    EXPECT_NEAR(matrix.residual(kernel, 0.5, progress), 0.25 * std::sqrt(size), 0x1p-28 * size);
  }
}

TEST(Spectrum, BothProofsHold) {
  Progress progress;
  for (const Index n : {1, 2, 30, 400}) {
    const RowMatrix X = sphere(n, 12);
    for (const char* name : {"relu", "softplus", "tanh"}) {
      const Kernel kernel = sigma(activation(name));
      PackedMatrix work(X);
      const auto theorem = lambda_min(work, kernel, Proof::theorem, progress).verified;
      const auto residual = lambda_min(work, kernel, Proof::residual, progress).verified;
      const double exact = eigenvalues(gram(X, kernel, progress).K)(0);
      ASSERT_TRUE(theorem.holds);
      ASSERT_TRUE(residual.holds);
      EXPECT_LT(residual.lambda_min, exact);
      EXPECT_GT(residual.lambda_min, exact * (1 - 1e-6));
      EXPECT_NEAR(residual.lambda_min, theorem.lambda_min, 1e-6 * exact);
    }
  }
}

// The bound must lie below the exact value and be tight; the reference is a dense eigenvalue, itself accurate
// to n u lambda_max.
TEST(Spectrum, VerifiedBoundHoldsAndIsTight) {
  Progress progress;
  for (const auto& name : {"relu", "erf", "gelu", "quadratic"})
    for (const auto& [n, d] : {std::pair<Index, Index>{1, 1}, {2, 2}, {10, 6}, {60, 15}, {300, 40}}) {
      const RowMatrix X = sphere(n, d);
      const auto found = lambda_min(X, sigma(activation(name)), progress);
      auto work = gram(X, sigma(activation(name)), progress);
      const Vector reference = eigenvalues(work.K);
      const double error =
          4 * static_cast<double>(n) * 0x1p-52 * reference.tail(1).value() + work.entry_error;
      ASSERT_TRUE(found.verified.holds) << name << n;
      EXPECT_LE(found.verified.lambda_min, reference(0) + error) << name << " " << n;
      EXPECT_GE(found.verified.lambda_min, reference(0) * (1 - 2e-7) - 2 * found.verified.loss - error)
          << name << " " << n;
      EXPECT_EQ(found.verified.factorizations, 1);
    }
}

// Matrices whose smallest eigenvalue is known exactly: K = diag(blocks [[1, c], [c, 1]]) for two equal points
// has lambda_min = 0.
TEST(Spectrum, NeverCertifiesASingularKernel) {
  Progress progress;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    RowMatrix X = sphere(40, 6, seed);
    X.row(7) = X.row(31);  // exactly singular
    for (const auto& name : {"relu", "tanh", "softplus"}) {
      const auto found = lambda_min(X, sigma(activation(name)), progress);
      EXPECT_FALSE(found.verified.holds) << name << seed;
      EXPECT_LE(std::abs(found.lowest.value), 10 * found.verified.loss + 1e-14) << name;
      EXPECT_GT(found.verified.loss, 0);
    }
  }
}

TEST(Spectrum, TooSmallForDoublePrecisionIsNotCertified) {
  Progress progress;
  const auto found = lambda_min(sphere(200, 3), sigma(activation("softplus")), progress);  // about 1e-18
  EXPECT_FALSE(found.verified.holds);
  EXPECT_GT(found.ridge, 0);
  EXPECT_LE(std::abs(found.lowest.value), found.verified.loss);
}

TEST(Spectrum, UsersFunctionIsComputedNotVerified) {
  Progress progress;
  Activation user;
  user.name = "mine";
  user.phi = [](double z) { return z > 0 ? z : 0.1 * z; };
  user.dphi = [](double z) { return z >= 0 ? 1.0 : 0.1; };
  user.B = 1;
  const auto found = lambda_min(sphere(30, 10), sigma(user), progress);
  EXPECT_GT(found.lowest.value, 0);
  EXPECT_FALSE(found.verified.holds);
}

TEST(Spectrum, CholeskyLossFollowsTheFormula) {
  const double n = 1000, u = 0x1p-53, k = n + 3, gamma = k * u / (1 - k * u);
  EXPECT_NEAR(cholesky_loss(n, 500, 0.5), gamma / (1 - gamma) * 500 + u * 0.5, 1e-8 * gamma * 500);
  EXPECT_GE(cholesky_loss(n, 500, 0.5), gamma / (1 - gamma) * 500 + u * 0.5);
  EXPECT_GT(cholesky_loss(n, 0, 0), 0);
}

TEST(Spectrum, NormBoundIsAboveAndTight) {
  for (const auto& [n, d] :
       {std::pair<Index, Index>{1, 1}, {1, 50}, {50, 1}, {30, 30}, {200, 20}, {20, 200}}) {
    const RowMatrix X = sphere(n, d);
    const double norm = norm2(X);
    EXPECT_GE(spectral_norm_bound(X), norm * (1 - 1e-14)) << n << " " << d;
    EXPECT_LE(spectral_norm_bound(X), norm * (1 + 1e-6)) << n << " " << d;
    EXPECT_EQ(spectral_norm_bound(RowBlocks(X)), spectral_norm_bound(X)) << "one block is the matrix";
  }
  const RowMatrix wide = sphere(3, 200'000);  // whose d x d matrix would take 320 GB
  const double norm = norm2(wide * wide.transpose());
  EXPECT_NEAR(spectral_norm_bound(RowBlocks(wide)), std::sqrt(norm), 1e-6);
  EXPECT_THROW(spectral_norm_bound(RowMatrix::Constant(2, 2, HUGE_VAL)), std::invalid_argument);
}

}  // namespace
}  // namespace zeroloss
