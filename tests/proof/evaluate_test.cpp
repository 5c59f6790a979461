// Bounds of what rounding has changed hold for Gram matrices and for their eigenvalues.
#include "proof/evaluate.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace zeroloss {
using namespace internal;
namespace {

// Its square, 0.945 u and exact, is lost beside 1, with fused operations too.
constexpr double kShort = 1.375 * 0x1p-27, kLost = kShort * kShort;

// It is (1, kShort, .., kShort).
Vector one_that_hides(Index size) {
  Vector a = Vector::Constant(size, kShort);
  a(0) = 1;
  return a;
}

// The sum begins with 1 and stays there; exactly it is 1 + (size - 1) kLost.
double summed_squares(const Vector& a) {
  double sum = 0;
  for (const double entry : a) sum += entry * entry;
  return sum;
}

// Equal rows of two features, whose sums have one order. Every entry is off by kLost, a matrix of norm
// n kLost; what rounding does to one entry, gamma_4, is a fifteenth of that.
TEST(Evaluate, GramErrorsAreThoseOfAllRows) {
  constexpr Index n = 64;
  const RowMatrix X = one_that_hides(2).transpose().replicate(n, 1);
  Matrix G;
  point_gram(X, G);
  ASSERT_EQ(Matrix(G.selfadjointView<Eigen::Lower>()), Matrix::Ones(n, n));
  EXPECT_GE(verified::gram_error(G, 2, 0), n * kLost);
}

// One point: K is a sum over neurons times one over features, which are both 1 as computed. Exactly it is at
// least 1 + (m + d - 2) kLost; without the roundings of a long sum the bound is at most 0.54 of what is lost.
TEST(Evaluate, JacobianGramErrorsAreThoseOfBothSums) {
  constexpr Index kMany = 256;
  for (const auto& [m, d] : {std::pair<Index, Index>{kMany, 1}, {1, kMany}, {kMany, kMany}}) {
    SCOPED_TRACE(testing::Message() << "m = " << m << ", d = " << d);
    const Vector s = one_that_hides(m), x = one_that_hides(d);
    const Matrix K = Matrix::Constant(1, 1, summed_squares(s) * summed_squares(x));
    ASSERT_EQ(K(0, 0), 1);
    const double lost = static_cast<double>(m + d - 2) * kLost;
    EXPECT_GE(verified::jacobian_gram_error(K.diagonal(), m, d, 2 * x.norm(), s.maxCoeff(), 0), lost);
  }
}

// A point that is row_error longer than its row: an entry is off by 2 row_error, and by its square.
TEST(Evaluate, JacobianGramErrorsAreThoseOfThePointsToo) {
  for (const double row_error : {0x1p-50, 0x1p-30, 0x1p-10}) {
    const Matrix K = Matrix::Ones(1, 1);
    EXPECT_GE(verified::jacobian_gram_error(K.diagonal(), 1, 1, 1, 1, row_error),
              (2 + row_error) * row_error);
  }
}

TEST(Evaluate, PreActivationsAreThoseOfThePointsToo) {
  for (const double row_error : {0x1p-50, 0x1p-30, 0x1p-10}) {
    const RowMatrix one = RowMatrix::Ones(1, 1);
    const auto z = verified::pre_activations(one, one, row_error);
    EXPECT_EQ(z.Z(0, 0), 1);
    EXPECT_GE(z.error(0, 0), row_error);
    EXPECT_LE(z.least(0, 0), 1 - row_error);
  }
}

// Rows of J and residuals have the root of how often their point occurs, and so have their errors.
TEST(Evaluate, ErrorsHaveTheRootsOfCounts) {
  const RowMatrix X = RowMatrix::Ones(3, 2) + RowMatrix::Identity(3, 2);
  const Vector y = Vector::Zero(3), counts = Vector::Constant(3, 100);
  const TwoLayer network{RowMatrix::Constant(4, 2, 0.3), Vector::Ones(4)};
  const Activation& tanh = activation("tanh");
  const auto once = verified::evaluate(network, tanh, {X, y}),
             often = verified::evaluate(network, tanh, {X, y, counts});
  EXPECT_GT(once.jacobian_error, 0);
  EXPECT_GE(often.jacobian_error, 9.99 * once.jacobian_error);  // ten times, but for rounding
  EXPECT_GE(often.residual_error, 9.99 * once.residual_error);
  EXPECT_GE(often.misfit, 9.99 * once.misfit);
}

// K - error I and K + error I are within the error of K = diag(3, 1, 2).
TEST(Evaluate, EigenvaluesAreProvedForEveryMatrixWithinTheError) {
  const Matrix K = Vector{{3, 1, 2}}.asDiagonal();
  Matrix work;
  Progress progress;
  for (const double error : {0.25, 0.5, 0.75}) {
    const auto lowest = verified::lowest_eigenvalue(K, error, work, progress);
    EXPECT_GT(lowest.bound, 0) << "it is above the error by more than the proof gives away";
    EXPECT_LE(lowest.bound, 1 - error);
    EXPECT_GE(lowest.loss, error);
    EXPECT_GE(verified::highest_eigenvalue(K, error, work, progress).bound, 3 + error);
  }
  for (const double error : {1.0, 2.0})
    EXPECT_EQ(verified::lowest_eigenvalue(K, error, work, progress).bound, 0)
        << "a singular matrix is as near";
}

}  // namespace
}  // namespace zeroloss
