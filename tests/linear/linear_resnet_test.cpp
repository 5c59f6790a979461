#include "zeroloss/linear/linear_resnet.hpp"

#include <gtest/gtest.h>

#include "support/bounds.hpp"
#include "support/decompositions.hpp"
#include "support/maps.hpp"
#include "support/numpy.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss {
namespace {

using namespace test;

double excess(const LinearProblem& problem, const LinearResnet& network) {
  const Matrix E = plain_product(network.A) - problem.R;
  return (E * problem.Sigma * E.transpose()).trace();
}

TEST(LinearResnet, LayerOneComesFirst) {
  LinearResnet network;
  network.A = {Matrix{{0, 1}, {0, 0}}, Matrix{{0, 0}, {1, 0}}};  // (1 0; 1 1) (1 1; 0 1)
  EXPECT_EQ(network.product(), (Matrix{{1, 1}, {1, 2}}));
  EXPECT_GE(network.max_norm(), 1);
  EXPECT_LE(network.max_norm(), 1 + 2 * 2 * 0x1p-49);  // the header's
}

// f = sigma (1 + a - r)^2, f' = 2 sigma (1 + a - r), exactly: all numbers are small integers.
TEST(LinearResnet, OneWeightByHand) {
  const auto problem = population(Matrix{{5}}, Matrix{{4}});
  const LinearResnet network{{Matrix{{1}}}};
  std::vector<Matrix> gradient;
  const Landscape at = landscape(problem, network, &gradient);
  EXPECT_EQ(at.excess_risk, 36);
  EXPECT_EQ(at.risk, 36);
  EXPECT_EQ(gradient[0](0, 0), -24);
  EXPECT_EQ(at.gradient_norm, 24);
  EXPECT_EQ(at.max_norm, 1);
  EXPECT_EQ(at.gradient_bound, 0);  // tau >= 1: nothing is said
}

// f is a quadratic of each weight: central differences of any step cut off nothing.
TEST(LinearResnet, GradientIsThatOfCentralDifferences) {
  for (const Index d : {1, 2, 3, 5})
    for (const Index l : {1, 2, 3, 7}) {
      const auto problem = population(gaussian(d, d, 7), covariance(d, 8));
      LinearResnet network = random_network(d, l, 0.5, 9);
      std::vector<Matrix> gradient;
      const Landscape at = landscape(problem, network, &gradient);
      EXPECT_NEAR(at.excess_risk, excess(problem, network),
                  2 * excess_rounding(problem, at.max_norm, l, at.excess_risk));
      double squares = 0;
      constexpr double h = 0.125;
      for (std::size_t layer = 0; layer < network.A.size(); ++layer)
        for (Index k = 0; k < d * d; ++k) {
          double& weight = *(network.A[layer].data() + k);
          const double here = weight;
          weight = here + h;
          const double up = excess(problem, network);
          weight = here - h;
          const double down = excess(problem, network);
          weight = here;
          const double slope = (up - down) / (2 * h);
          const double off = excess_rounding(problem, at.max_norm + h, l, std::max(up, down));
          const double allowed =
              difference_error(h, 0, off) + gradient_rounding(problem, at.max_norm, l, at.excess_risk);
          EXPECT_NEAR(*(gradient[layer].data() + k), slope, allowed) << d << " " << l;
          squares += *(gradient[layer].data() + k) * *(gradient[layer].data() + k);
        }
      EXPECT_NEAR(at.gradient_norm, std::sqrt(squares),
                  test::gamma_of(static_cast<double>(l * d * d) + 2) * at.gradient_norm);  // sums of squares
    }
}

TEST(LinearResnet, InequalityHoldsOnTenThousandInstances) {
  double closest = 1e300;
  for (std::uint64_t instance = 0; instance < 10'000; ++instance) {
    Random random(instance, Stream::probes);
    const auto d = static_cast<Index>(1 + random.below(5)), l = static_cast<Index>(1 + random.below(8));
    const auto problem = population(gaussian(d, d, 3 * instance), covariance(d, 3 * instance + 1));
    LinearResnet network = random_network(d, l, 1, 3 * instance + 2);
    const double largest = network.max_norm(), tau = random.uniform();
    for (Matrix& A : network.A) A *= tau / largest;
    const Landscape at = landscape(problem, network);
    EXPECT_NEAR(at.max_norm, tau, 16 * static_cast<double>(d * d) * test::kUnit + test::gamma_of(4));
    const auto power = static_cast<double>(l - 1);
    const double bound = 2 * std::sqrt(static_cast<double>(l) * problem.sigma_min * at.excess_risk) *
                         std::pow(1 - at.max_norm, power);
    // the power of an exponential: its argument, power log(1 - tau), has three roundings
    const double roundings = 12 + 3 * power * (1 - std::log1p(-at.max_norm));
    EXPECT_NEAR(at.gradient_bound, bound, test::gamma_of(roundings) * bound);
    EXPECT_GE(at.gradient_norm,
              at.gradient_bound - gradient_rounding(problem, at.max_norm, l, at.excess_risk))
        << instance;
    closest = std::min(closest, at.gradient_norm / at.gradient_bound);
  }
  EXPECT_LT(closest, 1.5);  // the instances come near the bound
}

// At A = 0 with Sigma = I the inequality is an equality: ||grad f||^2 = 4 l ||I - R||_F^2.
TEST(LinearResnet, InequalityIsSharpAtTheStart) {
  const auto problem = population(gaussian(4, 4, 1), Matrix::Identity(4, 4));
  const Landscape at = landscape(problem, LinearResnet{std::vector<Matrix>(6, Matrix::Zero(4, 4))});
  // sums of l d^2 squares and of d^2, under roots
  EXPECT_NEAR(at.gradient_norm, at.gradient_bound, test::gamma_of((6 * 16 + 16) / 2 + 8) * at.gradient_norm);
}

TEST(LinearResnet, RejectsNetworksOfAnotherShape) {
  const auto problem = population(Matrix::Identity(2, 2), Matrix::Identity(2, 2));
  EXPECT_MESSAGE(std::invalid_argument, landscape(problem, {}), "layers must be >= 1; got 0");
  EXPECT_MESSAGE(std::invalid_argument, landscape(problem, {{Matrix::Zero(2, 3)}}), "2 x 2", "2 x 3");
}

// ---- problems ----

TEST(LinearProblem, RiskOnDataIsTheMeanSquaredError) {
  for (const Index d : {1, 2, 6}) {
    const Index n = 5 * d;
    const RowMatrix X = gaussian(n, d, 1), Y = gaussian(n, d, 2);
    const auto problem = regression(X, Y);
    EXPECT_EQ(problem.n, n);
    const LinearResnet network = random_network(d, 3, 0.5, 3);
    const RowMatrix residual = Y - X * plain_product(network.A).transpose();
    const double mse = residual.squaredNorm() / static_cast<double>(n);
    // Sums of n terms and a decomposition of n rows: all are off by so much of what they are made of.
    const double off = backward_error(static_cast<double>(n)), size_X = X.norm(), size_Y = Y.norm();
    const double size = size_X * (plain_product(network.A).norm() + problem.R.norm()) + size_Y;
    EXPECT_NEAR(landscape(problem, network).risk, mse, off * size * size / static_cast<double>(n));
    // Least squares: residuals are orthogonal to X, and what is left is C.
    const RowMatrix left = Y - X * problem.R.transpose();
    EXPECT_LE((X.transpose() * left).norm(), off * size_X * (size_X * problem.R.norm() + size_Y));
    EXPECT_NEAR(problem.noise, left.squaredNorm() / static_cast<double>(n),
                off * size_Y * size_Y / static_cast<double>(n));
    EXPECT_LE((problem.Sigma - X.transpose() * X / static_cast<double>(n)).norm(),
              off * size_X * size_X / static_cast<double>(n));
    const double off_Sigma = backward_error(static_cast<double>(d)) * problem.Sigma.norm();
    EXPECT_LE((problem.root * problem.root.transpose() - problem.Sigma).norm(), off_Sigma);
    EXPECT_NEAR(problem.sigma_max, norm2(problem.Sigma), 2 * off_Sigma);
  }
}

// X^T X/4 = diag(2, 1/2).
TEST(LinearProblem, EigenvaluesOfSigmaAreTheLeastAndTheLargest) {
  const RowMatrix X{{2, 0}, {0, 1}, {-2, 0}, {0, 1}};
  const auto problem = regression(X, X);
  const double off = 2 * backward_error(4);  // of the singular values of X, squared
  EXPECT_NEAR(problem.sigma_max, 2, 2 * off);
  EXPECT_NEAR(problem.sigma_min, 0.5, 2 * off);
}

// QR is backward stable: the error of R is some u times the condition number 1e6 of X, where the normal
// equations would lose 1e12 u. Y is off by d roundings of ||X|| ||R||.
TEST(LinearProblem, FindsTheMapOfIllConditionedData) {
  const Matrix R = gaussian(4, 4, 1);
  const RowMatrix X = gaussian(50, 4, 2) * conditioned(4, 1, 1e6, 3);
  const auto problem = regression(X, X * R.transpose());
  const Vector s = jacobi_singular_values(Matrix(X));
  EXPECT_LE((problem.R - R).norm(), solution_error(50, s(0) / s(3)) * R.norm());
  EXPECT_LE(std::sqrt(50 * problem.noise), (backward_error(50) + test::gamma_of(4)) * X.norm() * R.norm());
}

TEST(LinearProblem, BadDataIsNamed) {
  const RowMatrix X = gaussian(10, 3, 1), Y = gaussian(10, 3, 2);
  EXPECT_MESSAGE(DataError, regression(X, Y.leftCols(2)), "Y must have d columns", "expected 3; found 2");
  EXPECT_MESSAGE(DataError, regression(X, Y.topRows(9)), "9 rows", "10");
  EXPECT_MESSAGE(DataError, regression(X.topRows(2), Y.topRows(2)), "X^T X is numerically singular",
                 "rank is 2", "d is 3", "at least 3");
  RowMatrix flat = X;
  flat.col(2) = flat.col(0) + 2 * flat.col(1);
  EXPECT_MESSAGE(DataError, regression(flat, Y), "X^T X is numerically singular", "rank is 2");
  EXPECT_MESSAGE(DataError, regression(RowMatrix::Zero(10, 3), Y), "rank is 0");
  RowMatrix broken = X;
  broken(4, 1) = std::nan("");
  EXPECT_MESSAGE(DataError, regression(broken, Y), "X has an entry that is not finite");
  EXPECT_MESSAGE(DataError, regression(RowMatrix(0, 3), RowMatrix(0, 3)), "0 x 3");
  EXPECT_MESSAGE(DataError, regression(1e200 * X, Y), "rescale");
}

TEST(LinearProblem, BadMapsAreNamed) {
  const Matrix I = Matrix::Identity(3, 3);
  EXPECT_MESSAGE(DataError, population(Matrix::Zero(2, 3), I), "square", "2 x 3");
  EXPECT_MESSAGE(DataError, population(I, Matrix::Identity(2, 2)), "3 x 3", "2 x 2");
  EXPECT_MESSAGE(DataError, population(I, Matrix{{1, 0, 0}, {0, 1, 0}, {0, 0, 0}}), "singular", "rank is 2");
  EXPECT_MESSAGE(DataError, population(I, Matrix{{1, 0, 0}, {0, 1, 0}, {0, 0, -1}}), "positive definite",
                 "-1");
  EXPECT_MESSAGE(DataError, population(I, Matrix{{1, 1, 0}, {0, 1, 0}, {0, 0, 1}}), "symmetric");
  Matrix broken = I;
  broken(0, 1) = std::nan("");
  EXPECT_MESSAGE(DataError, population(broken, I), "R has an entry that is not finite");
  EXPECT_MESSAGE(DataError, population(I, broken), "Sigma has an entry that is not finite");
}

TEST(LinearProblem, GeneratorsAreWhatTheySay) {
  const auto rotation = read_linear_problem("rotation:d=7,seed=3").problem.R;
  EXPECT_LE((rotation * rotation.transpose() - Matrix::Identity(7, 7)).norm(),
            backward_error(7) * rotation.norm());
  for (const Index d : {1, 2, 3, 4, 5, 6})
    for (std::uint64_t seed = 0; seed < 8; ++seed)
      EXPECT_NEAR(determinant(read_linear_problem("rotation:d=" + std::to_string(d), seed).problem.R), 1,
                  2 * static_cast<double>(d) * backward_error(static_cast<double>(d)));  // of Q, and of L U
  const auto named = read_linear_problem("gaussian:d=40");
  EXPECT_EQ(named.problem.Sigma, Matrix::Identity(40, 40));
  // ||R||_F^2 d is chi-square with d^2 degrees of freedom.
  EXPECT_NEAR(named.problem.R.squaredNorm() / 40, 1, 5.3 * std::sqrt(2.0 / 1600));
  EXPECT_EQ(named.digest, read_linear_problem("gaussian:d=40,seed=0", 9).digest);
  EXPECT_NE(named.digest, read_linear_problem("gaussian:d=40", 9).digest);
  for (const char* bad :
       {"gaussian:", "gaussian:d=0", "rotation:d=x", "rotation:n=3", "gaussian:d=3,seed=-1"})
    EXPECT_MESSAGE(std::invalid_argument, read_linear_problem(bad), bad, "expected gaussian:d=..");
}

class LinearFiles : public TempFolder {};

TEST_F(LinearFiles, ReadsDataAndMaps) {
  const RowMatrix X = gaussian(9, 2, 1), Y = gaussian(9, 2, 2), R = gaussian(2, 2, 3), S = covariance(2, 4);
  write_npz(path("d.npz"), {{"X", npy(X)}, {"Y", npy(Y)}});
  EXPECT_EQ(read_linear_problem(path("d.npz")).problem.R, regression(X, Y).R);
  const std::string map = write("R.npy", npy(R)), sigma = write("S.npy", npy(S));
  EXPECT_EQ(read_linear_map(map, "").problem.R, R);
  EXPECT_EQ(read_linear_map(map, "").problem.Sigma, Matrix::Identity(2, 2));
  EXPECT_EQ(read_linear_map(map, sigma).problem.Sigma, S);
}

TEST_F(LinearFiles, WhatIsNotAProblemIsNamed) {
  const RowMatrix X = gaussian(9, 2, 1);
  write_npz(path("none.npz"), {{"X", npy(X)}, {"y", npy(X.leftCols(1), "(9,)")}});
  EXPECT_MESSAGE(DataError, read_linear_problem(path("none.npz")), "Y must have d columns", "no array 'Y'",
                 "y (9,)");
  write_npz(path("wide.npz"), {{"X", npy(X)}, {"Y", npy(gaussian(9, 3, 2))}});
  EXPECT_MESSAGE(DataError, read_linear_problem(path("wide.npz")), "wide.npz", "Y must have d columns",
                 "found 3");
  EXPECT_MESSAGE(DataError, read_linear_problem(write("t.csv", "a,b\n1,2\n")), "Y must have d columns",
                 "npz");
  EXPECT_MESSAGE(DataError, read_linear_problem("digits"), "Y must have d columns");
  EXPECT_MESSAGE(DataError, read_linear_problem(path("absent.npz")), "no such file");
  EXPECT_MESSAGE(DataError, read_linear_map(path("absent.npy"), ""), "absent.npy");
  EXPECT_MESSAGE(DataError, read_linear_map(write("R.npy", npy(X)), ""), "R.npy", "square", "9 x 2");
}

}  // namespace
}  // namespace zeroloss
