#include "graph/product.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>

// Products of matrices that are off, of values that are off, hold what exact arithmetic and runtimes make of
// them.
namespace zeroloss::internal::graph {
namespace {

__extension__ using Wide = __float128;  // of doubles, products are exact in it

class Products : public ::testing::Test {
 protected:
  double uniform(double low, double high) {
    return low + (high - low) * 0x1p-53 * static_cast<double>(bits() >> 11);
  }
  Index whole(Index count) { return static_cast<Index>(bits() % static_cast<std::uint64_t>(count)); }
  // Numbers that float32 holds, of sizes that differ.
  RowMatrix numbers(Index rows, Index cols, int range) {
    RowMatrix A(rows, cols);
    for (double& a : A.reshaped())
      a = whole(8) == 0 ? 0
                        : static_cast<double>(static_cast<float>(
                              std::ldexp(uniform(-1, 1), static_cast<int>(whole(2 * range + 1)) - range)));
    return A;
  }
  // What may be meant by A: within E of it, a number of float32 where `single`.
  RowMatrix within(const RowMatrix& A, const RowMatrix& E, bool single) {
    RowMatrix B = A;
    for (Index i = 0; i < A.rows(); ++i)
      for (Index k = 0; k < A.cols(); ++k) {
        double b = A(i, k) + (whole(2) == 0 ? (whole(2) == 0 ? 1.0 : -1.0) : uniform(-1, 1)) * E(i, k);
        if (single) b = static_cast<double>(static_cast<float>(b));
        if (std::abs(b - A(i, k)) <= E(i, k)) B(i, k) = b;
      }
    return B;
  }
  std::mt19937_64 bits{23};
};

// A float32 with so many bits behind its first, by cutting the others off or to the nearest.
float kept_bits(float x, int count, bool nearest) {
  const std::uint32_t drop = 23U - static_cast<std::uint32_t>(count);
  std::uint32_t word = std::bit_cast<std::uint32_t>(x);
  if (nearest) word += (1U << (drop - 1)) - 1 + ((word >> drop) & 1U);
  return std::bit_cast<float>(word >> drop << drop);
}

struct Drawn {
  RowMatrix W, W_error, X, X_error;
  Vector b, b_error, length;
  Product map() const { return {W, W_error, b, b_error}; }
};

constexpr Index kRows = 3;

// Y and its errors by rows, and by columns: of the same numbers.
struct Both {
  RowMatrix y{kRows, 0}, e, columns, columns_e;
};
Both enclosed(const Drawn& d, const Rounding& r) {
  const Index m = d.W.rows(), k = d.W.cols();
  Both made{RowMatrix(kRows, m), RowMatrix(kRows, m), RowMatrix(m, kRows), RowMatrix(m, kRows)};
  const Product map = d.map();
  map.of_rows(d.X.data(), d.X_error.data(), d.length.data(), kRows, r, made.y.data(), made.e.data());
  const RowMatrix X = d.X.transpose(), E = d.X_error.transpose();
  EXPECT_EQ(X.rows(), k);
  map.of_columns(X.data(), E.data(), d.length.maxCoeff(), kRows, r, made.columns.data(),
                 made.columns_e.data());
  return made;
}

class DrawnProducts : public Products {
 protected:
  Drawn drawn(bool single) {
    const Index m = 1 + whole(4), k = 1 + whole(30);
    const int range = static_cast<int>(whole(2) == 0 ? 3 : 20);
    Drawn d{.W = numbers(m, k, range),
            .W_error = {},
            .X = numbers(kRows, k, range),
            .X_error = {},
            .b = numbers(m, 1, range),
            .b_error = {},
            .length = {}};
    const double off = std::ldexp(1, -static_cast<int>(8 + whole(30)));
    d.W_error = whole(2) == 0 ? RowMatrix(RowMatrix::Zero(m, k)) : RowMatrix(off * d.W.cwiseAbs());
    d.b_error = d.b.cwiseAbs() * (whole(2) == 0 ? 0 : off);
    d.X_error =
        whole(3) == 0 ? RowMatrix(RowMatrix::Zero(kRows, k)) : RowMatrix(RowMatrix::Constant(kRows, k, off));
    meant_W = within(d.W, d.W_error, single);
    meant_b = within(d.b, d.b_error, single);
    meant_X = within(d.X, d.X_error, single);
    d.length = (meant_X - d.X).rowwise().norm() * kUp;  // now and then the smaller bound
    if (whole(2) == 0) d.length.setConstant(1e300);
    return d;
  }
  // In any order, beginning with the bias or not, fused or not.
  float run(const std::vector<float>& w, const std::vector<float>& x, float b, int sum_bits) {
    std::vector<std::size_t> order(w.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), bits);
    const bool first = whole(2) == 0, fused = whole(2) == 0;
    float sum = first ? b : 0;
    for (const std::size_t k : order) {
      sum = fused ? std::fma(w[k], x[k], sum) : sum + w[k] * x[k];
      if (sum_bits < 23) sum = kept_bits(sum, sum_bits, false);
    }
    return first ? sum : sum + b;
  }
  RowMatrix meant_W, meant_X;
  RowMatrix meant_b;
};

TEST_F(DrawnProducts, HoldExactOnes) {
  for (int draw = 0; draw < 1500; ++draw) {
    const Drawn d = drawn(false);
    const Both found = enclosed(d, {});
    for (Index i = 0; i < kRows; ++i)
      for (Index j = 0; j < d.W.rows(); ++j) {
        Wide y = meant_b(j, 0);
        for (Index k = 0; k < d.W.cols(); ++k) y += Wide{meant_W(j, k)} * Wide{meant_X(i, k)};
        const auto off = [&](double h) { return static_cast<double>(y < h ? h - y : y - h); };
        ASSERT_LE(off(found.y(i, j)), found.e(i, j)) << "draw " << draw;
        ASSERT_LE(off(found.columns(j, i)), found.columns_e(j, i)) << "draw " << draw;
      }
  }
}

TEST_F(DrawnProducts, HoldThoseOfFloat32AndOfTensorCores) {
  struct Format {
    Execution execution;
    int bits;
    bool nearest;
  };
  for (const Format& format : {Format{Execution::float32, 23, true}, Format{Execution::tf32, 10, false},
                               Format{Execution::tf32, 10, true}, Format{Execution::bfloat16, 7, true},
                               Format{Execution::float16, 10, true}}) {
    const Rounding r = rounding_of(format.execution, OnnxType::float32);
    Index known = 0;
    for (int draw = 0; draw < 1000; ++draw) {
      const Drawn d = drawn(true);
      const Both found = enclosed(d, r);
      for (Index i = 0; i < kRows; ++i)
        for (Index j = 0; j < d.W.rows(); ++j) {
          std::vector<float> w, x;
          for (Index k = 0; k < d.W.cols(); ++k) {
            const auto as = [&](double a) {
              const auto single = static_cast<float>(a);
              return format.bits == 23 ? single : kept_bits(single, format.bits, format.nearest);
            };
            w.push_back(as(meant_W(j, k)));
            x.push_back(as(meant_X(i, k)));
          }
          const double y = run(w, x, static_cast<float>(meant_b(j, 0)), format.bits == 23 ? 23 : 22);
          ASSERT_LE(std::abs(y - found.y(i, j)), found.e(i, j)) << format.bits << " draw " << draw;
          ASSERT_LE(std::abs(y - found.columns(j, i)), found.columns_e(j, i))
              << format.bits << " draw " << draw;
          known += found.e(i, j) < kInfinite ? 1 : 0;
        }
    }
    EXPECT_GT(known, 1000) << format.bits;
  }
}

TEST_F(DrawnProducts, LengthsOfErrorsHoldThoseOfAllOutputsTogether) {
  for (int draw = 0; draw < 500; ++draw) {
    const Drawn d = drawn(false);
    const Product map = d.map();
    for (Index i = 0; i < kRows; ++i) {
      const double length = map.length_of_error(length_above(d.X.row(i).data(), d.X.cols()),
                                                (meant_X.row(i) - d.X.row(i)).norm() * kUp, 1, 1, {});
      Wide squares = 0;
      for (Index j = 0; j < d.W.rows(); ++j) {
        Wide y = meant_b(j, 0);
        for (Index k = 0; k < d.W.cols(); ++k) y += Wide{meant_W(j, k)} * Wide{meant_X(i, k)};
        const Wide off = y - Wide{(d.W.row(j) * d.X.row(i).transpose()).value() + d.b(j)};
        squares += off * off;
      }
      ASSERT_LE(static_cast<double>(squares), length * length) << "draw " << draw;
    }
  }
}

TEST(ProductsBeyond, FactorsThatFloat16HasNotMakeThemUnknown) {
  const RowMatrix W = RowMatrix::Constant(1, 1, 70000);
  const Product map(W, {}, {}, {});
  const double x = 1;
  double y = 0, e = 0;
  map.of_rows(&x, nullptr, nullptr, 1, rounding_of(Execution::float16, OnnxType::float32), &y, &e);
  EXPECT_EQ(e, kInfinite);
  map.of_rows(&x, nullptr, nullptr, 1, rounding_of(Execution::bfloat16, OnnxType::float32), &y, &e);
  EXPECT_LT(e, kInfinite);
}

TEST(ProductsBeyond, NormsAreThoseOfTheMatrix) {
  RowMatrix W(2, 2);
  W << 3, 0, 0, -4;
  const Product map(W, {}, {}, {});
  EXPECT_GE(map.spectral(), 4);
  EXPECT_LE(map.spectral(), 4.01);  // a goal
  EXPECT_GE(map.frobenius(), 5);
  EXPECT_LE(map.frobenius(), 5 * (1 + 0x1p-28));  // 5, rounded up a few times by 2^-30
}

}  // namespace
}  // namespace zeroloss::internal::graph
