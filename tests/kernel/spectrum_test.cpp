#include "zeroloss/kernel/spectrum.hpp"

#include <gtest/gtest.h>

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "support/bounds.hpp"
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
    const double tolerance = 1e-14, size = static_cast<double>(n);
    const auto found = block_lanczos(times(A), random_block(n), 1, 200, tolerance);
    // Of A and of its projection; a Ritz value is off by the residual squared over the gap, which is 1.
    const double rounding = 2 * backward_error(size) * size, residual = found.residual * size;
    EXPECT_LE(found.residual, 10 * std::sqrt(tolerance)) << n;
    EXPECT_NEAR(found.values.tail(1).value(), size, rounding + residual * residual) << n;
    EXPECT_LE((A * found.vectors.col(0) - size * found.vectors.col(0)).norm(), 2 * (rounding + residual))
        << n;
    EXPECT_NEAR(found.vectors.col(0).norm(), 1, test::gamma_of(size + 4));
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
    const double size = std::pow(2, k) * start.colwise().squaredNorm().maxCoeff();  // 2 = ||A||
    EXPECT_LE((quadrature - expected).lpNorm<Eigen::Infinity>(), (k + 1) * backward_error(60) * size) << k;
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
  EXPECT_NEAR(found.values.tail(1).value(), 4, 2 * backward_error(30) * 4);
  EXPECT_LE(found.iterations, 4);
  const Vector norms = found.weights.colwise().sum().transpose();
  for (Index c = 0; c < 4; ++c)
    EXPECT_NEAR(norms(c), start.col(c).squaredNorm(), 2 * backward_error(30) * start.col(c).squaredNorm());
}

TEST(Spectrum, ExtremesAgreeWithDenseEigenvalues) {
  constexpr double kSettled = 1e-11;  // where Lanczos ends for extreme eigenvalues
  Progress progress;
  for (const auto& [n, d] : {std::pair<Index, Index>{1, 1}, {2, 3}, {5, 4}, {50, 10}, {400, 30}}) {
    const RowMatrix X = sphere(n, d);
    const Kernel kernel = sigma(activation("relu"));
    auto work = gram(X, kernel, progress);
    const Matrix K = dense(work.K);
    const Vector reference = symmetric_eigenvalues(K);
    const double top = reference(n - 1), off = 2 * backward_error(static_cast<double>(n)) * top;
    // Lanczos: the residual squared over the gap.
    const auto square = [&](double residual, double gap) { return n > 1 ? residual * residual / gap : 0; };
    PackedMatrix matrix(X);
    matrix.form(kernel, 0, progress);
    const auto largest = largest_eigenpair(matrix, progress);
    EXPECT_LE(largest.residual, 10 * std::sqrt(kSettled));
    const double upper_gap = n > 1 ? top - reference(n - 2) : 1;
    EXPECT_NEAR(largest.value, top, off + square(largest.residual * top, upper_gap));
    const Vector all = eigenvalues(work.K);
    EXPECT_LE((all - reference).lpNorm<Eigen::Infinity>(), off);
    const auto system = eigensystem(work.K);
    EXPECT_LE((K * system.vectors - system.vectors * system.values.asDiagonal()).colwise().norm().maxCoeff(),
              off);
    ASSERT_EQ(factor_with_ridge(matrix, kernel, progress), 0);
    const auto lowest = smallest_eigenpair(matrix, 0, progress);
    EXPECT_LE(lowest.residual, 10 * std::sqrt(kSettled));
    const double inverse_gap = n > 1 ? 1 / reference(0) - 1 / reference(1) : 1;
    EXPECT_NEAR(lowest.value, reference(0), off + square(lowest.residual, inverse_gap));
    EXPECT_LE((K * lowest.vector - lowest.value * lowest.vector).norm(), off + lowest.residual * top);
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
    const double size = static_cast<double>(n), most = size * kUnit * (A.norm() + L.squaredNorm());
    const double bound = matrix.residual(kernel, 0.25, progress);
    EXPECT_GE(bound, static_cast<double>(exact.norm()));
    EXPECT_LE(bound, 2 * most + 20 * kUnit * A.norm() + static_cast<double>(exact.norm()));
    // Another matrix, K + 0.5 I, is off by 0.25 on the diagonal. Norms carry factors of 1 + 2^-30.
    const double far = 0.25 * std::sqrt(size);
    EXPECT_NEAR(matrix.residual(kernel, 0.5, progress), far, 2 * bound + 0x1p-28 * far);
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
      const auto size = static_cast<double>(n);
      EXPECT_GE(theorem.loss, cholesky_loss(size, size * kernel(1), kernel(1)) + work.seen().entry_error);
      const auto residual = lambda_min(work, kernel, Proof::residual, progress).verified;
      const Vector values = eigenvalues(gram(X, kernel, progress).K);
      const double exact = values(0), error = backward_error(size) * values(n - 1);
      ASSERT_TRUE(theorem.holds);
      ASSERT_TRUE(residual.holds);
      EXPECT_LT(residual.lambda_min, exact);
      // Theory 3: s is lambda_min less 1e-7 of it, or a tenth of the loss.
      EXPECT_GT(residual.lambda_min, exact * (1 - 2e-7) - 2 * residual.loss - error);
      EXPECT_NEAR(residual.lambda_min, theorem.lambda_min, 2e-7 * exact + 2 * theorem.loss + 2 * error);
    }
  }
}

