#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "zeroloss/base/progress.hpp"
#include "zeroloss/deep/certificate.hpp"
#include "zeroloss/deep/prove.hpp"

namespace zeroloss {
namespace {

// Numbers whose squares and products leave the range of doubles: nothing false may be proved of them.
class DeepExtremes : public testing::Test {
 protected:
  static RowMatrix one(double value) { return RowMatrix::Constant(1, 1, value); }
  static Dataset points(const RowMatrix& X, const Vector& y, Task task = Task::regression) {
    Dataset data;
    data.name = "points";
    data.X = X;
    data.y = y;
    data.task = task;
    return data;
  }
  DeepCertificate certificate(const DeepNetwork& network, const Dataset& data, const std::string& layers) {
    return prove(network, data, {.layers = layers}, progress).networks.front().certificate;
  }
  Progress progress;
};

// |f| <= V with V fixed, and the target is 2 V: no exact network exists.
TEST_F(DeepExtremes, NothingExactBesideABoundedNetwork) {
  for (const int k : {80, 110, 130, 150, 155, 160, 163, 165, 170}) {
    const double x = std::pow(10.0, -k);
    for (const double V : {std::pow(10.0, k - 40), 1e120})
      for (const char* phi : {"tanh", "sigmoid", "erf", "sin"}) {
        const DeepNetwork network{.layers = {{.activation = phi, .W = one(0.3 / x)}}, .V = one(V)};
        const auto c = certificate(network, points(one(x), Vector::Constant(1, 2 * V)), "1");
        EXPECT_FALSE(c.exists) << phi << " " << x << " " << V;
      }
    const DeepNetwork network{.layers = {{.activation = "relu", .W = one(0.3 / x)}}, .V = one(1e120)};
    EXPECT_FALSE(certificate(network, points(one(x), Vector::Constant(1, -1e120)), "1").exists) << x;
  }
}

// x = (1, 0), a = big: J has the blocks s big (of W) and s big^2 (of U).
TEST_F(DeepExtremes, ScalesWhoseSquareUnderflowsCount) {
  for (const double s : {2.3e-162, 3e-162, 5e-162, 1e-150})
    for (const double big : {1e75, 1e80, 1e81, 1e82}) {
      Layer layer{.activation = "identity", .W = RowMatrix::Zero(1, 2), .residual = true};
      layer.W(0, 0) = big;
      layer.U = RowMatrix::Zero(2, 1);
      layer.U(1, 0) = 1;
      layer.scale = s;
      DeepNetwork network{.layers = {layer}, .V = RowMatrix::Zero(1, 2)};
      network.V(0, 1) = big;
      RowMatrix x = RowMatrix::Zero(1, 2);
      x(0, 0) = 1;
      const Matrix f = predict(network, x);
      const auto c = certificate(network, points(x, Vector::Constant(1, f(0, 0) * (1 + 1e-9))), "1");
      const long double J = static_cast<long double>(s) * big * big,
                        trace = J * J * (1 + 1 / (1.0L * big * big));
      const long double slack = 8 * 0x1p-64L;  // of products and a sum, with 64-bit mantissas
      EXPECT_LE(c.lambda_min, trace * (1 + slack)) << s << " " << big;
      if (c.descends) {
        EXPECT_GE(c.norm_J, std::sqrt(trace) * (1 - slack)) << s << " " << big;
      }
      EXPECT_TRUE(c.exists || !c.reason.empty());
    }
}

// Two outputs that differ by less than their errors, beside one that is 1e200 times as large.
TEST_F(DeepExtremes, SmallOutputsKeepTheirErrorsBesideLargeOnes) {
  const DeepNetwork small{
      .layers = {{.activation = "sigmoid", .W = one(0.7)}, {.activation = "sigmoid", .W = one(1.3)}},
      .V = (RowMatrix(2, 1) << 0.9, -0.4).finished()};
  DeepNetwork both = small;
  both.V = (RowMatrix(3, 1) << 0.9, -0.4, -1e200).finished();
  const auto alone = verified_outputs(small, one(0.37), progress),
             beside = verified_outputs(both, one(0.37), progress);
  for (Index k = 0; k < 2; ++k) {
    const double up = 64 * 0x1p-30 * alone.error(0, k);  // some factors of 1 + 2^-30
    EXPECT_NEAR(beside.error(0, k), alone.error(0, k), up);
  }
}

// leak times scale underflows; V makes up for it: f = V s leak (z2 - z1), of which the two z are off.
TEST_F(DeepExtremes, SlopesThatUnderflowKeepTheirErrors) {
  DeepNetwork network{
      .layers = {{.activation = "identity", .W = RowMatrix(2, 1), .b = Vector::Constant(2, 3)},
                 {.activation = "leaky_relu", .leak = 0.4, .W = RowMatrix(1, 2), .scale = 5e-324}},
      .V = one(1e300)};
  network.layers[0].W << 1.1, 1.1 * (1 + 1e-12);
  network.layers[1].W << -1e200, 1e200;
  RowMatrix x = one(-0.77);
  const auto outputs = verified_outputs(network, x, progress);
  const long double w0 = network.layers[0].W(0, 0), w1 = network.layers[0].W(1, 0);
  const long double z = (w1 * x(0, 0) + 3.0L) * 1e200L - (w0 * x(0, 0) + 3.0L) * 1e200L;
  const long double phi = z >= 0 ? z : 0.4 * z, exact = 1e300L * (static_cast<long double>(5e-324) * phi);
  EXPECT_GE(outputs.error(0, 0), std::abs(static_cast<double>(outputs.f(0, 0) - exact)));
}

// z is 0 up to rounding: the exact J may be that of the other sign, so that nothing is said of its
// eigenvalue.
TEST_F(DeepExtremes, NoEigenvalueIsProvedWhereASignIsNotCertain) {
  Dataset data = points((RowMatrix(1, 2) << 1, 1).finished(), Vector::Constant(1, 3));
  DeepNetwork network{
      .layers = {{.activation = "relu", .W = (RowMatrix(2, 2) << 0.1, -0.1, 0.3, 0.4).finished()}},
      .V = (RowMatrix(1, 2) << 3, 0.01).finished()};
  const auto c = certificate(network, data, "1");
  EXPECT_FALSE(c.exists);
  EXPECT_EQ(c.lambda_min, 0);
  EXPECT_EQ(c.neuron, 0);
  EXPECT_NE(c.reason.find("not certain"), std::string::npos);
}

}  // namespace
}  // namespace zeroloss
