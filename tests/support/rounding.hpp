#pragma once
#include <algorithm>
#include <cmath>

#include "deep/forward.hpp"
#include "zeroloss/deep/network.hpp"

/// What arithmetic may do to the outputs of a network, whoever computes them and in whatever order:
/// processors, libraries and their versions differ by no more.
namespace zeroloss::test {

/// First-order bounds, n x K, of the error of outputs computed with the unit roundoff `unit` (2^-53, float32:
/// 2^-24) and weights rounded to it. A sum of k products is off by at most (k + 2) u times the sum of their
/// sizes; phi by B times what its argument is off by and 16 u of what it is made of, as theory 7 has it of
/// ours.
inline Matrix rounding(const DeepNetwork& network, const RowMatrix& X, double unit = 0x1p-53) {
  const internal::ForwardPass pass = internal::forward(network, X);
  const auto affine = [&](const RowMatrix& W, const Vector& b, const Matrix& h, const Matrix& error) {
    const Matrix size = W.cwiseAbs().transpose();
    Matrix sum = h.cwiseAbs() * size;
    if (b.size() > 0) sum.rowwise() += b.cwiseAbs().transpose();
    return Matrix(error * size + (static_cast<double>(W.cols()) + 2) * unit * sum);
  };
  const auto shifted = [&](Index k) {
    const double shift = network.shift.size() > 0 ? std::abs(network.shift(k)) : 0;
    return shift * (network.factor.size() > 0 ? std::abs(network.factor(k)) : 1);
  };
  Matrix h = pass.h0, error = Matrix::Zero(h.rows(), h.cols());
  for (Index k = 0; k < h.cols(); ++k)
    error.col(k) = (static_cast<double>(network.unit ? h.cols() : 0) + 4) * unit *
                   (h.col(k).cwiseAbs().array() + (k < X.cols() ? shifted(k) : 0));
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    const Activation activation = activation_of(layer);
    const Matrix& z = pass.layers[l].z;
    Matrix moved = activation.B * affine(layer.W, layer.b, h, error);
    Matrix a = z.unaryExpr([&](double x) { return activation.phi(x); });
    moved += 16 * unit * (a.cwiseAbs() + activation.B * z.cwiseAbs());
    if (layer.residual && layer.U.size() > 0) {
      moved = affine(layer.U, layer.bU, a, moved);
    } else if (layer.bU.size() > 0) {
      moved.rowwise() += 2 * unit * layer.bU.cwiseAbs().transpose();
    }
    const Matrix& next = pass.layers[l].h;
    moved *= std::abs(layer.scale);
    error = layer.residual ? Matrix(error + moved) : moved;
    error += 4 * unit * next.cwiseAbs();
    if (layer.residual) error += 4 * unit * h.cwiseAbs();
    h = next;
  }
  return affine(network.V, network.c, h, error);
}

}  // namespace zeroloss::test
