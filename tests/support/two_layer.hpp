#pragma once
#include <cmath>
#include <string>
#include <vector>

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
  void step(double eta) { descend(eta, r()); }
  void step(double eta, const std::vector<Index>& batch) {
    const Vector all = r();
    Vector some = Vector::Zero(all.size());
    for (const Index i : batch) some(i) = all(i);
    descend(eta, some);
  }
  /// W <- W - eta J^T residual.
  void descend(double eta, const Vector& residual) {
    const Matrix S = residual.asDiagonal() * D() * network.v.asDiagonal();
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

/// What rounding may do to each output of p: to sums of d products, to phi by 16 u, to a sum over neurons.
inline Vector output_rounding(const Problem& p, double unit = kUnit) {
  const auto d = static_cast<double>(p.X.cols()), m = static_cast<double>(p.network.W.rows());
  const Matrix Z = p.Z(), sums = p.X.cwiseAbs() * p.network.W.cwiseAbs().transpose();
  const Matrix slopes = std::isfinite(p.phi.B) ? Matrix(Matrix::Constant(Z.rows(), Z.cols(), p.phi.B))
                                               : Matrix(p.D().cwiseAbs());
  const Matrix values = Z.unaryExpr([&](double z) { return std::abs(p.phi.phi(z)); });
  return (gamma_of(d + 5, unit) * slopes.cwiseProduct(sums) + gamma_of(m + 18, unit) * values) *
         p.network.v.cwiseAbs();
}

/// How far rounding may take the weights of two runs of gradient descent apart, in ||.||_F, on all points or
/// on batches of them, where no kink is crossed for it and eta ||Hessian|| <= 2. A step adds that of both
/// gradients and of weights and Z as they are stored, and makes what is there larger by as much as the
/// Hessian is negative: J^T J is not, v_j sum_i r_i phi''(z_ij) x_i x_i^T may be. With momentum a push goes
/// on to 1/(1 - momentum) of it.
struct Drift {
  double off = 0;      ///< of the weights
  double outputs = 0;  ///< of the outputs of the problem last seen, for that and for their own rounding

  void step(const Problem& p, double eta, double momentum = 0, double unit = kUnit) {
    const Index n = p.X.rows(), d = p.X.cols();
    const Matrix Z = p.Z(), J = p.D().cwiseAbs() * p.network.v.cwiseAbs().asDiagonal();
    const Vector r = p.r(), length = p.X.rowwise().norm(), lost = output_rounding(p, unit);
    double negative = 0, M = 0;
    for (Index j = 0; j < Z.cols() && p.phi.d2phi; ++j) {
      const Vector bend = Z.col(j).unaryExpr(p.phi.d2phi) * p.network.v(j);
      const Vector size = r.cwiseProduct(bend).cwiseAbs();  // so that it holds for any of the points
      negative = std::max(negative, (p.X.transpose() * size.asDiagonal() * p.X).norm());
      M = std::max(M, bend.cwiseAbs().maxCoeff());
    }
    const double sums = (p.X.cwiseAbs() * p.network.W.cwiseAbs().transpose()).norm();
    const double gradient =
        gamma_of(static_cast<double>(n) + 24, unit) *
            (J.transpose() * r.cwiseAbs().cwiseProduct(length)).norm() +
        5 * unit * r.cwiseAbs().dot(length) * p.network.v.norm() +  // phi' of gelu, silu
        M * gamma_of(static_cast<double>(d) + 5, unit) * sums * r.norm() * length.maxCoeff() +
        (length.asDiagonal() * J).norm() * lost.norm();
    outputs = (length.asDiagonal() * J).norm() * off + 2 * lost.norm();
    const double added = 2 * (unit * (p.network.W.norm() + Z.norm()) + eta * gradient);
    off = (1 + eta * negative / (1 - momentum)) * off + added / (1 - momentum);
  }
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
  const double moved = p.phi.smooth() ? p.phi.M * gamma_of(static_cast<double>(p.X.cols())) : 0;
  const Matrix slopes =
      18 * kUnit * p.D().cwiseAbs().array() + 5 * kUnit + moved * (points * neurons.transpose()).array();
  return (points.asDiagonal() * slopes * p.network.v.cwiseAbs().asDiagonal()).norm();
}

}  // namespace zeroloss::test
