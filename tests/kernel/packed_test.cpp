#include "zeroloss/kernel/packed.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <set>

#include "support/bounds.hpp"
#include "support/points.hpp"
#include "zeroloss/base/error.hpp"

extern "C" int dpftrf_(const char*, const char*, const int*, double*, int*);

namespace zeroloss {
namespace {

using namespace test;

// Odd and even, below and above one and three blocks of 512 columns.
const Index kSizes[] = {1, 2, 3, 4, 5, 8, 31, 64, 257, 511, 1024, 1031, 1100, 1601};

Matrix positive(Index n, std::uint64_t seed = 1) {
  Matrix A(n, n);
  Random(seed, Stream::points).fill_normal(A);
  return Matrix(A * A.transpose()) / static_cast<double>(n) + Matrix::Identity(n, n);
}

Matrix sizes(const Matrix& A) { return A.cwiseAbs(); }

Matrix random(Index n, Index m) {
  Matrix V(n, m);
  Random(2, Stream::points).fill_normal(V);
  return V;
}

TEST(Packed, EveryEntryHasItsOwnPlaceAndNoneIsWasted) {
  for (const Index n : {1, 2, 3, 4, 7, 10}) {
    Packed<double> A(n);
    std::set<const double*> places;
    for (Index j = 0; j < n; ++j)
      for (Index i = j; i < n; ++i) places.insert(&A(i, j));
    EXPECT_EQ(static_cast<Index>(places.size()), n * (n + 1) / 2);
    EXPECT_EQ(*places.begin(), A.data());
    EXPECT_EQ(*places.rbegin() - *places.begin() + 1, n * (n + 1) / 2);
    EXPECT_EQ(Packed<double>::bytes(n), 8.0 * static_cast<double>(places.size()));
  }
}

TEST(Packed, IsLapacksRectangularFullPackedFormat) {
  for (const Index n : {1, 2, 3, 6, 7, 40, 41}) {
    auto ours = pack(positive(n)), lapacks = pack(positive(n));
    const int size = static_cast<int>(n);
    int info = -1;
    dpftrf_("N", "L", &size, const_cast<double*>(lapacks.data()), &info);
    ASSERT_EQ(info, 0);
    Progress progress;
    ASSERT_TRUE(factor(ours, progress));
    // Both are the exact factor of a matrix within (n + 1) u trace(A) of A; a change E moves the factor by up
    // to
    // ||L|| ||A^-1|| ||E||, and here A >= I.
    const Matrix A = positive(n);
    const double close = 2 * static_cast<double>(n + 1) * kUnit * A.trace() * std::sqrt(A.norm());
    for (Index i = 0; i < n * (n + 1) / 2; ++i) ASSERT_NEAR(ours.data()[i], lapacks.data()[i], close) << n;
  }
}

TEST(Packed, FactorTimesItsTransposeIsTheMatrix) {
  for (const Index n : kSizes) {
    const Matrix A = positive(n);
    auto L = pack(A);
    Progress progress;
    ASSERT_TRUE(factor(L, progress));
    const Matrix full = dense(L).triangularView<Eigen::Lower>();
    // Backward error of Cholesky: gamma_{n+1} |L||L^T|, whose norm is at most gamma_{n+1} trace(A).
    EXPECT_LE((full * full.transpose() - A).norm(), static_cast<double>(n + 3) * kUnit * A.trace()) << n;
  }
}

TEST(Packed, ProductAndSolves) {
  for (const Index n : kSizes)
    for (const Index m : {1, 3}) {
      const Matrix A = positive(n), V = random(n, m);
      auto packed = pack(A);
      const auto terms = static_cast<double>(n);
      EXPECT_LE((product(packed, V) - A * V).norm(), 2 * test::gamma_of(terms) * (sizes(A) * sizes(V)).norm())
          << n;
      Progress progress;
      ASSERT_TRUE(factor(packed, progress));
      Matrix B = V;
      solve(packed, B);
      // (A + E) B = V with |E| <= gamma_(3n+1) |L| |L^T|, and A B has n terms.
      const Matrix full = dense(packed).triangularView<Eigen::Lower>();
      const Matrix size = sizes(full) * (sizes(full).transpose() * sizes(B));
      EXPECT_LE((A * B - V).norm(), test::gamma_of(4 * terms + 1) * size.norm()) << n;
      Matrix C = V;
      solve_forward(packed, C);
      solve_backward(packed, C);
      EXPECT_EQ(B, C);
      Matrix D = V;
      solve_forward(packed, D);
      EXPECT_LE((full * D - V).norm(), test::gamma_of(2 * terms + 1) * (sizes(full) * sizes(D)).norm());
    }
}

// The factor of float is that of double but for its own rounding, in memory that doubles take again.
TEST(Packed, FactorAndSolveInFloat) {
  constexpr double kSingle = 0x1p-24;
  for (const Index n : kSizes) {
    const Matrix A = positive(n);
    auto memory = pack(A);
    const double* const place = memory.data();
    auto L = Packed<float>::in_memory_of(std::move(memory));
    for (Index j = 0; j < n; ++j)
      for (Index i = j; i < n; ++i) L(i, j) = static_cast<float>(A(i, j));
    Progress progress;
    ASSERT_TRUE(factor(L, progress));
    const Matrix V = random(n, 3);
    Eigen::MatrixXf W = V.cast<float>();
    solve(L, W);
    // Entries are rounded once, the factorisation costs n + 1 roundings of the trace, either substitution as
    // much; A >= I, so that ||W|| <= ||V||, twice for what the perturbed matrix changes of it.
    const double close = 2 * static_cast<double>(3 * (n + 4)) * kSingle * A.trace() * V.norm();
    EXPECT_LE((A * W.cast<double>() - V).norm(), close) << n;
    auto back = Packed<double>::in_memory_of(std::move(L));
    EXPECT_EQ(back.data(), place);
    for (Index j = 0; j < n; ++j)
      for (Index i = j; i < n; ++i) back(i, j) = A(i, j);
    ASSERT_TRUE(factor(back, progress)) << n;
  }
}

TEST(Packed, InverseDiagonal) {
  for (const Index n : kSizes) {
    const Matrix A = positive(n);
    auto L = pack(A);
    Progress progress;
    ASSERT_TRUE(factor(L, progress));
    const Vector expected = A.llt().solve(Matrix::Identity(n, n)).diagonal();
    // ||A^-1|| <= 1, and each has the inverse of a matrix within gamma_(3n+1) trace(A) of A.
    const double close = 2 * test::gamma_of(3 * static_cast<double>(n) + 1) * A.trace();
    EXPECT_LE((inverse_diagonal(L, progress) - expected).lpNorm<Eigen::Infinity>(), close) << n;
  }
}

TEST(Packed, RoundedInPlaceToFloat) {
  constexpr double kSingle = 0x1p-24;
  for (const Index n : kSizes) {
    const Matrix A = positive(n);
    auto doubles = pack(A);
    const double* const place = doubles.data();
    const auto K = Packed<float>::rounded(std::move(doubles));
    EXPECT_EQ(static_cast<const void*>(K.data()), static_cast<const void*>(place));
    for (Index j = 0; j < n; ++j)
      for (Index i = j; i < n; ++i) ASSERT_EQ(K(i, j), static_cast<float>(A(i, j))) << n;
    auto L = K.copy();
    // Sums are double's, of entries that are rounded.
    const Matrix V = random(n, 3), rounded = A.cast<float>().cast<double>();
    const auto terms = static_cast<double>(n);
    EXPECT_LE((product(K, V) - rounded * V).norm(),
              2 * test::gamma_of(terms) * (sizes(rounded) * sizes(V)).norm());
    Progress progress;
    ASSERT_TRUE(factor(L, progress));
    const Vector expected = A.llt().solve(Matrix::Identity(n, n)).diagonal();
    // As InverseDiagonal below, in float32, whose sums of squares are double's.
    const double close = 2 * 3 * (terms + 2) * kSingle * A.trace() / (1 - 3 * (terms + 2) * kSingle);
    EXPECT_LE((inverse_diagonal(L, progress) - expected).lpNorm<Eigen::Infinity>(), close) << n;
  }
}

TEST(Packed, ShiftChangesTheDiagonalOnly) {
  const Matrix A = positive(9);
  auto packed = pack(A);
  shift_diagonal(packed, -0.25);
  EXPECT_EQ(dense(packed), A - 0.25 * Matrix::Identity(9, 9));
}

// A pivot that is zero, negative, NaN or infinite ends the factorisation, wherever it stands.
TEST(Packed, FactorRefusesWhatIsNotPositiveDefinite) {
  Progress progress;
  for (const Index n : {1, 2, 5, 600, 1101})
    for (const Index bad : {Index{0}, n / 2, n - 1})
      for (const double pivot : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
        auto A = pack(Matrix::Identity(n, n));
        A(bad, bad) = pivot;
        EXPECT_FALSE(factor(A, progress)) << n << " " << bad << " " << pivot;
      }
}

TEST(Packed, CancelsBetweenBlocks) {
  std::atomic<bool> cancel{true};
  Progress progress({}, &cancel);
  auto A = pack(positive(600));
  EXPECT_THROW(factor(A, progress), Interrupted);
}

TEST(Packed, AsksForMemoryBeforeTakingIt) {
  try {
    Packed<double> huge(20'000'000);
    FAIL();
  } catch (const ResourceError& error) {
    EXPECT_NE(std::string(error.what()).find("needs 1600000.1 GB"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace zeroloss
