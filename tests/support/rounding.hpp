#pragma once
#include <algorithm>
#include <cmath>

#include "deep/evaluate.hpp"
#include "deep/forward.hpp"
#include "support/bounds.hpp"
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

/// First-order bound of ||J - exact||_F of the rows of J times weights, as backward() has them, where
/// evaluate() has a bound of J: it rounds a number once, whose sums are of 64-bit mantissas, and these take a
/// rounding for each term, and two.
inline double jacobian_rounding(const DeepNetwork& network, const internal::verified::DeepEvaluation& e) {
  Index terms = network.V.cols();
  for (const Layer& layer : network.layers)
    terms = std::max({terms, layer.W.rows(), layer.W.cols(), layer.U.rows(), layer.U.cols()});
  return (static_cast<double>(terms) + 3) * e.jacobian_error;
}
inline internal::verified::DeepEvaluation evaluation(const DeepNetwork& network, const RowMatrix& X,
                                                     const std::vector<bool>& moving, const Vector& weights) {
  Progress progress;
  return evaluate(network, internal::verified::layer_norms(network, progress), X, weights, moving, progress);
}
inline double jacobian_rounding(const DeepNetwork& network, const RowMatrix& X,
                                const std::vector<bool>& moving, const Vector& weights) {
  return jacobian_rounding(network, evaluation(network, X, moving, weights));
}

/// The same of J J^T, where J has this squared norm: of J on both sides, and of the entries.
inline double gram_rounding(const DeepNetwork& network, const RowMatrix& X, const std::vector<bool>& moving,
                            const Vector& weights, double squared_norm) {
  const auto e = evaluation(network, X, moving, weights);
  const double off = jacobian_rounding(network, e);
  return (2 * std::sqrt(squared_norm) + off) * off + gamma_of(e.rounding_terms) * squared_norm;
}

}  // namespace zeroloss::test
