// Softmax regression on outputs: its optimum by finite differences, and what it is for.
#include "audit/logit_calibration.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "support/bounds.hpp"
#include "support/points.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss::internal {
namespace {

Matrix drawn_outputs(Index n, Index c, std::uint64_t seed) {
  return test::normal_matrix(n, c, seed, Stream::labels);
}

Matrix fitted(const Matrix& F, const Matrix& Q, double sharpness, double precision) {
  return LogitCalibration(F, sharpness, precision).fit(Q, Matrix::Zero(F.cols() + 1, F.cols()));
}

// sum_i sum_j q_ij log p_ij less precision/2 ||B||^2.
double objective(const Matrix& F, const Matrix& Q, double sharpness, double precision, const Matrix& B) {
  const Matrix P = softmax(linked(F, B, sharpness), sharpness);
  return (Q.array() * P.array().log()).sum() - precision / 2 * B.squaredNorm();
}

TEST(LogitCalibration, RowsOfASoftmaxAreProbabilities) {
  const Matrix S = softmax(drawn_outputs(20, 4, 1), 1000);
  EXPECT_LE((S.rowwise().sum().array() - 1).abs().maxCoeff(),
            test::gamma_of(2 * 4 + 1));  // two sums of 4 terms
  EXPECT_GE(S.minCoeff(), 0);
  const Matrix two = softmax(Matrix{{0.3, 0.1}}, 5);
  EXPECT_NEAR(two(0, 0), 1 / (1 + std::exp(-1)), test::gamma_of(10));  // 5 u in the argument, 5 of a logistic
}

// Where it ends no entry's change raises the objective, which is concave: it ends with a step below the
// header's 1e-4, and a step is the inverse of the bound of the Hessian times the gradient. The differences
// are off by far less.
TEST(LogitCalibration, IsTheLikeliestByFiniteDifferences) {
  for (const Index c : {2, 3, 6}) {
    const Matrix F = 0.5 * drawn_outputs(150, c, 2 + static_cast<std::uint64_t>(c));
    const Matrix mixed = F * drawn_outputs(c, c, 9);
    const Matrix Q = softmax(mixed, 3);
    const Matrix B = fitted(F, Q, 4, 10);
    const auto slope = [&](const Matrix& at, Index i, Index j) {
      Matrix up = at, down = at;
      up(i, j) += 1e-4;
      down(i, j) -= 1e-4;
      return (objective(F, Q, 4, 10, up) - objective(F, Q, 4, 10, down)) / 2e-4;
    };
    double here = 0, before = 0;
    for (Index i = 0; i <= c; ++i)
      for (Index j = 0; j < c; ++j) {
        here = std::max(here, std::abs(slope(B, i, j)));
        before = std::max(before, std::abs(slope(Matrix::Zero(c + 1, c), i, j)));
      }
    Matrix X(150, c + 1);
    X << F, Vector::Ones(150);
    Matrix bound = X.transpose() * X / 2;
    bound.diagonal().array() += 10;
    // As its header says.
    EXPECT_LT(here, 1e-4 * bound.cwiseAbs().rowwise().sum().maxCoeff()) << c << " classes";
    EXPECT_LT(here, before / 100) << c << " classes";  // it moved towards the minimum
    EXPECT_GT(objective(F, Q, 4, 10, B), objective(F, Q, 4, 10, Matrix::Zero(c + 1, c)));
  }
}

TEST(LogitCalibration, ChangesNothingThatIsRight) {
  const Matrix F = drawn_outputs(200, 3, 5);
  // the gradient is rounding: of 200 differences of probabilities, some 64 u each, times F or 1
  EXPECT_LE(fitted(F, softmax(F, 4), 4, 10).cwiseAbs().maxCoeff(),
            test::gamma_of(64) * (F.cwiseAbs().sum() + 200) / 10);
  EXPECT_EQ(linked(F, Matrix::Zero(4, 3), 4), F);
}

// Classes 0 and 1 overlap, 2 is far from both: outputs of the same margin say less of 0 against 1.
TEST(LogitCalibration, TellsWhereClassesOverlap) {
  Random random(7, Stream::labels);
  const Index n = 3000;
  Matrix F(n, 3), Q = Matrix::Zero(n, 3);
  for (Index i = 0; i < n; ++i) {
    const Index k = i % 3;
    const Index other = k == 2 ? 2 : random.uniform() < 0.3 ? 1 - k : k;  // what the predictor takes it for
    for (Index j = 0; j < 3; ++j) F(i, j) = (j == other ? 1.0 : 0.0) + 0.1 * random.normal();
    Q(i, k) = 1;
  }
  const Matrix B = fitted(F, Q, 4, 10);
  const Matrix S = softmax(linked(Matrix{{1, 0, 0}}, B, 4), 4);
  EXPECT_NEAR(S(0, 1), 0.3, 0.05);  // five standard deviations of the draw
  EXPECT_LT(S(0, 2), 0.01);         // far below
  EXPECT_TRUE(linked(F, B, 4).allFinite());
}

// One Newton step for each class, of the objective without the sample, its Hessian summed over the others: at
// the optimum their gradient is that of the sample, with the other sign.
TEST(LogitCalibration, LogitsWithoutASampleAreANewtonStepOfTheOthers) {
  for (const Index c : {2, 5}) {
    const Index n = 60;
    const double sharpness = 3, precision = 0.5;
    const Matrix F = drawn_outputs(n, c, 20 + static_cast<std::uint64_t>(c));
    const Matrix Q = softmax(F * drawn_outputs(c, c, 21), 2);
    const LogitCalibration link(F, sharpness, precision);
    const Matrix B = fitted(F, Q, sharpness, precision), without = link.logits_without(Q, B);
    const Matrix S = softmax(link.logits(B), 1);
    Matrix X(n, c + 1);
    X << F, Vector::Ones(n);
    for (Index i = 0; i < n; i += 7)
      for (Index j = 0; j < c; ++j) {
        Matrix H = precision * Matrix::Identity(c + 1, c + 1);
        for (Index k = 0; k < n; ++k)
          if (k != i) H += S(k, j) * (1 - S(k, j)) * X.row(k).transpose() * X.row(k);
        const Vector x = X.row(i);
        const Vector v = H.fullPivLu().solve(x), moved = B.col(j) + v * (S(i, j) - Q(i, j));
        // H is a sum of n terms, each with the 60 roundings of a probability, and is factorised
        const double size = H.trace() * v.squaredNorm() + std::abs(x.dot(v)) + sharpness * std::abs(F(i, j)) +
                            x.cwiseAbs().dot(B.col(j).cwiseAbs());
        const auto terms = static_cast<double>(n + 3 * (c + 1) + 60);
        EXPECT_NEAR(without(i, j), sharpness * F(i, j) + x.dot(moved), 2 * test::gamma_of(terms) * size)
            << i << " " << j;
      }
  }
}

// Fitted anew without the sample, logits move in the same direction. Steps of each class alone are longer:
// where two classes share a sample, the Hessian of both is up to twice what it is of each.
TEST(LogitCalibration, LogitsWithoutASampleAreNearThoseFittedAnew) {
  const Index n = 80, c = 3;
  const Matrix F = drawn_outputs(n, c, 31), Q = softmax(drawn_outputs(n, c, 32), 4);
  const LogitCalibration link(F, 2, 1);
  const Matrix B = fitted(F, Q, 2, 1), without = link.logits_without(Q, B), with = link.logits(B);
  double products = 0, squares = 0, all = 0;
  for (Index i = 0; i < n; ++i) {
    std::vector<Index> others;
    for (Index k = 0; k < n; ++k)
      if (k != i) others.push_back(k);
    const Matrix anew = fitted(F(others, Eigen::all), Q(others, Eigen::all), 2, 1);
    Eigen::RowVectorXd moved = 2 * F.row(i) + F.row(i) * anew.topRows(c) + anew.row(c) - with.row(i);
    Eigen::RowVectorXd said = without.row(i) - with.row(i);
    moved.array() -= moved.mean();  // a softmax does not see what all have in common
    said.array() -= said.mean();
    products += moved.dot(said);
    squares += moved.squaredNorm();
    all += said.squaredNorm();
  }
  EXPECT_GT(products / std::sqrt(squares * all), 0.95);
  EXPECT_GT(all, squares);
  EXPECT_LT(all, 4 * squares);
}

TEST(LogitCalibration, HoldsForFewSamplesAndLargeOutputs) {
  EXPECT_TRUE(fitted(Matrix::Zero(1, 2), Matrix{{1, 0}}, 8, 10).allFinite());
  const Matrix F = 1e6 * drawn_outputs(30, 3, 8);
  EXPECT_TRUE(fitted(F, softmax(F, 1), 0.01, 1000).allFinite());
}

}  // namespace
}  // namespace zeroloss::internal
