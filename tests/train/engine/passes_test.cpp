#include "train/engine/passes.hpp"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include "support/targets.hpp"
#include "train/engine/phis.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss {
using namespace internal;
namespace {

using test::fuses;
using test::kAll;
using test::on_each_target;
using Real = long double;

TEST(Passes, PhiOfKnowsTheListAndNoOthers) {
  EXPECT_EQ(std::size(kAll), activation_names().size());
  for (const Phi phi : kAll) EXPECT_EQ(phi_of(activation(test::name(phi))), phi);
  Activation own = activation("relu");
  own.tabulated = false;  // a user's function that borrows the name
  EXPECT_THROW(phi_of(own), std::invalid_argument);
  own.tabulated = true;
  own.name = "elu";
  EXPECT_THROW(phi_of(own), std::invalid_argument);
}

template <class T>
class PassesOf : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(PassesOf, Types);

TYPED_TEST(PassesOf, NanComesOutAsNan) {
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN(), one = 1;
  on_each_target([&](std::int64_t) {
    for (const Phi phi : kAll) {
      for (const bool derivative : {false, true})
        for (const Index at : {0, 5, 16, 20}) {
          std::vector<TypeParam> values(21, one);
          values[static_cast<std::size_t>(at)] = nan;
          passes::map(phi, derivative, values.data(), 21);
          for (Index i = 0; i < 21; ++i) EXPECT_EQ(std::isnan(values[static_cast<std::size_t>(i)]), i == at);
        }
      TypeParam S = 0, sum = 0, f = 0, z = one;
      passes::coefficients(phi, &nan, 1, 1, &one, &S, &sum);
      EXPECT_TRUE(std::isnan(S) && std::isnan(sum)) << test::name(phi);
      passes::outputs(phi, &nan, 1, 1, &one, &f);
      EXPECT_TRUE(std::isnan(f)) << test::name(phi);
      f = 0;
      EXPECT_TRUE(std::isnan(passes::advance(phi, &one, &nan, 1, 1, &one, &z, &f)));
      EXPECT_TRUE(std::isnan(z) && std::isnan(f)) << test::name(phi);
    }
    TypeParam z = nan, f = 0, sum = 0;
    EXPECT_TRUE(std::isnan(passes::advance_relu(&one, &one, 1, 1, &one, &z, &f, &sum)));
    EXPECT_TRUE(std::isnan(z) && std::isnan(f) && std::isnan(sum));
  });
}

// Count numbers of N(0, scale^2) between guards, at an address that no vector is aligned to.
template <class T>
class Guarded {
 public:
  Guarded(Index count, Random& random, double scale = 1)
      : numbers_(static_cast<std::size_t>(count) + 33, kGuard) {
    for (Index i = 0; i < count; ++i) data()[i] = static_cast<T>(scale * random.normal());
  }
  T* data() { return numbers_.data() + 1; }
  const T& operator[](Index i) const { return numbers_[static_cast<std::size_t>(i) + 1]; }
  Index size() const { return static_cast<Index>(numbers_.size()) - 33; }
  bool operator==(const Guarded& other) const {  // bits, guards included
    return std::memcmp(numbers_.data(), other.numbers_.data(), numbers_.size() * sizeof(T)) == 0;
  }
  bool intact() const {
    for (Index i = size(); i < size() + 32; ++i)
      if ((*this)[i] != kGuard) return false;
    return numbers_[0] == kGuard;
  }

 private:
  static constexpr T kGuard = 77;
  std::vector<T> numbers_;
};

// What a step reads and writes.
template <class T>
struct Tile {
  Index n, width;
  Guarded<T> Z, P, S, sum, c, v, f;

  Tile(Index rows, Index columns, Random random)
      : n(rows),
        width(columns),
        Z(n * width, random, 2),
        P(n * width, random),
        S(n * width, random),
        sum(n * width, random),
        c(n, random),
        v(width, random),
        f(n, random) {}
  void outputs(Phi phi) { passes::outputs(phi, Z.data(), n, width, v.data(), f.data()); }
  void coefficients(Phi phi, bool summed = true) {
    passes::coefficients(phi, Z.data(), n, width, c.data(), S.data(), summed ? sum.data() : nullptr);
  }
  double advance(Phi phi) {
    return passes::advance(phi, S.data(), P.data(), n, width, v.data(), Z.data(), f.data());
  }
  double advance_relu() {
    return passes::advance_relu(c.data(), P.data(), n, width, v.data(), Z.data(), f.data(), sum.data());
  }
  bool operator==(const Tile& other) const {
    return Z == other.Z && S == other.S && sum == other.sum && f == other.f;
  }
  bool intact() const { return Z.intact() && S.intact() && sum.intact() && f.intact(); }
};

template <class T, class F>
void on_each_tile(const F& f) {
  for (const Index n : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 100})
    for (const Index width : {1, 2, 3, 4, 5, 9}) {
      SCOPED_TRACE(testing::Message() << n << " x " << width);
      f(Tile<T>(n, width, Random(7, Stream::points, static_cast<std::uint64_t>(100 * n + width))));
    }
}