// Theory 3: what the factorisation may be off by is taken away whole from the shift, which lies below what
// was handed in. Here that is far below lambda_min, so that the loss is not lost beside 1e-7 of it.
TEST(Spectrum, TheLossIsTakenAwayWhole) {
  Progress progress;
  const RowMatrix X = sphere(400, 12);
  const Kernel kernel = sigma(activation("relu"));
  for (const Proof proof : {Proof::theorem, Proof::residual}) {
    PackedMatrix work(X);
    work.form(kernel, 0, progress);
    const double low = 1e-6;
    const VerifiedBound bound = verify_lambda_min(work, kernel, low, proof, progress);
    ASSERT_TRUE(bound.holds);
    EXPECT_GT(bound.loss, 2e-7 * low) << "too small to be told from the shift";
    EXPECT_LE(bound.lambda_min, low - bound.loss);
    EXPECT_GE(bound.lambda_min, low - 2 * bound.loss - 2e-7 * low);
  }
}

// The bound must lie below the exact value and within theory 3's 1e-7 of it; the reference is a dense
// eigenvalue.
TEST(Spectrum, VerifiedBoundHoldsAndIsTight) {
  Progress progress;
  for (const auto& name : {"relu", "erf", "gelu", "quadratic"})
    for (const auto& [n, d] : {std::pair<Index, Index>{1, 1}, {2, 2}, {10, 6}, {60, 15}, {300, 40}}) {
      const RowMatrix X = sphere(n, d);
      const auto found = lambda_min(X, sigma(activation(name)), progress);
      auto work = gram(X, sigma(activation(name)), progress);
      const Vector reference = eigenvalues(work.K);
      const double error =
          backward_error(static_cast<double>(n)) * reference.tail(1).value() + work.entry_error;
      ASSERT_TRUE(found.verified.holds) << name << n;
      EXPECT_LE(found.verified.lambda_min, reference(0) + error) << name << " " << n;
      EXPECT_GE(found.verified.lambda_min, reference(0) * (1 - 2e-7) - 2 * found.verified.loss - error)
          << name << " " << n;
      EXPECT_EQ(found.verified.factorizations, 1);
    }
}

// Matrices whose smallest eigenvalue is known exactly: K = diag(blocks [[1, c], [c, 1]]) for two equal points
// has lambda_min = 0.
constexpr Index kFloatTried = 2048;  // points from which on float32 is tried

