// The vectorised loops against the same sums written down plainly: equal to the bit, on every instruction
// set.
#include "memorize/blocks.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "memorize/cases.hpp"
#include "support/targets.hpp"

namespace zeroloss {
using namespace internal;
namespace {

template <class T>
class Blocks : public testing::Test {
 protected:
  using Vector = Eigen::Vector<T, Eigen::Dynamic>;
  static Rows<T> numbers(Index rows, Index cols, std::uint64_t seed) {
    return test::normal_points(rows, cols, seed).template cast<T>();
  }
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Blocks, Types);

TYPED_TEST(Blocks, AffineIsTheSumOverPanels) {
  using T = TypeParam;
  for (const Index cols : {1, 3, 256, 257, 600})
    for (const Index rows : {1, 2, 4, 5, 11})
      for (const Index count : {32, 96}) {
        const Rows<T> U = this->numbers(rows, cols, 1), x = this->numbers(cols, count, 2);
        const typename TestFixture::Vector s = this->numbers(rows, 1, 3);
        test::on_each_target([&](std::int64_t target) {
          const bool fused = test::fuses(target);
          for (const bool shifted : {false, true}) {
            Rows<T> z(rows, count);
            blocks::affine(U.data(), shifted ? s.data() : nullptr, rows, cols, x.data(), count, z.data());
            for (Index a = 0; a < rows; ++a)
              for (Index i = 0; i < count; ++i) {
                const T product = test::inner_product<T>(&U(a, 0), &x(0, i), cols, count, fused);
                ASSERT_EQ(z(a, i), product + (shifted ? s(a) : T{0})) << cols << " " << a << " " << i;
              }
          }
        });
      }
}

TYPED_TEST(Blocks, LayersAreTheirFormula) {
  using T = TypeParam;
  using Vector = typename TestFixture::Vector;
  for (const Index k : {1, 2, 3, 4, 7, 16, 33}) {
    const Index layers = 5, count = 64, outputs = 3;
    const Rows<T> U = this->numbers(layers * k, k, 1), V = this->numbers(layers * k, k, 2) / T(4 * k);
    const Vector s = this->numbers(layers * k, 1, 3).array() - T{1};
    const Rows<T> h = this->numbers(k, count, 4), W = this->numbers(outputs, k, 5);
    test::on_each_target([&](std::int64_t target) {
      const bool fused = test::fuses(target);
      Rows<T> moved = h, y(outputs, count);
      Vector scratch(k * blocks::kPoints);
      blocks::residual<T>({k, k, k, U.data(), s.data(), V.data()}, layers, count, moved.data(),
                          scratch.data());
      blocks::output<T>({k, k, outputs, U.data(), s.data(), W.data()}, h.data(), count, y.data(),
                        scratch.data());
      for (Index i = 0; i < count; ++i) {
        Vector expected = h.col(i), out = Vector::Zero(outputs);
        test::add_layer<T>(U.topRows(k), s.head(k), W, expected, out, fused);
        for (Index j = 0; j < layers; ++j) {
          const Vector before = expected;
          test::add_layer<T>(U.middleRows(j * k, k), s.segment(j * k, k), V.middleRows(j * k, k), before,
                             expected, fused);
        }
        ASSERT_EQ(moved.col(i), expected) << "k = " << k << ", point " << i;
        ASSERT_EQ(y.col(i), out) << "k = " << k << ", point " << i;
      }
    });
  }
}

TYPED_TEST(Blocks, SilentBlocksChangeNothingAndNanStays) {
  using T = TypeParam;
  const Index k = 4, count = 32;
  const Rows<T> U = this->numbers(k, k, 1), V = this->numbers(k, k, 2);
  const typename TestFixture::Vector s = TestFixture::Vector::Constant(k, T{-1000});
  Rows<T> h = this->numbers(k, count, 3);
  h(2, 5) = std::numeric_limits<T>::quiet_NaN();
  Rows<T> moved = h;
  typename TestFixture::Vector scratch(k * blocks::kPoints);
  blocks::residual<T>({k, k, k, U.data(), s.data(), V.data()}, 1, count, moved.data(), scratch.data());
  for (Index i = 0; i < count; ++i)
    for (Index j = 0; j < k; ++j)
      if (i == 5)
        EXPECT_TRUE(std::isnan(moved(j, i)));
      else
        EXPECT_EQ(moved(j, i), h(j, i));
}

TEST(LargestProducts, AreTheLargest) {
  for (const Index cols : {1, 2, 16, 65, 300})
    for (const Index rows : {1, 3, 4, 10}) {
      const Index count = 160, stride = count + 7;
      const RowMatrix U = test::normal_points(rows, cols, 1), Z = test::normal_points(cols, stride, 2);
      test::on_each_target([&](std::int64_t target) {
        Vector largest = Vector::Constant(rows, -1e300);
        largest(0) = 1e300;
        blocks::largest_products(U.data(), rows, cols, Z.data() + 3, stride, count, largest.data());
        EXPECT_EQ(largest(0), 1e300);
        for (Index a = 1; a < rows; ++a) {
          double expected = -1e300;
          for (Index i = 0; i < count; ++i)
            expected = std::max(expected, test::inner_product<double>(&U(a, 0), &Z(0, 3 + i), cols, stride,
                                                                      test::fuses(target)));
          ASSERT_EQ(largest(a), expected) << cols << " " << a;
        }
      });
    }
}

}  // namespace
}  // namespace zeroloss
