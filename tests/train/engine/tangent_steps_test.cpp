// A step of Gauss-Newton, against the n x n system written down: solved by way of float32, and without.
#include "train/engine/tangent_steps.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "support/two_layer.hpp"
#include "train/trajectory_oracle.hpp"

namespace zeroloss::test {
using namespace internal;
namespace {

struct Solved {
  Vector c;
  double diagonal = 0;
};
Solved solved(const Problem& p, double mu, Space space, double enough = 1e-8) {
  const auto data = points<double>(p.X, space);
  const auto steps = tangent_steps(p.X, data, p.network, p.phi, space);
  Progress silent;
  Solved result{{}, steps->form(0)};
  result.c = steps->solve(mu, p.r(), enough, silent).value();
  return result;
}

Matrix kernel_of(const Problem& p) {
  const Matrix S = p.D() * p.network.v.asDiagonal();
  return (S * S.transpose()).cwiseProduct(p.X * p.X.transpose());
}

double left_of(const Matrix& K, double mu, const Vector& c, const Vector& r) {
  return (r - K * c - mu * c).norm() / r.norm();
}

TEST(TangentStepsHere, SolveTheSystem) {
  for (const char* phi : {"relu", "tanh"})
    for (const Index n : {300, 1000, 1111})  // in double precision; by way of float32, whole tiles and not
      for (const Space space : {Space::weights, Space::gram}) {
        const Problem p = problem(phi, n, 60, 48, 3, "ntk");
        const Matrix K = kernel_of(p);
        const auto [c, diagonal] = solved(p, 1e-4, space);
        EXPECT_NEAR(diagonal, K.diagonal().maxCoeff(), 1e-12 * diagonal);   // some m + d roundings
        EXPECT_LE(left_of(K, 1e-4, c, p.r()), 1.01e-8) << phi << " " << n;  // 1e-8 is asked for
      }
}

// J with 1/2 + z/(2 t), cut off, in place of relu's slopes, and a step by it.
TEST(TangentStepsHere, SlopesOfReluAreMeansOverASpread) {
  constexpr double kSpread = 0.3;
  for (const Index n : {300, 1000})  // in double precision; by way of float32
    for (const Space space : {Space::weights, Space::gram}) {
      const Problem p = problem("relu", n, 60, 48, 3, "ntk");
      const Matrix Z = p.X * p.network.W.transpose();
      const Matrix D = (Z.array() / (2 * kSpread) + 0.5).cwiseMax(0.0).cwiseMin(1.0);
      ASSERT_TRUE((D.array() > 0.01 && D.array() < 0.99).any());
      const Matrix S = D * p.network.v.asDiagonal();
      const Matrix K = (S * S.transpose()).cwiseProduct(p.X * p.X.transpose());
      const auto data = points<double>(p.X, space);
      const auto steps = tangent_steps(p.X, data, p.network, p.phi, space);
      Progress silent;
      const double few = static_cast<double>(n + 60 + 48) * kUnit;  // roundings of a sum over any of them
      EXPECT_NEAR(steps->form(kSpread), K.diagonal().maxCoeff(), few * K.diagonal().maxCoeff());
      const Vector c = steps->solve(1e-4, p.r(), 1e-8, silent).value();
      EXPECT_LE(left_of(K, 1e-4, c, p.r()), 1.01e-8);  // 1e-8 is asked for
      const double length = steps->move(c);
      const Matrix step = S.transpose() * c.asDiagonal() * p.X;
      const double terms = (S.cwiseAbs().transpose() * c.cwiseAbs().asDiagonal() * p.X.cwiseAbs()).norm();
      const double size = p.network.W.norm() + terms;
      EXPECT_NEAR(length, step.norm(), 4 * few * size);  // in Gram space its square is a sum of n m terms
      EXPECT_LE((steps->weights() - (p.network.W - step)).norm(), 4 * few * size);
      const double moved = (p.X * step.transpose()).norm() / std::sqrt(static_cast<double>(Z.size()));
      EXPECT_NEAR(steps->moved(), moved, 4 * few * size);  // rows of X have unit length
    }
}

// Every point twice, with labels of its own: J J^T is singular, and float32 has no factor of it.
TEST(TangentStepsHere, SingularSystemsAreSolvedInDoublePrecision) {
  Problem p = problem("relu", 1200, 60, 48, 3, "ntk");
  p.X.bottomRows(600) = p.X.topRows(600).eval();
  const Matrix K = kernel_of(p);
  const double mu = 1e-8 * K.diagonal().maxCoeff();
  const Vector c = solved(p, mu, Space::weights).c;
  // Cholesky's (n + 1) u trace, the roundings of K, and those of the solution, of n u trace each
  // (Higham, 10.4).
  EXPECT_LE(left_of(K, mu, c, p.r()), 4 * 1201 * kUnit * K.trace() * c.norm() / p.r().norm());
}

TEST(TangentStepsHere, ThreadsChangeNoBit) {
  const Problem p = problem("relu", 1100, 30, 64, 3, "ntk");
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const Vector one = solved(p, 1e-4, Space::weights).c;
  omp_set_num_threads(3);
  const Vector three = solved(p, 1e-4, Space::weights).c;
  omp_set_num_threads(before);
  EXPECT_EQ(one, three);
}

TEST(TangentStepsHere, CanBeCancelled) {
  for (const Index n : {300, 1000}) {
    const Problem p = problem("relu", n, 30, 48, 3, "ntk");
    const auto data = points<double>(p.X, Space::weights);
    const auto steps = tangent_steps(p.X, data, p.network, p.phi, Space::weights);
    steps->form(0);
    std::atomic<bool> cancel{true};
    Progress progress({}, &cancel);
    EXPECT_THROW(steps->solve(1e-3, p.r(), 1e-8, progress), Interrupted);
  }
}

// MNIST's first 10,000 images: what is asked for is 12 n^2 bytes, and little beside.
TEST(TangentStepsHere, BytesAreTwelveASquare) {
  const StepBytes bytes = tangent_step_bytes(10'000, 784, 1024, Space::weights);
  EXPECT_DOUBLE_EQ(bytes.kept, 4.0 * 10'000 * 10'001 + 8.0 * (10'000 * 784 + 10'000 * 1024 + 1024 * 784));
  EXPECT_DOUBLE_EQ(bytes.at_work, 8.0 * 10'000 * 10'000 + 12.0 * 10'000 * 1024);
}

}  // namespace
}  // namespace zeroloss::test
