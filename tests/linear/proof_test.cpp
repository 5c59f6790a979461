// What is called proved, against long double: its rounding is 2048 times smaller than that of double.
#include "linear/proof.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <limits>

#include "support/decompositions.hpp"
#include "support/maps.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/linear/factorize.hpp"

namespace zeroloss {
using namespace internal;
namespace {

using namespace test;

static_assert(std::numeric_limits<long double>::digits >= 64);
using Long = LongMatrix;

Long exact(const Matrix& A) { return A.cast<long double>(); }

Long identity(Index d) { return Long::Identity(d, d); }

long double norm(const Long& A) { return jacobi_singular_values(A)(0); }

// A determinant of integers, by fraction-free elimination (Bareiss): every intermediate is an integer minor.
__int128 determinant(std::vector<std::vector<__int128>> A) {
  const std::size_t d = A.size();
  __int128 before = 1, sign = 1;
  for (std::size_t k = 0; k + 1 < d; ++k) {
    std::size_t pivot = k;
    while (pivot < d && A[pivot][k] == 0) ++pivot;
    if (pivot == d) return 0;
    if (pivot != k) std::swap(A[pivot], A[k]), sign = -sign;
    for (std::size_t i = k + 1; i < d; ++i)
      for (std::size_t j = k + 1; j < d; ++j) A[i][j] = (A[i][j] * A[k][k] - A[i][k] * A[k][j]) / before;
    before = A[k][k];
  }
  return sign * A[d - 1][d - 1];
}

TEST(Proof, NormBoundIsAboveTheExactNorm) {
  int above_double = 0;
  for (const Index d : {1, 2, 3, 5, 10, 24})
    for (std::uint64_t seed = 0; seed < 40; ++seed)
      for (const double scale : {1.0, 1e-3, 3e200, 7e-250, 5e-324})
        for (Matrix A :
             {gaussian(d, d, seed), orthogonal(d, seed), Matrix(orthogonal(d, seed) - Matrix::Identity(d, d)),
              Matrix(gaussian(d, 1, seed) * gaussian(1, d, seed + 1)), Matrix(Matrix::Identity(d, d))}) {
          A *= scale;
          const long double largest = norm(exact(A));
          const double bound = verified::norm_bound(A);
          ASSERT_GE(bound, largest) << d << " " << seed << " " << scale;
          const auto D = static_cast<double>(d);
          ASSERT_LE(bound, largest * (1 + 16 * D * D * 0x1p-53L) + D * 0x1p-1020L) << d << " " << scale;
          above_double += norm2(A) < largest;
        }
  EXPECT_GT(above_double, 1000);  // a norm that is merely computed would not do
  EXPECT_EQ(verified::norm_bound(Matrix::Zero(3, 3)), 0);
  EXPECT_EQ(verified::norm_bound(Matrix{{-3}}), 3);
  EXPECT_EQ(verified::norm_bound(Matrix{{1, NAN}, {0, 1}}), std::numeric_limits<double>::infinity());
}

TEST(Proof, LeastSingularValueIsALowerBound) {
  for (const Index d : {1, 2, 3, 7, 20})
    for (const double condition : {1.0, 1e3, 1e8, 1e11, 1e13})
      for (const double scale : {1.0, 1e60, 1e-60})
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
          const Matrix R = scale * conditioned(d, 1, condition, seed);
          const auto s = jacobi_singular_values(exact(R));
          const verified::Nonsingular proof = verified::nonsingular(R);
          EXPECT_LE(proof.s_min, s(d - 1)) << d << " " << condition;
          const auto D = static_cast<long double>(d);
          const long double lost = 8 * D * D * 0x1p-53L * s(0) / s(d - 1);  // of ||I - X R||, relative
          EXPECT_GE(proof.s_min, s(d - 1) * (1 - 10 * lost)) << d << " " << condition;
          EXPECT_TRUE(proof.s_min > 0 || condition > 1e8) << d << " " << condition;
          EXPECT_TRUE(proof.s_min == 0 || proof.reverses == (exact(R).determinant() < 0));
        }
}

// Maps whose determinant is a small integer beside their entries, 0 among them: the exact sign is known.
TEST(Proof, OrientationOfNearlySingularMaps) {
  int proved = 0, singular = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed, Stream::probes);
    const auto d = static_cast<Index>(1 + random.below(5));
    const std::uint64_t size = std::uint64_t{1} << random.below(d < 4 ? 20 : 12);
    Matrix R(d, d);
    for (double& r : R.reshaped())
      r = static_cast<double>(random.below(2 * size + 1)) - static_cast<double>(size);
    if (d > 1 && seed % 3 > 0) R.row(d - 1) = R.topRows(d - 1).colwise().sum();
    if (d > 1 && seed % 3 == 2) R(d - 1, 0) += seed % 2 == 0 ? 1 : -1;
    std::vector<std::vector<__int128>> rows(static_cast<std::size_t>(d));
    for (Index i = 0; i < d; ++i)
      for (Index j = 0; j < d; ++j)
        rows[static_cast<std::size_t>(i)].push_back(static_cast<long long>(R(i, j)));
    const __int128 exactly = determinant(rows);
    const verified::Nonsingular proof = verified::nonsingular(R);
    if (exactly == 0) {
      ++singular;
      EXPECT_EQ(proof.s_min, 0) << R;
    } else if (proof.s_min > 0) {
      ++proved;
      EXPECT_EQ(proof.reverses, exactly < 0) << R;
    }
  }
  EXPECT_GT(singular, 500);
  EXPECT_GT(proved, 1500);
  for (int k = 1; k <= 16; ++k) {  // det = k 2^-52, which double cannot tell from 0 for small k
    const verified::Nonsingular proof = verified::nonsingular(Matrix{{1, 1}, {1, 1 + k * 0x1p-52}});
    EXPECT_LE(proof.s_min, k * 0x1p-53);
    EXPECT_FALSE(proof.reverses);
  }
}

