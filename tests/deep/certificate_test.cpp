#include "zeroloss/deep/certificate.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "deep/jacobian.hpp"
#include "deep/lipschitz.hpp"
#include "support/deep.hpp"
#include "support/rounding.hpp"
#include "zeroloss/deep/polish.hpp"

namespace zeroloss {
namespace {

struct Problem {
  DeepNetwork network;
  RowMatrix X;
  Matrix Y;
  DeepEquations equations() const { return {X, Y}; }
};

// L hidden layers in `ntk` scaling with +-1 as targets.
Problem problem(unsigned seed, Index n, Index d, Index width, int depth, const std::string& phi,
                bool residual = false, Index outputs = 1) {
  std::srand(seed);
  const auto gaussian = [](Index rows, Index columns) {  // close to it: sums of uniform numbers
    RowMatrix A = RowMatrix::Zero(rows, columns);
    for (int k = 0; k < 3; ++k) A += RowMatrix::Random(rows, columns);
    return A;
  };
  Problem p;
  Index before = d;
  for (int l = 0; l < depth; ++l) {
    Layer layer;
    layer.activation = phi;
    const double in = 1 / std::sqrt(static_cast<double>(before));
    layer.residual = residual && l > 0;
    layer.W = gaussian(width, before) * in * std::sqrt(phi == "relu" ? 2.0 : 1.0);
    layer.b = 0.1 * Vector::Random(width);
    if (layer.residual) layer.U = gaussian(width, width) / std::sqrt(static_cast<double>(width));
    if (layer.residual) layer.scale = 0.5;
    p.network.layers.push_back(layer);
    before = width;
  }
  p.network.V = gaussian(outputs, width) / std::sqrt(static_cast<double>(width));
  p.X = gaussian(n, d);
  p.Y = Matrix::Random(n, outputs).unaryExpr([](double y) { return y > 0 ? 1.0 : -1.0; });
  return p;
}

TEST(DeepCertificate, HoldsAfterPolishingForEveryKindOfNetwork) {
  Progress progress;
  for (const char* phi : {"tanh", "gelu", "relu", "softplus", "leaky_relu", "silu"})
    for (const bool residual : {false, true})
      for (const int depth : {1, 3}) {
        const Problem p = problem(3, 30, 6, 40, depth, phi, residual, 2);
        EXPECT_FALSE(certify_network(p.network, p.equations(), progress).exists) << phi;
        const PolishedNetwork polished = polish(p.network, p.equations(), {}, progress);
        const DeepCertificate c = certify_network(polished.network, p.equations(), progress);
        EXPECT_TRUE(c.exists) << phi << " " << residual << " " << depth << ": " << c.reason;
        EXPECT_TRUE(c.descends) << phi << " " << residual << " " << depth << ": " << c.reason;
        const double rounding = test::rounding(polished.network, p.X).norm();
        EXPECT_LE(c.misfit, PolishOptions{}.tolerance * p.Y.norm() + 2 * rounding) << phi;
        EXPECT_LE(c.radius, 2.01 * c.misfit / std::sqrt(c.lambda_min)) << phi;  // h is at most 1/2
        EXPECT_LE(c.h, 0.5);
        EXPECT_GT(polished.distance, 0.01);
      }
}

TEST(DeepCertificate, MovesOnlyTheLayersItMay) {
  Progress progress;
  const Problem p = problem(4, 12, 4, 30, 3, "tanh");
  DeepEquations equations = p.equations();
  equations.moving = {false, false, true, true};
  const PolishedNetwork polished = polish(p.network, equations, {}, progress);
  EXPECT_EQ(polished.network.layers[0].W, p.network.layers[0].W);
  EXPECT_EQ(polished.network.layers[1].W, p.network.layers[1].W);
  EXPECT_NE(polished.network.V, p.network.V);
  EXPECT_TRUE(certify_network(polished.network, equations, progress).exists);
}

// A step that the certificate allows: the misfit falls as it says, and the weights stay in the ball.
TEST(DeepCertificate, DescentDoesWhatItSays) {
  Progress progress;
  const Problem p = problem(5, 8, 4, 60, 2, "tanh");
  PolishedNetwork polished = polish(p.network, p.equations(), {}, progress);
  std::srand(1);
  DeepNetwork start = polished.network;
  start.layers[0].W += 1e-7 * RowMatrix::Random(60, 4);
  const DeepCertificate c = certify_network(start, p.equations(), progress);
  ASSERT_TRUE(c.descends) << c.reason;
  DeepNetwork network = start;
  const internal::Moving all(3, true);
  const Vector ones = Vector::Ones(8);
  double bound = c.misfit, rounding = 0;
  for (int k = 0; k < 200; ++k) {
    const auto pass = internal::forward(network, p.X);
    const Vector r = (pass.f - p.Y).col(0);
    rounding += 2 * test::rounding(network, p.X).norm();  // of outputs, and of weights that took the step
    EXPECT_LE(r.norm(), bound + rounding);
    EXPECT_LE(internal::distance(network, start), c.descent_radius);
    network =
        internal::moved(network, pass, internal::backward(network, pass, all, ones), all, ones, c.step * r);
    bound *= 1 - c.step * c.rate;
  }
}

// Eight residual layers and a misfit for which products of norms are a hundred times too large.
TEST(DeepCertificate, OfManyLayersIsByNormsOfProducts) {
  Progress progress;
  const Problem p = problem(6, 10, 5, 12, 9, "tanh", true, 2);
  const internal::Moving all(10, true);
  const auto norms = internal::verified::layer_norms(p.network, progress);
  const auto e = test::evaluation(p.network, p.X, all, Vector::Ones(10));
  const double products = internal::verified::lipschitz(p.network, norms, e, all, 1e-9).constant;
  const double lambda_min = certify_network(p.network, {p.X, e.pass.f}, progress).lambda_min;
  const double misfit = 100 * 0.5 * lambda_min / products;
  const Matrix Y = e.pass.f.array() + misfit / std::sqrt(20.0);
  const DeepCertificate c = certify_network(p.network, {p.X, Y}, progress);
  EXPECT_TRUE(c.exists) << c.reason;
  EXPECT_LT(c.lipschitz, products / 100);
  const PolishedNetwork exact = polish(p.network, {p.X, Y}, {}, progress);
  EXPECT_LE(exact.distance, c.radius);  // of all exact networks Gauss-Newton finds about the nearest
}

TEST(DeepCertificate, CountsAreEqualSamples) {
  Progress progress;
  Problem p = problem(6, 5, 4, 40, 2, "tanh");
  DeepEquations counted = p.equations();
  counted.counts = (Vector(5) << 1, 3, 1, 2, 1).finished();
  const PolishedNetwork polished = polish(p.network, counted, {}, progress);
  const DeepCertificate c = certify_network(polished.network, counted, progress);
  EXPECT_TRUE(c.exists && c.descends) << c.reason;
  // The samples themselves: J J^T of equal rows is singular, and nothing is proved.
  RowMatrix X(6, 4);
  X << p.X, p.X.row(1);
  Matrix Y(6, 1);
  Y << p.Y, p.Y.row(1);
  const DeepCertificate twice = certify_network(polished.network, {X, Y}, progress);
  EXPECT_FALSE(twice.exists);
  EXPECT_EQ(twice.lambda_min, 0);
  EXPECT_NE(twice.reason, "");
}

TEST(DeepCertificate, SaysWhyNothingHolds) {
  Progress progress;
  Problem p = problem(7, 40, 3, 2, 1, "tanh");
  EXPECT_NE(certify_network(p.network, p.equations(), progress).reason.find("40 equations"),
            std::string::npos);
  p = problem(8, 6, 3, 20, 2, "relu");
  p.network.layers[1].b(7) = 0;
  p.network.layers[1].W.row(7).setZero();  // z = 0 there
  DeepEquations equations = p.equations();
  equations.moving = {true, true, false};
  p.network.layers[1].W.row(7).setZero();
  const PolishedNetwork polished = polish(p.network, equations, {}, progress);
  DeepNetwork kinked = polished.network;
  kinked.layers[1].W.row(7).setZero();
  kinked.layers[1].b(7) = 0;
  kinked.V(0, 7) = 0;
  const DeepCertificate c = certify_network(kinked, equations, progress);
  EXPECT_FALSE(c.exists);
}

// The definition in long double, whose own error is some thousandth of that of double.
std::vector<long double> by_long_loops(const DeepNetwork& network, const RowMatrix& X, Index i) {
  using Long = long double;
  std::vector<Long> h;
  for (Index k = 0; k < X.cols(); ++k) {
    Long x = X(i, k);
    if (network.shift.size() > 0) x -= network.shift(k);
    if (network.shift_low.size() > 0) x -= network.shift_low(k);
    if (network.factor.size() > 0) x *= network.factor(k);
    h.push_back(x);
  }
  const auto affine = [](const RowMatrix& W, const Vector& b, const std::vector<Long>& from) {
    std::vector<Long> z;
    for (Index j = 0; j < W.rows(); ++j) {
      z.push_back(b.size() > 0 ? b(j) : 0);
      for (Index k = 0; k < W.cols(); ++k) z.back() += W(j, k) * from[static_cast<std::size_t>(k)];
    }
    return z;
  };
  for (const Layer& layer : network.layers) {
    std::vector<Long> a = affine(layer.W, layer.b, h);
    for (Long& z : a)
      z = layer.activation == "tanh"   ? std::tanh(z)
          : layer.activation == "relu" ? std::max(z, Long{0})
          : layer.activation == "sin"  ? std::sin(z)
                                       : z;
    if (!layer.residual) {
      h = a;
      for (Long& number : h) number *= layer.scale;
      continue;
    }
    if (layer.U.size() > 0)
      a = affine(layer.U, layer.bU, a);
    else
      for (std::size_t k = 0; k < a.size(); ++k)
        a[k] += layer.bU.size() > 0 ? layer.bU(static_cast<Index>(k)) : 0;
    for (std::size_t k = 0; k < h.size(); ++k) h[k] += layer.scale * a[k];
  }
  return affine(network.V, network.c, h);
}

TEST(DeepCertificate, ErrorsAreNeverBelowTheTruth) {
  Progress progress;
  double closest = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const DeepNetwork network = test::random_network(seed, {3, 6, 2, {"tanh", "relu", "sin", "identity"}});
    RowMatrix X = test::random_rows(5, 3, seed);
    if (seed % 5 == 0) X *= 1000;
    const VerifiedOutputs outputs = verified_outputs(network, X, progress);
    for (Index i = 0; i < X.rows(); ++i) {
      const auto exact = by_long_loops(network, X, i);
      for (Index k = 0; k < outputs.f.cols(); ++k) {
        const auto wrong =
            static_cast<double>(std::abs(outputs.f(i, k) - exact[static_cast<std::size_t>(k)]));
        EXPECT_LE(wrong, outputs.error(i, k) * 1.01) << seed;
        closest = std::max(closest, wrong / outputs.error(i, k));
      }
    }
  }
  EXPECT_GT(closest, 0.1);
}

// Points whose differences from a large mean are as small as what that lost when it was rounded.
TEST(DeepCertificate, TheWholeMeanIsSubtracted) {
  Progress progress;
  for (unsigned seed = 0; seed < 30; ++seed) {
    DeepNetwork network = test::random_network(seed, {3, 6, 2, {"tanh", "relu"}});
    network.shift = Vector::Constant(3, seed % 2 == 0 ? 1e15 : -7e14);
    network.shift_low = (Vector(3) << 0.04, -0.06, 0).finished();
    const RowMatrix X = (test::random_rows(6, 3, seed) * 4).array().round() + network.shift(0);
    const VerifiedOutputs outputs = verified_outputs(network, X, progress);
    DeepNetwork there = network;  // at differences that are exact but for the last rounding
    there.shift = there.shift_low = {};
    const RowMatrix difference =
        (X.array() - network.shift(0)).matrix().rowwise() - network.shift_low.transpose();
    const Matrix rounding = test::rounding(there, difference);
    EXPECT_LE((outputs.error - rounding).maxCoeff(), 0);
    double moved = 0;
    DeepNetwork rounded = network;
    rounded.shift_low = {};
    const Matrix other = predict(rounded, X);
    for (Index i = 0; i < X.rows(); ++i) {
      const auto exact = by_long_loops(network, X, i);
      for (Index k = 0; k < outputs.f.cols(); ++k) {
        const long double truth = exact[static_cast<std::size_t>(k)];
        EXPECT_LE(static_cast<double>(std::abs(outputs.f(i, k) - truth)), outputs.error(i, k) * 1.01) << seed;
        moved = std::max(moved, static_cast<double>(std::abs(other(i, k) - truth)));
      }
    }
    EXPECT_GT(moved, 1e-4) << "of the mean's 0.06, it matters";
    EXPECT_LE(((outputs.f - predict(network, X)).cwiseAbs() - outputs.error - rounding).maxCoeff(), 0);
  }
}

TEST(DeepCertificate, OutputsLieWithinTheirErrors) {
  Progress progress;
  for (unsigned seed = 0; seed < 30; ++seed) {
    const DeepNetwork network = test::random_network(seed);
    const RowMatrix X = test::random_rows(6, network.features(), seed);
    const VerifiedOutputs outputs = verified_outputs(network, X, progress);
    const Matrix rounding = test::rounding(network, X);
    EXPECT_LE(((outputs.f - predict(network, X)).cwiseAbs() - outputs.error - rounding).maxCoeff(), 0);
    EXPECT_TRUE((outputs.error.array() > 0).all() && (outputs.error.array() < rounding.array()).all());
  }
}

}  // namespace
}  // namespace zeroloss
