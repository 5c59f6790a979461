#include "memorize/balls.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "memorize/cases.hpp"
#include "memorize/exact_sums.hpp"

namespace zeroloss {
namespace {
using namespace internal;

/// <w, x> + b in T, its terms in an order of their own.
template <class T>
T any_sum(const Eigen::Vector<T, Eigen::Dynamic>& w, const Eigen::Vector<T, Eigen::Dynamic>& x, T b,
          Random& random) {
  std::vector<T> terms{b};
  for (Index j = 0; j < w.size(); ++j) terms.push_back(w(j) * x(j));
  shuffle(terms, random);
  T sum = 0;
  for (const T term : terms) {
    const volatile T next = sum + term;  // rounded to T
    sum = next;
  }
  return sum;
}

/// Outputs of one execution: every sum of every point in another order.
template <class T>
Matrix any_execution(const Memorizer& network, const RowMatrix& X, Random& random) {
  using V = Eigen::Vector<T, Eigen::Dynamic>;
  const Index k = network.hidden();
  const auto row = [](const RowMatrix& A, Index i) { return V(A.row(i).transpose().cast<T>()); };
  Matrix Y(X.rows(), network.outputs());
  for (Index i = 0; i < X.rows(); ++i) {
    V x = row(X, i), h(k);
    if (network.precision == "float32") x = x.template cast<float>().template cast<T>();
    for (Index a = 0; a < k; ++a)
      h(a) = any_sum<T>(row(network.A_0, a), x,
                        network.b_0.size() > 0 ? static_cast<T>(network.b_0(a)) : T{0}, random);
    for (Index block = 0; block < network.blocks(); ++block) {
      V r(k);
      for (Index a = 0; a < k; ++a)
        r(a) = std::max(T{0}, any_sum<T>(row(network.U, block * k + a), h,
                                         static_cast<T>(network.s(block * k + a)), random));
      const V before = h;
      for (Index a = 0; a < k; ++a) h(a) = any_sum<T>(row(network.V, block * k + a), r, before(a), random);
    }
    V r(network.U_out.rows());
    for (Index a = 0; a < r.size(); ++a)
      r(a) = std::max(T{0}, any_sum<T>(row(network.U_out, a), h, static_cast<T>(network.s_out(a)), random));
    for (Index o = 0; o < network.outputs(); ++o)
      Y(i, o) = static_cast<double>(any_sum<T>(row(network.V_out, o), r, T{0}, random));
  }
  return Y;
}

/// Numbers of a kind that a memoriser would not have: neurons wake anywhere.
Memorizer drawn(Index d, Index k, Index blocks, const std::string& precision, std::uint64_t seed) {
  Random random(seed, Stream::weights);
  const bool single = precision == "float32";
  const auto fill = [&](RowMatrix& A, Index rows, Index cols, double size) {
    A.resize(rows, cols);
    for (double& a : A.reshaped()) {
      a = size * random.normal();
      if (single) a = static_cast<float>(a);
    }
  };
  Memorizer network;
  network.precision = precision;
  RowMatrix s, s_out;
  const double size = 1 / std::sqrt(static_cast<double>(k));
  fill(network.A_0, k, d, size);
  fill(network.U, blocks * k, k, size);
  fill(network.V, blocks * k, k, 0.3 * size);
  fill(s, blocks * k, 1, 1);
  fill(network.U_out, 3, k, size);
  fill(s_out, 3, 1, 0.1);
  fill(network.V_out, 2, 3, 1);
  network.s = s.col(0), network.s_out = s_out.col(0);
  return network;
}

/// Every execution lies in the balls; how many points have balls in the network's own precision.
Index expect_inside(const Memorizer& network, const RowMatrix& X) {
  Progress silent;
  Index bounded = 0;
  Random random(7, Stream::probes);
  // 64 bits are 2^-11 of a double's rounding, which every error counts several times.
  const Matrix real = any_execution<long double>(network, X, random);
  std::vector<Matrix> own;
  for (int order = 0; order < 3; ++order)
    own.push_back(network.precision == "float32" ? any_execution<float>(network, X, random)
                                                 : any_execution<double>(network, X, random));
  own.push_back(predict(network, X));
  each_ball(network, X, columns_of(X), silent, [&](const OutputBalls& balls) {
    for (Index i = 0; i < balls.centers.rows(); ++i) {
      bounded += balls.errors[kOwn].row(i).allFinite() ? 1 : 0;
      for (Index o = 0; o < balls.centers.cols(); ++o) {
        const double center = balls.centers(i, o);
        EXPECT_LE(std::abs(real(balls.first + i, o) - center), balls.errors[kExact](i, o)) << i;
        for (const Matrix& Y : own)
          EXPECT_LE(std::abs(Y(balls.first + i, o) - center), balls.errors[kOwn](i, o)) << i;
      }
    }
  });
  return bounded;
}

TEST(Balls, HoldEveryExecutionOfAnyNetwork) {
  for (const std::string precision : {"float32", "float64"})
    for (const Index k : {1, 2, 3, 8})
      for (const Index blocks : {1, 5, 12})
        for (const double size : {1e-6, 1.0, 30.0}) {
          SCOPED_TRACE(testing::Message()
                       << precision << ", k " << k << ", blocks " << blocks << ", " << size);
          const Memorizer network = drawn(6, k, blocks, precision, static_cast<std::uint64_t>(k + blocks));
          EXPECT_GT(expect_inside(network, size * test::normal_points(40, 6, 3)), size <= 1 ? 0 : -1);
        }
}

TEST(Balls, HoldEveryExecutionOfMemorisers) {
  for (const std::string precision : {"float32", "float64"})
    for (const bool integers : {false, true})
      for (const Index d : {1, 3, 40}) {
        SCOPED_TRACE(testing::Message() << precision << ", d " << d << (integers ? ", integers" : ""));
        RowMatrix X = test::normal_points(60, d, 5);
        if (integers) {
          X = (20 * X.array()).round();
          X.col(0) += Vector::LinSpaced(60, 200, 12000);  // they differ
        }
        MemorizeOptions options;
        options.precision = precision;
        options.hidden = 4;
        const Dataset data = test::labelled(X, 3);
        const MemorizeResult result = memorize(data, options);
        ASSERT_TRUE(result.network) << result.conclusion;
        expect_inside(*result.network, X);
      }
}

TEST(ExactSums, AreWhatFloatsHold) {
  RowMatrix X(2, 3);
  X << 255, 0.5, 0.1, 3, 1.5, 7;
  const Columns columns = columns_of(X);
  EXPECT_EQ(columns.quantum(0), 1);
  EXPECT_EQ(columns.quantum(1), 0.5);
  EXPECT_EQ(columns.quantum(2), 0) << "0.1 as a float has 24 bits below those of 7";
  EXPECT_TRUE(is_exact_sum(columns, Vector{{1, -2, 0}}, 0.25));
  EXPECT_FALSE(is_exact_sum(columns, Vector{{1, 0, 1}}, 0));
  EXPECT_TRUE(is_exact_sum(columns, Vector{{32896, 0, 0}}, 0)) << "255 * 32896 < 2^24";
  EXPECT_FALSE(is_exact_sum(columns, Vector{{32895, 0, 0}}, 0x1p24));
}

TEST(ExactSums, WeightsTakeAsManyColumnsAsFit) {
  const ExactWeights pixels =
      exact_weights({Vector::Constant(3072, 255), Vector::Ones(3072)}, Vector::Ones(3072));
  EXPECT_EQ(pixels.chosen, 3072u);
  EXPECT_EQ(pixels.largest, 5);  // 2^24/4 > 5 * 3072 * 255
  const ExactWeights wide =
      exact_weights({Vector::Constant(100000, 255), Vector::Ones(100000)}, Vector::Ones(100000));
  EXPECT_GE(wide.chosen, 32u);
  EXPECT_LE(static_cast<double>(wide.chosen) * 255, 0x1p24);
  EXPECT_TRUE(exact_weights({Vector::Ones(40), Vector::Zero(40)}, Vector::Ones(40)).columns.empty());
}

}  // namespace
}  // namespace zeroloss