// lambda_min as it is without float32.
LambdaMin in_double(const RowMatrix& X, const Kernel& kernel, Proof proof) {
  const SerialBlas serial;  // as lambda_min() has it: a BLAS that shares a product adds in another order
  Progress progress;
  PackedMatrix work(X);
  work.form(kernel, 0, progress);
  LambdaMin found;
  found.ridge = factor_with_ridge(work, kernel, progress);
  found.lowest = smallest_eigenpair(work, found.ridge, progress);
  found.verified = verify_lambda_min(work, kernel, found.lowest.value, proof, progress);
  return found;
}

LambdaMin with_float(const RowMatrix& X, const Kernel& kernel, Proof proof,
                     std::vector<std::string>* stages) {
  Progress progress([&](const ProgressReport& report) {
    if (stages != nullptr && report.finished) stages->push_back(report.stage);
  });
  PackedMatrix work(X);
  return lambda_min(work, kernel, proof, progress);
}

bool begun(const std::vector<std::string>& stages, const std::string& name) {
  return std::find(stages.begin(), stages.end(), name) != stages.end();
}

// What is proved is below the eigenvalue that LAPACK finds, and as near as without float32.
TEST(Spectrum, FloatSaysWhereToProve) {
  const RowMatrix X = sphere(kFloatTried + 1, 40);
  for (const char* name : {"relu", "erf", "tanh"})
    for (const Proof proof : {Proof::theorem, Proof::residual}) {
      const Kernel kernel = sigma(activation(name));
      std::vector<std::string> stages;
      const LambdaMin found = with_float(X, kernel, proof, &stages), before = in_double(X, kernel, proof);
      Progress progress;
      const double exact = eigenvalues(gram(X, kernel, progress).K)(0);
      ASSERT_TRUE(found.verified.holds && before.verified.holds) << name;
      EXPECT_TRUE(begun(stages, "smallest eigenvalue of a subspace")) << name;
      EXPECT_FALSE(begun(stages, "Cholesky factorisation")) << name;
      EXPECT_EQ(found.ridge, 0);
      EXPECT_EQ(found.verified.factorizations, 1) << name;
      const double loss = before.verified.loss;
      EXPECT_NEAR(found.lowest.value, exact, loss) << name;
      EXPECT_LT(found.verified.lambda_min, exact + loss) << name;
      // One shift is 1e-7 of the eigenvalue below it, the other up to 3 corrections of 3e-7 each below a Ritz
      // value that is not below it.
      EXPECT_NEAR(found.verified.lambda_min, before.verified.lambda_min, 1e-6 * exact + 2 * loss) << name;
    }
}

TEST(Spectrum, FloatHasTheSameBitsForAnyThreads) {
  const RowMatrix X = sphere(kFloatTried + 5, 40);
  const Kernel kernel = sigma(activation("relu"));
  const int before = thread_count();
  std::vector<LambdaMin> found;
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    found.push_back(with_float(X, kernel, Proof::theorem, nullptr));
  }
  set_thread_count(before);
  for (const LambdaMin& other : found) {
    EXPECT_EQ(other.lowest.value, found.front().lowest.value);
    EXPECT_EQ(other.verified.lambda_min, found.front().verified.lambda_min);
  }
}

