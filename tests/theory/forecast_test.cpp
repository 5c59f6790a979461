#include "zeroloss/theory/forecast.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "support/bounds.hpp"
#include "support/decompositions.hpp"
#include "support/points.hpp"

namespace zeroloss {
namespace {

using namespace test;

struct Setting {
  RowMatrix X;
  Matrix H, features, Y;
};

Setting make(Index n, Index d, Index classes, const char* phi) {
  Progress progress;
  Setting c{sphere(n, d), {}, {}, Matrix(n, classes)};
  c.H = dense(gram(c.X, sigma(activation(phi)), progress).K);
  c.features = dense(gram(c.X, sigma_features(activation(phi)), progress).K);
  Random(9, Stream::targets).fill_normal(c.Y);
  return c;
}

// The formula itself, with dense matrix powers.
double expected_misfit(const Setting& c, double eta, int k) {
  const Index n = c.H.rows();
  Matrix P = Matrix::Identity(n, n);
  for (int step = 0; step < k; ++step) P -= eta * (c.H * P).eval();
  const double classes = static_cast<double>(c.Y.cols());
  const double now = (P * c.Y).squaredNorm() + classes * (P * c.features * P.transpose()).trace();
  return std::sqrt(now / (c.Y.squaredNorm() + classes * c.features.trace()));
}

TEST(Forecast, IsTheFormulaWithMatrixPowers) {
  for (const char* phi : {"relu", "tanh"})
    for (const Index n : {1, 2, 25}) {
      const Setting c = make(n, 6, 3, phi);
      const auto measure = spectral_measure(pack(c.H), pack(c.features), c.Y);
      const auto f = forecast(measure, measure, 3, c.features.trace(), 0, 1e-3);
      EXPECT_EQ(f.step, 1.5 / measure.values.maxCoeff());
      EXPECT_EQ(f.stable_step, 2 / measure.values.maxCoeff());
      // Of the start, and of (1 - eta lambda)^k with eta lambda <= 1.5.
      const auto error = [&](double k) { return (2 + 1.5 * k) * backward_error(static_cast<double>(n)); };
      EXPECT_NEAR(f.start_misfit, std::sqrt((c.Y.squaredNorm() + 3 * c.features.trace()) / c.Y.squaredNorm()),
                  f.start_misfit * error(0));
      for (std::size_t i = 0; i < f.at_step.size() && f.at_step[i] <= 200; ++i)
        EXPECT_NEAR(f.misfit[i], expected_misfit(c, f.step, static_cast<int>(f.at_step[i])),
                    error(f.at_step[i]))
            << phi << n;
    }
}

TEST(Forecast, StepsToAccuracyIsTheFirstStepThatReachesIt) {
  const Setting c = make(20, 8, 1, "relu");
  const auto measure = spectral_measure(pack(c.H), pack(c.features), c.Y);
  for (const double accuracy : {0.9, 0.3, 0.05}) {
    const auto f = forecast(measure, measure, 1, c.features.trace(), 0.05, accuracy);
    const int k = static_cast<int>(f.steps_to_accuracy);
    const double error = (2 + 0.05 * measure.values.maxCoeff() * k) * backward_error(20);
    EXPECT_LE(expected_misfit(c, 0.05, k), accuracy + error);
    EXPECT_GT(expected_misfit(c, 0.05, k - 1), accuracy);
  }
  const auto unstable =
      forecast(measure, measure, 1, c.features.trace(), 2.01 / measure.values.maxCoeff(), 1e-3);
  EXPECT_TRUE(std::isinf(unstable.steps_to_accuracy));
}

// Lanczos on H early and on H^-1 late, with random probes: within 5 standard errors of the exact curve, or
// 1e-3 of it.
TEST(Forecast, LanczosAgreesWithAllEigenvalues) {
  Progress progress;
  const Setting c = make(600, 12, 2, "relu");
  const auto exact_measure = spectral_measure(pack(c.H), pack(c.features), c.Y);
  const auto exact = forecast(exact_measure, exact_measure, 2, c.features.trace(), 0, 1e-3);

  Matrix start(600, 2 + 32);
  start << c.Y, output_probes(c.X, activation("relu"), 32, 4);
  const auto H = pack(c.H);
  auto L = pack(c.H);
  const auto multiply = [&](const Matrix& V) { return product(H, V); };
  const auto divide = [&](const Matrix& V) {
    Matrix W = V;
    solve(L, W);
    return W;
  };
  const auto early = spectral_measure(block_lanczos(multiply, start, 10, 10, 0), 2);
  ASSERT_TRUE(factor(L, progress));
  auto inverse = block_lanczos(divide, start, 10, 10, 0);
  inverse.values = inverse.values.cwiseInverse();
  const auto late = spectral_measure(inverse, 2);
  const auto estimate = forecast(early, late, 2, c.features.trace(), 0, 1e-3);

  EXPECT_NEAR(estimate.step, exact.step, 1e-9 * exact.step);  // ten steps of Lanczos
  for (std::size_t i = 0; i < std::min(exact.misfit.size(), estimate.misfit.size()); ++i) {
    EXPECT_NEAR(estimate.misfit[i], exact.misfit[i], 5 * estimate.standard_error[i] + 1e-3 * exact.misfit[i])
        << exact.at_step[i];
    if (exact.misfit[i] > 1e-6) {  // far above rounding
      EXPECT_GT(estimate.standard_error[i], 0);
      EXPECT_LT(estimate.standard_error[i], 0.1 * exact.misfit[i]) << exact.at_step[i];
    }
  }
}

// E[u u^T] = Sigma~ for any width: sample covariance of N probes against it, each entry within 5 of its
// standard errors.
TEST(Forecast, ProbesHaveTheFeatureKernelAsCovariance) {
  constexpr Index kCount = 4000;
  for (const char* phi : {"relu", "softplus"}) {
    const Setting c = make(5, 3, 1, phi);
    const Matrix U = output_probes(c.X, activation(phi), kCount, 11);
    for (Index i = 0; i < 5; ++i)
      for (Index j = 0; j <= i; ++j) {
        const Eigen::ArrayXd products = U.row(i).array() * U.row(j).array();
        const double mean = products.mean();
        const double error = std::sqrt((products - mean).square().sum() / kCount / (kCount - 1));
        EXPECT_NEAR(mean, c.features(i, j), 5 * error) << phi << i << j;
      }
  }
}

TEST(Forecast, ProbesDependOnTheSeedOnly) {
  const RowMatrix X = sphere(10, 3);
  EXPECT_EQ(output_probes(X, activation("relu"), 3, 1), output_probes(X, activation("relu"), 3, 1));
  EXPECT_EQ(output_probes(X, activation("relu"), 3, 1),
            output_probes(X, activation("relu"), 5, 1).leftCols(3));
  EXPECT_NE(output_probes(X, activation("relu"), 3, 1), output_probes(X, activation("relu"), 3, 2));
}

TEST(Forecast, LeaveOneOutIsRefittingWithoutEachPoint) {
  const Setting c = make(15, 7, 2, "relu");
  const Matrix inverse = c.H.inverse();
  const Matrix all = inverse * c.Y, predicted = leave_one_out(c.Y, all, inverse.diagonal());
  const Vector values = symmetric_eigenvalues(c.H);
  const double error = 2 * solution_error(15, values(14) / values(0));  // of any solution here
  for (Index out = 0; out < 15; ++out) {
    std::vector<Index> rest;
    for (Index i = 0; i < 15; ++i)
      if (i != out) rest.push_back(i);
    const Matrix H = c.H(rest, rest), Y = c.Y(rest, Eigen::all);
    const Matrix beside = c.H(std::vector<Index>{out}, rest), solution = H.inverse() * Y,
                 row = beside * solution;
    const double of_ratio = all.norm() + (c.Y.row(out) - row).norm() * inverse.col(out).norm();
    const double size = of_ratio / inverse(out, out) + beside.norm() * solution.norm();
    EXPECT_LE((predicted.row(out) - row).norm(), error * size);
  }
}

TEST(Forecast, ComplexityIsTheFormula) {
  const Setting c = make(12, 6, 2, "erf");
  const Matrix inverse = c.H.inverse() * c.Y;
  const Vector found = complexity(c.Y, inverse);
  for (Index k = 0; k < 2; ++k) {
    const double product = c.Y.col(k).dot(inverse.col(k));
    const double size = c.Y.col(k).cwiseAbs().dot(inverse.col(k).cwiseAbs());
    EXPECT_NEAR(found(k), std::sqrt(2 * product / 12), found(k) * test::gamma_of(12 + 4) * size / product);
  }
}

}  // namespace
}  // namespace zeroloss
