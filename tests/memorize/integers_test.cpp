#include "memorize/integers.hpp"

#include <gtest/gtest.h>

#include "memorize/cases.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
namespace {
using namespace internal;

MemorizeOptions integer_options(std::uint64_t seed = 0) {
  MemorizeOptions options;
  options.construction = "integer";
  options.seed = seed;
  return options;
}

RowMatrix whole_points(Index n, Index d, double largest, std::uint64_t seed = 3) {
  Random random(seed, Stream::points);
  RowMatrix X(n, d);
  for (double& x : X.reshaped())
    x = static_cast<double>(random.below(static_cast<std::uint64_t>(largest))) - 3;
  return X;
}

Matrix one_hot(const Dataset& data) {
  Matrix Y = Matrix::Zero(data.n(), data.classes());
  for (Index i = 0; i < data.n(); ++i) Y(i, static_cast<Index>(data.y(i))) = 1;
  return Y;
}

/// The formula in 128-bit integers, which no sum of these overflows.
Matrix in_integers(const Memorizer& network, const RowMatrix& X) {
  using Wide = __int128;
  const auto wide = [](double x) { return static_cast<Wide>(x); };
  const Index k = network.hidden();
  Matrix Y(X.rows(), network.outputs());
  const auto layer = [&](const RowMatrix& U, const Vector& s, const RowMatrix& V, Index first, Index rows,
                         const std::vector<Wide>& h, std::vector<Wide>& y, Index first_output) {
    for (Index a = 0; a < rows; ++a) {
      Wide z = wide(s(first + a));
      for (Index c = 0; c < k; ++c) z += wide(U(first + a, c)) * h[static_cast<std::size_t>(c)];
      if (z <= 0) continue;
      for (std::size_t o = 0; o < y.size(); ++o) y[o] += wide(V(first_output + static_cast<Index>(o), a)) * z;
    }
  };
  for (Index i = 0; i < X.rows(); ++i) {
    std::vector<Wide> h;
    for (Index a = 0; a < k; ++a) {
      long double z = network.b_0(a);  // integers times powers of two: 64 bits hold their sums
      for (Index j = 0; j < X.cols(); ++j) z += static_cast<long double>(network.A_0(a, j)) * X(i, j);
      h.push_back(static_cast<Wide>(z));
    }
    for (Index block = 0; block < network.blocks(); ++block) {
      const std::vector<Wide> before = h;
      layer(network.U, network.s, network.V, block * k, k, before, h, block * k);
    }
    std::vector<Wide> y(static_cast<std::size_t>(network.outputs()), 0);
    layer(network.U_out, network.s_out, network.V_out, 0, network.U_out.rows(), h, y, 0);
    for (Index o = 0; o < network.outputs(); ++o)
      Y(i, o) = static_cast<double>(y[static_cast<std::size_t>(o)]);
  }
  return Y;
}

TEST(Integers, EveryLabelIsExact) {
  for (const Index n : {1, 2, 14, 300})
    for (const Index d : {1, 3, 50})
      for (const Index r : {1, 2, 10, 130}) {
        SCOPED_TRACE(testing::Message() << "n " << n << ", d " << d << ", r " << r);
        RowMatrix X = whole_points(n, d, 256);
        X.col(0) += Vector::LinSpaced(n, 0, static_cast<double>(300 * (n - 1)));  // all differ
        const Dataset data = test::labelled(X, r);
        const MemorizeResult result = memorize(data, integer_options());
        ASSERT_EQ(result.status, MemorizeStatus::memorized) << result.conclusion;
        EXPECT_EQ(result.proved_exact, n) << result.conclusion;
        EXPECT_EQ(result.proved_any_order, n);
        EXPECT_EQ(result.proved_error, 0);
        EXPECT_EQ(result.max_error, 0);
        const Memorizer& network = *result.network;
        EXPECT_EQ(predict(network, X), one_hot(data));
        EXPECT_EQ(in_integers(network, X), one_hot(data));
        EXPECT_LT(result.nonzero, result.parameters);
      }
}

TEST(Integers, PixelsOverAPowerOfTwoAreIntegersToo) {
  const Dataset data = test::labelled(whole_points(200, 20, 256) / 256, 10);
  const MemorizeResult result = memorize(data, integer_options());
  EXPECT_EQ(result.proved_any_order, 200) << result.conclusion;
}

TEST(Integers, ASumThatMayBeRoundedIsNoProof) {
  const Dataset data = test::labelled(whole_points(40, 5, 256), 3);
  Memorizer network = *memorize(data, integer_options()).network;
  Progress silent;
  ASSERT_TRUE(exact_outputs(network, data.X, silent));
  Memorizer fraction = network;
  fraction.V(0, 0) += 0.5;
  EXPECT_FALSE(exact_outputs(fraction, data.X, silent));
  Memorizer large = network;
  large.s(0) = 0x1p53;
  EXPECT_FALSE(exact_outputs(large, data.X, silent));
  EXPECT_FALSE(exact_outputs(network, RowMatrix(data.X.array() + 1e-3), silent));
}

TEST(Integers, WhatIsNoIntegerIsRefused) {
  const MemorizeResult real = memorize(test::labelled(test::normal_points(20, 4), 2), integer_options());
  EXPECT_EQ(real.status, MemorizeStatus::not_separated);
  EXPECT_NE(real.conclusion.find("points are to be integers"), std::string::npos) << real.conclusion;
  EXPECT_FALSE(real.network);
  RowMatrix X = whole_points(20, 4, 256);
  X.row(7) = X.row(3);
  Dataset data = test::labelled(X, 2);
  data.y(7) = 1 - data.y(3);
  EXPECT_THROW(memorize(data, integer_options()), DataError);
  data.y(7) = data.y(3);
  EXPECT_EQ(memorize(data, integer_options()).n_distinct, 19);
  MemorizeOptions options = integer_options();
  options.precision = "float32";
  EXPECT_THROW(memorize(data, options), std::invalid_argument);
  options = integer_options();
  options.hidden = 4;
  EXPECT_THROW(memorize(data, options), std::invalid_argument);
}

class IntegerFiles : public test::TempFolder {};

TEST_F(IntegerFiles, AModelFileHasTheSameNumbers) {
  const Dataset data = test::labelled(whole_points(60, 5, 256), 4);
  const Memorizer network = *memorize(data, integer_options()).network;
  save_model(path("m.safetensors"), network);
  EXPECT_EQ(predict(load_memorizer(path("m.safetensors")), data.X), one_hot(data));
}

}  // namespace
}  // namespace zeroloss