// Where float32's rounding hides lambda_min the answer is that of double, bit by bit.
TEST(Spectrum, WhereFloatSaysNothingAnswersAreThoseOfDouble) {
  RowMatrix near = sphere(kFloatTried, 40);
  near.row(kFloatTried - 1) = near.row(2);  // neither is one of every fourth point
  near(kFloatTried - 1, 0) += 1e-6;
  near.row(kFloatTried - 1).normalize();
  RowMatrix equal = near;
  equal.row(kFloatTried - 1) = equal.row(2);
  // Points on an arc, 0.06 apart: K_11 - |K_12| is above 1.8e-3, yet of five on a smooth kernel lambda_min is
  // of order 0.06^8. Neither are of every fourth point.
  RowMatrix arc = sphere(kFloatTried, 40);
  const Eigen::RowVectorXd along = arc.row(2) - arc.row(2).dot(arc.row(1)) * arc.row(1);
  double angle = 0;
  const Eigen::RowVectorXd begin = arc.row(1), across = along.normalized();
  for (const Index i : {1, 2, 3, 5, 6})
    arc.row(i) = (std::cos(angle) * begin + std::sin(angle) * across).normalized(), angle += 0.06;
  struct Case {
    RowMatrix X;
    const char* name;
    bool tried;
  };
  const Case cases[] = {{sphere(kFloatTried, 2), "relu", false},
                        {near, "relu", false},
                        {equal, "relu", false},
                        {arc, "erf", true},
                        {sphere(kFloatTried - 1, 40), "relu", false}};
  for (const auto& [X, name, tried] : cases) {
    const Kernel kernel = sigma(activation(name));
    std::vector<std::string> stages;
    const LambdaMin found = with_float(X, kernel, Proof::theorem, &stages);
    const LambdaMin before = in_double(X, kernel, Proof::theorem);
    EXPECT_EQ(begun(stages, "Cholesky factorisation in float32"), tried);
    EXPECT_EQ(found.ridge, before.ridge);
    EXPECT_EQ(found.lowest.value, before.lowest.value);
    EXPECT_EQ(found.verified.holds, before.verified.holds);
    EXPECT_EQ(found.verified.lambda_min, before.verified.lambda_min);
    EXPECT_EQ(found.verified.factorizations, before.verified.factorizations);
  }
}

TEST(Spectrum, NeverCertifiesASingularKernel) {
  Progress progress;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    RowMatrix X = sphere(40, 6, seed);
    X.row(7) = X.row(31);  // exactly singular
    for (const auto& name : {"relu", "tanh", "softplus"}) {
      const Kernel kernel = sigma(activation(name));
      const auto found = lambda_min(X, kernel, progress);
      EXPECT_FALSE(found.verified.holds) << name << seed;
      const double off = backward_error(40) * 40 * kernel(1);
      EXPECT_LE(std::abs(found.lowest.value), found.verified.loss + off) << name;
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
  const double n = 1000, rounding = test::gamma_of(n + 3),
               formula = rounding / (1 - rounding) * 500 + kUnit * 0.5;
  EXPECT_GE(cholesky_loss(n, 500, 0.5), formula);
  EXPECT_LE(cholesky_loss(n, 500, 0.5), formula * (1 + 0x1p-29));  // rounded up by 2^-30
  EXPECT_GT(cholesky_loss(n, 0, 0), 0);
}

TEST(Spectrum, NormBoundIsAboveAndTight) {
  for (const auto& [n, d] :
       {std::pair<Index, Index>{1, 1}, {1, 50}, {50, 1}, {30, 30}, {200, 20}, {20, 200}}) {
    const RowMatrix X = sphere(n, d);
    const double norm = norm2(X);
    const double off = backward_error(static_cast<double>(std::max(n, d)));
    EXPECT_GE(spectral_norm_bound(X), norm * (1 - off)) << n << " " << d;
    EXPECT_LE(spectral_norm_bound(X), norm * (1 + 1e-6)) << n << " " << d;  // as it says
    EXPECT_EQ(spectral_norm_bound(RowBlocks(X)), spectral_norm_bound(X)) << "one block is the matrix";
  }
  const RowMatrix wide = sphere(3, 200'000);  // whose d x d matrix would take 320 GB
  const double norm = norm2(wide * wide.transpose());
  EXPECT_NEAR(spectral_norm_bound(RowBlocks(wide)), std::sqrt(norm), 1e-6);  // as it says
  EXPECT_THROW(spectral_norm_bound(RowMatrix::Constant(2, 2, HUGE_VAL)), std::invalid_argument);
}

}  // namespace
}  // namespace zeroloss
