#include "zeroloss/deep/network.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/deep.hpp"
#include "support/rounding.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
namespace {

// f(x) by loops over the numbers of the definition.
std::vector<double> by_loops(const DeepNetwork& network, const Vector& x) {
  std::vector<double> h(x.data(), x.data() + x.size());
  const auto affine = [](const RowMatrix& W, const Vector& b, const std::vector<double>& h) {
    std::vector<double> z(static_cast<std::size_t>(W.rows()));
    for (Index j = 0; j < W.rows(); ++j) {
      z[j] = b.size() > 0 ? b(j) : 0;
      for (Index k = 0; k < W.cols(); ++k) z[j] += W(j, k) * h[k];
    }
    return z;
  };
  for (Index k = 0; k < x.size(); ++k) {
    if (network.shift.size() > 0) h[k] -= network.shift(k);
    if (network.shift_low.size() > 0) h[k] -= network.shift_low(k);
    if (network.factor.size() > 0) h[k] *= network.factor(k);
  }
  for (const Layer& layer : network.layers) {
    auto a = affine(layer.W, layer.b, h);
    const Activation activation = activation_of(layer);
    for (double& z : a) z = activation.phi(z);
    if (!layer.residual) {
      for (double& number : a) number *= layer.scale;
      h = a;
      continue;
    }
    auto branch = a;
    if (layer.U.size() > 0)
      branch = affine(layer.U, layer.bU, a);
    else
      for (std::size_t k = 0; k < h.size(); ++k) branch[k] += layer.bU.size() > 0 ? layer.bU(k) : 0;
    for (std::size_t k = 0; k < h.size(); ++k) h[k] += layer.scale * branch[k];
  }
  return affine(network.V, network.c, h);
}

TEST(DeepNetwork, IsItsDefinition) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const DeepNetwork network = test::random_network(seed);
    const RowMatrix X = test::random_rows(5, network.features(), seed);
    const Matrix f = predict(network, X), off = test::rounding(network, X);
    ASSERT_EQ(f.cols(), network.outputs());
    for (Index i = 0; i < X.rows(); ++i) {
      const auto exact = by_loops(network, X.row(i).transpose());
      for (Index k = 0; k < f.cols(); ++k) EXPECT_LE(std::abs(f(i, k) - exact[k]), 2 * off(i, k)) << seed;
    }
  }
}

TEST(DeepNetwork, RefusesSizesThatDoNotAgree) {
  DeepNetwork network = test::random_network(3);
  network.layers.back().W.conservativeResize(network.layers.back().units(),
                                             network.layers.back().inputs() + 1);
  EXPECT_THROW(check(network), std::invalid_argument);
  network = test::random_network(3);
  network.V(0, 0) = std::nan("");
  EXPECT_THROW(check(network), std::invalid_argument);
  network = test::random_network(3);
  network.layers.front().activation = "step";
  EXPECT_THROW(check(network), std::invalid_argument);
  network = test::random_network(3);
  EXPECT_THROW(predict(network, RowMatrix::Ones(2, network.features() + 1)), DataError);
}

TEST(DeepNetwork, SaysWhatItIs) {
  DeepNetwork network;
  network.layers = {
      Layer{.activation = "tanh", .W = RowMatrix::Ones(4, 2), .b = Vector::Ones(4)},
      Layer{.activation = "tanh", .W = RowMatrix::Ones(4, 4), .b = Vector::Ones(4)},
      Layer{.activation = "relu", .W = RowMatrix::Ones(3, 4), .residual = true, .U = RowMatrix::Ones(4, 3)}};
  network.V = RowMatrix::Ones(1, 4);
  EXPECT_EQ(describe(network),
            "2 layers of 4 tanh units, a layer of 3 relu residual units, 1 output, 60 weights");
}

}  // namespace
}  // namespace zeroloss
