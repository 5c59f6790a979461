#include "deep/sensitivity.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/deep.hpp"
#include "support/deep_jacobian.hpp"
#include "support/rounding.hpp"

namespace zeroloss::internal::verified {
namespace {

using test::random_network;
using test::random_rows;

// A network and a point of which the sensitivities are asked.
struct Asked {
  DeepNetwork network;
  RowMatrix X;
  Moving moving;
};

Sensitivity sensitivity_of(const Asked& at, Index i = 0) {
  Progress progress;
  const auto e = test::evaluation(at.network, at.X, at.moving, Vector::Ones(at.X.rows()));
  Sensitivities all(at.network, e, at.moving);
  all.compute(at.X.rows(), progress);
  return all.of(i);
}

// The network up to h_l of layer l, or up to its z_l, as outputs.
Asked cut(Asked at, std::size_t l, bool z) {
  at.network.layers.resize(l + 1);
  Layer& last = at.network.layers.back();
  if (z) {
    last.activation = "identity";
    last.residual = false;
    last.U.resize(0, 0);
    last.bU.resize(0);
    last.scale = 1;
  }
  at.network.V = RowMatrix::Identity(last.outputs(), last.outputs());
  at.network.c.resize(0);
  at.moving.resize(l + 2);
  at.moving.back() = false;
  return at;
}

// ||J|| from below, and what it may be off by: J's own error, the rounding of weights of at most 2 that its
// columns were subtracted from, and that of a product with its Gram matrix.
struct Norm {
  double value = 0, off = 0;
};
Norm norm_of(const Asked& at) {
  const Vector one = Vector::Ones(1);
  const Matrix J = test::jacobian(at.network, at.X, at.moving, one);
  Norm norm;
  norm.off = test::jacobian_rounding(at.network, at.X, at.moving, one) +
             4 * test::kUnit * std::sqrt(static_cast<double>(J.size())) +
             test::gamma_of(static_cast<double>(J.rows() + J.cols() + 8)) * J.norm();
  Vector x = Vector::Ones(J.rows());
  for (int k = 0; k < 300 && x.norm() > 0; ++k) {
    x /= x.norm();
    norm.value = std::max(norm.value, (J.transpose() * x).norm());
    x = J * (J.transpose() * x);
  }
  return norm;
}

TEST(DeepSensitivity, IsTheNormOfTheDerivatives) {
  // Cholesky is tried 2 % above what products say, twice that and so on: ten times that is 20 %, under a
  // root.
  constexpr double kMost = 1.1;
  int compared = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::srand(seed);
    Asked at{
        random_network(seed, {2 + seed % 3, 3, 2, {"tanh", "gelu", "softplus", "identity", "sin"}}), {}, {}};
    at.X = random_rows(1, at.network.features(), seed + 7);
    at.moving.resize(at.network.layers.size() + 1);
    for (std::size_t l = 0; l < at.moving.size(); ++l) at.moving[l] = std::rand() % 3 != 0;
    at.moving.front() = at.moving.front() || seed % 2 == 0;
    const Sensitivity s = sensitivity_of(at);
    for (std::size_t l = 0; l < at.network.layers.size(); ++l)
      for (const bool z : {true, false}) {
        const Norm norm = norm_of(cut(at, l, z));
        const double bound = (z ? s.z : s.h)(static_cast<Index>(l));
        EXPECT_GE(bound, norm.value - norm.off) << seed << " layer " << l << (z ? " z" : " h");
        EXPECT_LE(bound, kMost * (norm.value + norm.off)) << seed << " layer " << l << (z ? " z" : " h");
        compared += norm.value > 0 ? 1 : 0;
      }
  }
  EXPECT_GT(compared, 150);
}

TEST(DeepSensitivity, OfManyLayers) {
  for (const bool residual : {false, true}) {
    Asked at{{}, random_rows(1, 5, 3), {}};
    for (int l = 0; l < 8; ++l) {
      Layer layer{
          .activation = "tanh", .W = random_rows(5, 5, 10 + static_cast<unsigned>(l)), .residual = residual};
      if (residual) layer.U = random_rows(5, 5, 30 + static_cast<unsigned>(l));
      at.network.layers.push_back(layer);
    }
    at.network.V = RowMatrix::Ones(1, 5);
    at.moving.assign(9, true);
    const Norm norm = norm_of(cut(at, 7, false));
    const double bound = sensitivity_of(at).h(7);
    EXPECT_GE(bound, norm.value - norm.off);
    EXPECT_LE(bound, 1.1 * (norm.value + norm.off));  // 20 % under a root
  }
}

// z = w x + b, h = z: dz/dtheta has the length of (x, 1), and there is nothing to add up.
TEST(DeepSensitivity, OfOneUnitIsExact) {
  for (const double x : {0.0, 1e-160, 1e-120, 1e-40, 0.75, 1e40, 1e120, 1e160})
    for (const bool bias : {false, true}) {
      Asked at{
          {.layers = {{.activation = "identity", .W = RowMatrix::Ones(1, 1)}}, .V = RowMatrix::Ones(1, 1)},
          RowMatrix::Constant(1, 1, x),
          {true, false}};
      if (bias) at.network.layers[0].b = Vector::Zero(1);
      const Sensitivity s = sensitivity_of(at);
      const double exact = bias ? std::hypot(x, 1.0) : x;
      for (const double bound : {s.z(0), s.h(0)}) {
        EXPECT_GE(bound, exact * (1 - 4 * test::kUnit)) << x;  // roundings of hypot
        // Some factors of 1 + 2^-30; a root of what squares may have lost; squares beyond doubles are
        // infinite.
        EXPECT_TRUE(bound <= exact * (1 + 64 * 0x1p-30) + 0x1p-254 || x > 1e77) << x << " " << bound;
      }
    }
}

TEST(DeepSensitivity, WeightsOfZeroAndOfAnySizeAreNeverBelow) {
  for (const double w : {0.0, 1e-200, 1e-80, 1.0, 1e60, 1e140, 1e200})
    for (const bool residual : {false, true}) {
      Layer layer{.activation = "tanh", .W = RowMatrix::Constant(2, 2, w), .residual = residual};
      if (residual) layer.U = RowMatrix::Constant(2, 2, w);
      const Asked at{{.layers = {layer, layer, layer}, .V = RowMatrix::Ones(1, 2)},
                     (RowMatrix(1, 2) << 0.5, -0.25).finished(),
                     {true, true, true, true}};
      const Sensitivity s = sensitivity_of(at);
      for (std::size_t l = 0; l < 3; ++l)
        for (const bool z : {true, false}) {
          const Norm norm = norm_of(cut(at, l, z));
          EXPECT_FALSE((z ? s.z : s.h)(static_cast<Index>(l)) < norm.value - norm.off) << w << " layer " << l;
        }
    }
}

TEST(DeepSensitivity, OfAnUncertainKinkIsInfinite) {
  const Asked at{{.layers = {{.activation = "relu", .W = RowMatrix::Ones(1, 2)}}, .V = RowMatrix::Ones(1, 1)},
                 (RowMatrix(2, 2) << 1, -1, 1, 1).finished(),
                 {true, true}};
  EXPECT_TRUE(std::isinf(sensitivity_of(at, 0).z(0)));
  EXPECT_TRUE(std::isinf(sensitivity_of(at, 0).h(0)));
  EXPECT_TRUE(std::isfinite(sensitivity_of(at, 1).h(0)));
}

TEST(DeepSensitivity, BehindLayersThatStayIsNothing) {
  Asked at{random_network(5, {3, 3, 2, {"tanh"}}), random_rows(2, 3, 1), {}};
  at.moving.assign(at.network.layers.size() + 1, false);
  at.moving.back() = true;
  const Sensitivity s = sensitivity_of(at);
  EXPECT_TRUE(s.z.isZero(0) && s.h.isZero(0));
}

}  // namespace
}  // namespace zeroloss::internal::verified
