#pragma once
#include <cmath>
#include <string>

#include "support/bounds.hpp"
#include "support/decompositions.hpp"
#include "support/points.hpp"
#include "zeroloss/kernel/activation.hpp"
#include "zeroloss/network/network.hpp"

/// Two-layer networks written down plainly, for tests.
namespace zeroloss::test {

inline Vector normals(Index n, std::uint64_t seed = 1) {
  Random random(seed, Stream::labels);
  Vector y(n);
  for (double& value : y) value = random.normal();
  return y;
}

struct Problem {
  RowMatrix X;
  Vector y;
  TwoLayer network;
  Activation phi;

  Matrix Z() const { return X * network.W.transpose(); }
  Matrix D() const {
    return Z().unaryExpr([&](double z) { return phi.dphi(z); });
  }
  Vector f() const {
    return Z().unaryExpr([&](double z) { return phi.phi(z); }) * network.v;
  }
  Vector r() const { return f() - y; }
  void step(double eta) {
    const Matrix S = r().asDiagonal() * D() * network.v.asDiagonal();
    network.W -= eta * (S.transpose() * X);
  }

  /// J, n x m d, columns neuron by neuron; by the network's weights or others.
  LongMatrix jacobian(const RowMatrix& W) const {
    const Index d = X.cols();
    LongMatrix J(X.rows(), W.size());
    for (Index i = 0; i < X.rows(); ++i)
      for (Index j = 0; j < W.rows(); ++j)
        J.row(i).segment(j * d, d) =
            (X.row(i) * (phi.dphi(X.row(i).dot(W.row(j))) * network.v(j))).cast<long double>();
    return J;
  }
  LongMatrix jacobian() const { return jacobian(network.W); }
};

/// n points of the unit sphere of R^d with independent N(0, 1) targets.
inline Problem problem(const std::string& phi, Index n, Index d, Index m, std::uint64_t seed = 1,
                       const std::string& scaling = "balanced") {
  const Vector y = normals(n, seed);
  return {sphere(n, d, seed), y,
          draw({.width = m, .d = d, .scaling = scaling, .n = n, .norm_y = y.norm(), .seed = seed}),
          activation(phi)};
}

/// The difference in Frobenius norm over the norm of b; 1e-300 is for b = 0.
inline double relative(const Matrix& a, const Matrix& b) { return (a - b).norm() / (b.norm() + 1e-300); }

/// A generous bound, relative, of the rounding error of outputs and gradients of p: gamma of all that is
/// added up, and a few units for phi. `unit` is the unit roundoff: 2^-53, float32: 2^-24.
inline double rounding(const Problem& p, double unit = kUnit) {
  return 32 * unit * static_cast<double>(p.X.rows() + p.X.cols() + p.network.W.rows());
}

/// The size, in norm, of all that is added up in f - y: a rounding of each part changes it by u times this.
inline double residual_size(const Problem& p) {
  const Matrix products = p.X.cwiseAbs() * p.network.W.cwiseAbs().transpose();
  const Matrix phi = p.Z().unaryExpr([&](double z) { return std::abs(p.phi.phi(z)); });
  const Matrix parts = phi + p.D().cwiseAbs().cwiseProduct(products);
  return (parts * p.network.v.cwiseAbs()).norm() + p.y.norm();
}

/// What rounding may add to the misfit in so many steps of descent: that of the residual, which a contraction
/// sums up to as much again, and that of W in every step.
inline double descent_error(const Problem& p, double steps) {
  return (2 * rounding(p) + 2 * steps * kUnit) * residual_size(p);
}

/// What jacobian() is off by in Frobenius norm, hence its singular values: 16 u and 5 u are what activation()
/// promises of phi', two roundings are those of products, and z is a sum of d products.
inline double jacobian_error(const Problem& p) {
  const Vector points = p.X.rowwise().norm(), neurons = p.network.W.rowwise().norm();
  const double moved = p.phi.smooth() ? p.phi.M * gamma(static_cast<double>(p.X.cols())) : 0;
  const Matrix slopes =
      18 * kUnit * p.D().cwiseAbs().array() + 5 * kUnit + moved * (points * neurons.transpose()).array();
  return (points.asDiagonal() * slopes * p.network.v.cwiseAbs().asDiagonal()).norm();
}

}  // namespace zeroloss::test
