#include "train/engine/pattern_product.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <limits>
#include <vector>

#include "zeroloss/base/random.hpp"

namespace zeroloss {
using namespace internal;
namespace {

template <class T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

constexpr Index kSizes[] = {1, 2, 3, 5, 7, 8, 17, 33, 64, 100, 257};

template <class T>
Dense<T> normal(Index rows, Index cols, std::uint64_t seed) {
  Random random(seed, Stream::points);
  Dense<T> M(rows, cols);
  for (T& x : M.reshaped()) x = static_cast<T>(random.normal());
  return M;
}

// Pre-activations with every kind of number that a comparison with zero could mistake.
template <class T>
Dense<T> hard_signs(Index n, Index width, std::uint64_t seed) {
  using Limits = std::numeric_limits<T>;
  const T odd[] = {T{0},
                   -T{0},
                   Limits::quiet_NaN(),
                   -Limits::quiet_NaN(),
                   Limits::denorm_min(),
                   -Limits::denorm_min(),
                   Limits::infinity(),
                   -Limits::infinity()};
  Random random(seed, Stream::signs);
  Dense<T> Z = normal<T>(n, width, seed);
  for (T& z : Z.reshaped())
    if (const auto pick = random.below(24); pick < std::size(odd)) z = odd[pick];
  return Z;
}

template <class T>
Dense<T> product(const Dense<T>& A, const Dense<T>& Z) {
  Dense<T> P = Dense<T>::Constant(A.rows(), Z.cols(), std::numeric_limits<T>::quiet_NaN());
  pattern_product(A.data(), A.rows(), A.rows(), Z.data(), Z.rows(), Z.cols(), P.data());
  return P;
}

// Equal to the last bit, the sign of zero included.
template <class T>
bool identical(const Dense<T>& P, const Dense<T>& Q) {
  return (P.array() == Q.array()).all() && (P.array().isNaN() == Q.array().isNaN()).all() &&
         P.unaryExpr([](T x) { return T(std::signbit(x)); }) ==
             Q.unaryExpr([](T x) { return T(std::signbit(x)); });
}

template <class T>
class PatternProduct : public testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(PatternProduct, Precisions);

// Against sums in long double, within the stated bound. A lies in a taller matrix whose other entries are
// NaN.
TYPED_TEST(PatternProduct, IsTheProductWithinTheStatedError) {
  using T = TypeParam;
  const long double u = std::numeric_limits<T>::epsilon() / 2;
  for (const Index rows : kSizes)
    for (const Index n : kSizes) {
      const Index lda = rows + 3;
      Dense<T> tall = Dense<T>::Constant(lda, n, std::numeric_limits<T>::quiet_NaN());
      tall.topRows(rows) = normal<T>(rows, n, 1);
      const long double m = static_cast<long double>(8 + (n + 29) / 30);
      const long double gamma = m * u / (1 - m * u) + static_cast<long double>(n) * 0x1p-63L;
      for (const Index width : kSizes) {
        const auto Z = hard_signs<T>(n, width, static_cast<std::uint64_t>(width));
        Dense<T> P = Dense<T>::Constant(rows, width + 1, T{7});
        pattern_product(tall.data(), lda, rows, Z.data(), n, width, P.data());
        for (Index j = 0; j < width; ++j)
          for (Index i = 0; i < rows; ++i) {
            long double sum = 0, size = 0;
            for (Index k = 0; k < n; ++k)
              if (Z(k, j) >= 0) sum += tall(i, k), size += std::abs(tall(i, k));
            ASSERT_LE(std::abs(P(i, j) - sum), gamma * size)
                << rows << " x " << n << " x " << width << " at " << i << ", " << j;
          }
        ASSERT_TRUE((P.col(width).array() == T{7}).all()) << "wrote behind P";
      }
    }
}

TYPED_TEST(PatternProduct, IsExactOnIntegers) {
  using T = TypeParam;
  const Index rows = 65, n = 331, width = 70;
  const Dense<T> A = (normal<T>(rows, n, 2) * T{1000}).array().round();
  const auto Z = hard_signs<T>(n, width, 3);
  const Dense<T> D = Z.unaryExpr([](T z) { return T(z >= 0); });
  const Dense<T> expected = A.lazyProduct(D);
  EXPECT_EQ(product(A, Z), expected);
}

TYPED_TEST(PatternProduct, OfAllZerosAndOfAllOnes) {
  using T = TypeParam;
  for (const Index n : kSizes) {
    const Dense<T> A = (normal<T>(40, n, 4) * T{1000}).array().round();
    EXPECT_EQ(product<T>(A, Dense<T>::Constant(n, 9, T{-1})), Dense<T>::Zero(40, 9));
    EXPECT_EQ(product<T>(A, Dense<T>::Zero(n, 9)), A.rowwise().sum().replicate(1, 9));
  }
}

// What a pattern leaves out is not multiplied by zero: overflowed entries there do no harm.
TYPED_TEST(PatternProduct, NeverTouchesWhatThePatternLeavesOut) {
  using T = TypeParam;
  const Index n = 77;
  auto A = normal<T>(40, n, 5);
  auto Z = normal<T>(n, 20, 6);
  A.col(33).setConstant(std::numeric_limits<T>::infinity());
  A.col(76).setConstant(std::numeric_limits<T>::quiet_NaN());
  Z.row(33).setConstant(T{-1});
  Z.row(76).setConstant(T{-1});
  const auto P = product(A, Z);
  A.col(33).setZero();
  A.col(76).setZero();
  EXPECT_TRUE(P.allFinite());
  EXPECT_TRUE(identical(P, product(A, Z)));
}

TYPED_TEST(PatternProduct, OfNothing) {
  using T = TypeParam;
  EXPECT_EQ(product<T>(Dense<T>(3, 0), Dense<T>(0, 2)), Dense<T>::Zero(3, 2));
  EXPECT_EQ(product<T>(Dense<T>(0, 4), Dense<T>(4, 2)).size(), 0);
  EXPECT_EQ(product<T>(Dense<T>(3, 4), Dense<T>(4, 0)).size(), 0);
}

// An entry depends on its row and column only: not on the tile, the rows or the leading dimension around
// them.
TYPED_TEST(PatternProduct, HasTheSameBitsInEveryTile) {
  using T = TypeParam;
  const Index rows = 101, n = 257, width = 37;
  const auto A = normal<T>(rows, n, 7);
  const auto Z = hard_signs<T>(n, width, 8);
  const auto P = product(A, Z);
  for (const Index j : {0, 1, 36}) EXPECT_TRUE(identical<T>(product<T>(A, Z.col(j)), P.col(j)));
  for (const Index r : {0, 5, 99}) {
    Dense<T> some(rows - r, width);
    pattern_product(A.data() + r, rows, rows - r, Z.data(), n, width, some.data());
    EXPECT_TRUE(identical<T>(some, P.bottomRows(rows - r))) << r;
  }
}

// Every instruction set of this processor, from one number at a time to the longest vectors.
TYPED_TEST(PatternProduct, HasTheSameBitsOnEveryInstructionSet) {
  using T = TypeParam;
  struct Restore {
    ~Restore() { use(0); }
    static void use(std::int64_t targets) {
      hwy::SetSupportedTargetsForTest(targets);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    }
  } restore;
  for (const Index rows : kSizes)
    for (const Index n : {1, 5, 17, 31, 64, 257}) {
      const auto A = normal<T>(rows, n, 9);
      const auto Z = hard_signs<T>(n, 33, 10);
      restore.use(0);
      const auto P = product(A, Z);
      for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
        restore.use(target);
        ASSERT_TRUE(identical(product(A, Z), P)) << rows << " x " << n << " on " << hwy::TargetName(target);
      }
    }
}

}  // namespace
}  // namespace zeroloss
