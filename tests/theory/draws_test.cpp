// The statements about random weights, against weights that were drawn: what may fail with probability p
// fails no more often, and what lies behind (lemmas 1 to 3 of theory 4) is seen.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "support/decompositions.hpp"
#include "support/points.hpp"
#include "zeroloss/kernel/dual.hpp"
#include "zeroloss/theory/certify.hpp"

namespace zeroloss {
namespace {

using namespace test;
constexpr double pi = std::numbers::pi;

class Draws : public testing::Test {
 protected:
  Vector gaussian(Index d) {
    return Vector::NullaryExpr(d, [&] { return normal_(random_); });
  }
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }

 private:
  std::mt19937_64 random_{11};
  std::normal_distribution<double> normal_;
};

double least_eigenvalue(const Matrix& K) { return test::symmetric_eigenvalues(K)(0); }

Dataset unlabelled(RowMatrix X) {
  Dataset data;
  data.X = std::move(X);
  for (Index i = 0; i < data.n(); ++i) data.records.push_back(i);
  return data;
}

double width_of(const CertifyResult& found, std::string_view id) {
  const auto row = std::find_if(found.guarantees.begin(), found.guarantees.end(),
                                [&](const Guarantee& g) { return g.id == id; });
  EXPECT_TRUE(row->holds) << id << " " << row->reason;
  return row->width.value_or(0);
}

// Angle modulo sign.
double angle_between(const auto& x, const auto& y) {
  return 2 * std::atan2(std::min((x - y).norm(), (x + y).norm()), std::max((x - y).norm(), (x + y).norm()));
}

double least_angle(const RowMatrix& X) {
  double least = pi / 2;
  for (Index i = 0; i < X.rows(); ++i)
    for (Index j = 0; j < i; ++j) least = std::min(least, angle_between(X.row(i), X.row(j)));
  return least;
}

TEST_F(Draws, TheKernelAtTheStartKeepsHalfOfItsMean) {
  const RowMatrix X = sphere(6, 4);
  const auto found = certify(unlabelled(X), {.failure_probability = 0.5});
  const auto m = static_cast<Index>(width_of(found, "zl_b"));
  const Matrix G = X * X.transpose();
  int below = 0;
  double least = 1;
  for (int k = 0; k < 200; ++k) {
    Matrix K = Matrix::Zero(6, 6);
    for (Index j = 0; j < m; ++j) {
      const Vector D = ((X * gaussian(4)).array() >= 0).cast<double>();
      K += D * D.transpose();
    }
    const double lambda = least_eigenvalue(K.cwiseProduct(G) / static_cast<double>(m));
    below += lambda < *found.lambda_min_verified / 2;
    least = std::min(least, lambda / *found.lambda_min_verified);
  }
  EXPECT_LE(below, 100);
  EXPECT_LT(least, 1);  // it does fall below its mean
}

TEST_F(Draws, OutputLayerKeepsHalfOfItsMean) {
  const RowMatrix X = sphere(3, 6);
  const CertifyOptions options{.failure_probability = 0.5, .all_bounds = true};
  const auto found = certify(unlabelled(X), options);
  const auto m = static_cast<Index>(width_of(found, "os_3_2"));
  ASSERT_LT(m, 200'000);
  const Dual features = dual_activation(activation("relu"), false);
  const Matrix mean = (X * X.transpose()).unaryExpr([&](double rho) { return features(rho); });
  Matrix K = Matrix::Zero(3, 3);
  for (Index j = 0; j < m; ++j) {
    const Vector h = (X * gaussian(6)).cwiseMax(0);
    K += h * h.transpose();
  }
  // The proof's loss to truncation is below the mean, so half of all is more than what is claimed.
  EXPECT_GE(least_eigenvalue(K), static_cast<double>(m) / 2 * least_eigenvalue(mean));
}

TEST_F(Draws, ReluFeaturesHaveFullRank) {
  for (const Index n : {1, 2, 5, 9}) {
    RowMatrix X = sphere(n, 3);
    if (n > 1) X.row(1) = (X.row(0) + 0.05 * X.row(1)).normalized();
    const auto m = static_cast<Index>(width_of(certify(unlabelled(X), {.failure_probability = 0.5}), "zl_a"));
    int deficient = 0;
    for (int k = 0; k < 20; ++k) {
      Matrix Phi(n, m);
      for (Index j = 0; j < m; ++j) Phi.col(j) = (X * gaussian(3)).cwiseMax(0);
      deficient += Eigen::FullPivLU<Matrix>(Phi).rank() < n;
    }
    EXPECT_LE(deficient, 10) << n;
  }
}

// lambda >= theta/(8 pi n), without and with the product with G.
TEST_F(Draws, LambdaIsAboveTheAnglesBound) {
  double tightest = 1e9;
  for (const Index n : {2, 3, 6, 20})
    for (const Index d : {2, 3, 8})
      for (int k = 0; k < 20; ++k) {
        RowMatrix X(n, d);
        for (Index i = 0; i < n; ++i) X.row(i) = gaussian(d).normalized().transpose();
        X.row(1) = (X.row(0) + std::pow(10, uniform(-4, 1)) * X.row(1)).normalized();
        Matrix K(n, n);
        for (Index i = 0; i < n; ++i)
          for (Index j = 0; j < n; ++j) {
            const double apart = (X.row(i) - X.row(j)).norm(), across = (X.row(i) + X.row(j)).norm();
            K(i, j) = (pi - 2 * std::atan2(apart, across)) / (2 * pi);
          }
        const double bound = least_angle(X) / (8 * pi * static_cast<double>(n));
        const double lambda = least_eigenvalue(K);
        EXPECT_GE(lambda, bound) << n << " " << d;
        EXPECT_GE(least_eigenvalue(K.cwiseProduct(X * X.transpose())), bound);
        tightest = std::min(tightest, lambda / bound);
      }
  EXPECT_LT(tightest, 20);  // two close points: lambda = theta/(2 pi)
}

// Lemma 3: the density of the angle between crossings, and the mean of the least distance.
TEST_F(Draws, CrossingsKeepTheirDistance) {
  RowMatrix X(4, 3);
  for (Index i = 0; i < 4; ++i) X.row(i) = gaussian(3).normalized().transpose();
  const double theta = least_angle(X);
  constexpr int draws = 20'000;
  double sum = 0;
  int close = 0;
  const double within = 0.02;
  for (int k = 0; k < draws; ++k) {
    const Vector a = X * gaussian(3), b = X * gaussian(3);
    double least = pi / 2;
    for (Index i = 1; i < 4; ++i) {
      const double off = std::abs(std::remainder(std::atan2(b(i), a(i)) - std::atan2(b(0), a(0)), pi));
      least = std::min(least, off);
      if (i == 1) close += off < within;
    }
    sum += least;
  }
  EXPECT_GE(sum / draws, theta / 6);
  // The first point and the second: density (1 + cot(t)(pi/2 - t))/pi at 0, of both signs.
  const double t = angle_between(X.row(0), X.row(1));
  const double density = (1 + (pi / 2 - t) / std::tan(t)) / pi, expected = 2 * within * density;
  EXPECT_LE(density, 1 / (2 * t));
  EXPECT_NEAR(static_cast<double>(close) / draws, expected,
              5 * std::sqrt(expected / draws) + 0.01 * expected);
}

// Lemma 2: within R no more than tau of a point's signs change, and J by no more than sqrt(tau) ||X||.
TEST_F(Draws, FewSignsChangeNearTheStart) {
  constexpr Index n = 5, d = 3, m = 4000;
  const RowMatrix X = sphere(n, d);
  const double norm_X = std::sqrt(-least_eigenvalue(-(X * X.transpose())));
  const double tau = 0.1, R = std::sqrt(pi / 2) * tau / (1 + 1.0 / 16);
  Matrix change = Matrix::Zero(n, n);
  Vector flips = Vector::Zero(n);
  for (Index j = 0; j < m; ++j) {
    const Vector w = gaussian(d), moved = w + R * gaussian(d).normalized();
    const Vector E = ((X * w).array() >= 0).cast<double>() - ((X * moved).array() >= 0).cast<double>();
    change += E * E.transpose() / m;
    flips += E.cwiseAbs2();
  }
  EXPECT_LE(flips.maxCoeff(), tau * m);
  EXPECT_GT(flips.minCoeff(), 0);
  const double norm = std::sqrt(-least_eigenvalue(-change.cwiseProduct(X * X.transpose())));
  EXPECT_LE(norm, std::sqrt(tau) * norm_X);
}

}  // namespace
}  // namespace zeroloss