// a b + c as the chosen target rounds it
template <class T>
T multiply_add(bool fused, T a, T b, T c) {
  if (fused) return std::fma(a, b, c);
  const volatile T product = a * b;  // volatile: the compiler must not fuse either
  return product + c;
}

template <class T>
T mapped(Phi phi, bool derivative, T z) {
  passes::map(phi, derivative, &z, 1);
  return z;
}

TYPED_TEST(PassesOf, EqualTheDefinitionToTheBit) {
  on_each_target([](std::int64_t target) {
    const bool fused = fuses(target);
    on_each_tile<TypeParam>([&](const Tile<TypeParam>& start) {
      for (const Phi phi : kAll) {
        SCOPED_TRACE(test::name(phi));
        auto expected = start, tile = start;
        tile.coefficients(phi);
        Real moved = 0, size = 0;
        for (Index ij = 0; ij < start.Z.size(); ++ij) {
          expected.S.data()[ij] = start.c[ij % start.n] * mapped(phi, true, start.Z[ij]);
          expected.sum.data()[ij] += expected.S[ij];
        }
        ASSERT_TRUE(tile == expected && tile.intact());
        tile.sum = start.sum;
        tile.S = start.S;
        tile.coefficients(phi, false);
        ASSERT_TRUE(tile.S == expected.S && tile.sum == start.sum);

        tile.outputs(phi);
        for (Index ij = 0; ij < start.Z.size(); ++ij) {
          TypeParam& f = expected.f.data()[ij % start.n];
          f = multiply_add(fused, start.v[ij / start.n], mapped(phi, false, start.Z[ij]), f);
        }
        ASSERT_TRUE(tile.f == expected.f && tile.intact());

        const double result = tile.advance(phi);
        for (Index ij = 0; ij < start.Z.size(); ++ij) {
          TypeParam &f = expected.f.data()[ij % start.n], &z = expected.Z.data()[ij];
          const TypeParam v = start.v[ij / start.n];
          z = multiply_add(fused, -v, start.P[ij], z);
          f = multiply_add(fused, v, mapped(phi, false, z), f);
          const Real term = Real{v} * v * expected.S[ij] * start.P[ij];
          moved += term;
          size += std::abs(term);
        }
        ASSERT_TRUE(tile.Z == expected.Z && tile.f == expected.f && tile.intact());
        ASSERT_NEAR(result, static_cast<double>(moved), 20 * DBL_EPSILON * static_cast<double>(size));
      }
    });
  });
}

TYPED_TEST(PassesOf, ReluStepEqualsCoefficientsThenAdvance) {
  on_each_target([](std::int64_t) {
    on_each_tile<TypeParam>([](const Tile<TypeParam>& start) {
      auto two = start, one = start;
      two.coefficients(Phi::relu);
      const double expected = two.advance(Phi::relu);
      EXPECT_EQ(one.advance_relu(), expected);
      EXPECT_TRUE(one.Z == two.Z && one.f == two.f && one.sum == two.sum && one.intact());
    });
  });
}

TYPED_TEST(PassesOf, TargetsThatFuseAgreeToTheBitAndSoDoTheOthers) {
  const Tile<TypeParam> start(103, 37, Random(8, Stream::points));
  std::vector<TypeParam> points;
  Random random(9, Stream::points);
  for (const double end : {1.0, 20.0, 800.0})
    for (int k = 0; k < 5000; ++k) points.push_back(static_cast<TypeParam>(end * (2 * random.uniform() - 1)));
  for (const Phi phi : kAll) {
    std::vector<std::vector<TypeParam>> all[2];
    on_each_target([&](std::int64_t target) {
      auto tile = start;
      tile.coefficients(phi);
      tile.outputs(phi);
      const double moved = tile.advance(phi) + (phi == Phi::relu ? tile.advance_relu() : 0);
      std::vector<TypeParam> numbers;
      for (const auto* part : {&tile.Z, &tile.S, &tile.sum, &tile.f})
        for (Index i = 0; i < part->size(); ++i) numbers.push_back((*part)[i]);
      numbers.push_back(static_cast<TypeParam>(moved));
      numbers.push_back(static_cast<TypeParam>(moved - static_cast<TypeParam>(moved)));  // its low bits too
      for (const bool derivative : {false, true}) {
        auto values = points;
        passes::map(phi, derivative, values.data(), static_cast<Index>(values.size()));
        numbers.insert(numbers.end(), values.begin(), values.end());
      }
      all[fuses(target)].push_back(numbers);
    });
    for (const auto& group : all)
      for (const auto& numbers : group)
        EXPECT_EQ(std::memcmp(numbers.data(), group.front().data(), numbers.size() * sizeof(TypeParam)), 0)
            << test::name(phi);
  }
}

}  // namespace
}  // namespace zeroloss
