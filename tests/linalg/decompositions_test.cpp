#include "linalg/decompositions.hpp"

#include <gtest/gtest.h>

#include "support/bounds.hpp"
#include "support/decompositions.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss::internal {
namespace {

Matrix normal_matrix(Index n, Index d, std::uint64_t seed) {
  Random random(seed, Stream::points);
  Matrix A(n, d);
  for (double& a : A.reshaped()) a = random.normal();
  return A;
}

// By another algorithm.
Vector by_svd(const Matrix& A, const Vector& b) {
  const auto size = static_cast<double>(std::max(A.rows(), A.cols()));
  return test::least_squares_by_svd(A, b, size * std::numeric_limits<double>::epsilon());
}

TEST(LeastSquares, OfEveryShapeAndRankIsTheShortest) {
  struct Shape {
    Index n, d, rank;
  };
  for (const auto [n, d, rank] : {Shape{1, 1, 1},
                                  {1, 5, 1},
                                  {5, 1, 1},
                                  {30, 7, 7},
                                  {7, 30, 7},
                                  {20, 20, 20},
                                  {30, 10, 4},
                                  {10, 30, 4},
                                  {6, 6, 0}}) {
    SCOPED_TRACE(testing::Message() << n << " x " << d << " of rank " << rank);
    const Matrix A = normal_matrix(n, rank, 1) * normal_matrix(rank, d, 2);
    const Vector b = normal_matrix(n, 1, 3).col(0);
    const Vector x = least_squares(A, b), expected = by_svd(A, b);
    // A change E of A by e ||A|| moves x by e (2 cond ||x|| + cond^2 ||r||/||A||) at most, and A's norm and
    // null space by as much again (Higham, section 20.1).
    const Vector s = test::jacobi_singular_values(A);
    const double cond = rank > 0 ? s(0) / s(rank - 1) : 1;
    const double of_residual = rank > 0 ? cond * cond * (A * expected - b).norm() / s(0) : 0;
    EXPECT_LE((x - expected).norm(), 2 * test::backward_error(static_cast<double>(std::max(n, d))) *
                                         (3 * cond * expected.norm() + of_residual));
  }
}

}  // namespace
}  // namespace zeroloss::internal