// The factorisation that is claimed to exist, formed: one end layer is what the others leave of R.
TEST(Proof, AnExactFactorisationLiesBesideTheStoredOne) {
  struct Case {
    Matrix R;
    double condition;
  };
  std::vector<Case> cases{
      {-Matrix::Identity(2, 2), 1}, {Matrix{{16}}, 1}, {Matrix{{1e-3}}, 1}, {Matrix::Identity(3, 3), 1}};
  for (const Index d : {1, 2, 3, 6, 12})
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      cases.push_back({orthogonal(d, seed), 1});
      cases.push_back({gaussian(d, d, seed) + 3 * Matrix::Identity(d, d), 1e4});
      cases.push_back({conditioned(d, 1e4, 1e8, seed), 1e8});
      cases.push_back({conditioned(d, 1, 1e10, seed), 1e10});
    }
  int found = 0;
  for (auto& [R, condition] : cases) {
    const Index d = R.rows();
    if (R.determinant() < 0) R.row(0) = -R.row(0);
    const Factorizer factorizer(R);
    for (const Index l : {1, 2, 3, 5, 10, 100})
      for (const Factorization& f : factorizer.all(l)) {
        if (!f.missing.empty()) continue;
        ++found;
        SCOPED_TRACE(f.name + ", d = " + std::to_string(d) + ", l = " + std::to_string(l));
        const auto& A = f.network.A;
        Long but_last = identity(d), product = identity(d), but_first = identity(d);
        long double stored = 0;
        for (std::size_t i = 0; i < A.size(); ++i) {
          const Long factor = identity(d) + exact(A[i]);
          if (i + 1 < A.size()) but_last = (factor * but_last).eval();
          if (i > 0) but_first = (factor * but_first).eval();
          product = (factor * product).eval();
          if (i == 0 || A[i] != A[i - 1]) stored = std::max(stored, norm(exact(A[i])));
        }
        // This oracle's rounding: l sums of d + 2 terms, by partial products of a few times the norm of R.
        const long double here = 8 * 0x1p-64L * static_cast<long double>((d + 2) * l);
        EXPECT_LE((product - exact(R)).norm(), f.reconstruction_error + here * exact(R).norm());
        EXPECT_LE(stored, f.max_norm);
        // A_l = R (I + A_1)^-1 .. - I, or A_1 = .. (I + A_l)^-1 R - I.
        const Long last = exact(R) * but_last.inverse() - identity(d);
        const Long first = but_first.inverse() * exact(R) - identity(d);
        const long double doubt = here * static_cast<long double>(condition);
        EXPECT_LE(std::min(norm(first), norm(last)), f.max_norm + doubt);
        EXPECT_LE(std::min(norm(first - exact(A.front())), norm(last - exact(A.back()))),
                  f.correction + doubt);
        const auto D = static_cast<double>(d);  // nothing else is given away
        EXPECT_LE(f.max_norm, (stored + f.correction) * (1 + 32 * D * D * 0x1p-53));
        // 1e-12 d is what the header lets the product miss R by.
        EXPECT_TRUE(f.name == "logarithm" || f.correction <= 1e-12 * condition * D * D) << f.correction;
      }
  }
  EXPECT_GT(found, 800);
}

}  // namespace
}  // namespace zeroloss
