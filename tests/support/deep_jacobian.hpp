#pragma once
#include <vector>

#include "deep/jacobian.hpp"

/// J itself, for tests.
namespace zeroloss::test {

/// N x all weights, those of layers that do not move with columns of 0; each entry is off by what J's factors
/// are and by a rounding of the weight that it was subtracted from.
inline Matrix jacobian(const DeepNetwork& network, const RowMatrix& X, const internal::Moving& moving,
                       const Vector& weights) {
  const internal::ForwardPass pass = internal::forward(network, X);
  const internal::BackwardPass back = internal::backward(network, pass, moving, weights);
  const Index N = X.rows() * network.outputs();
  std::vector<Vector> rows;
  for (Index r = 0; r < N; ++r) {
    const DeepNetwork after = internal::moved(network, pass, back, moving, weights, Vector::Unit(N, r));
    std::vector<double> row;
    const auto add = [&](const auto& A, const auto& B) {
      for (Index i = 0; i < A.size(); ++i) row.push_back(A.data()[i] - B.data()[i]);
    };
    for (std::size_t l = 0; l < network.layers.size(); ++l) {
      const Layer &a = network.layers[l], &b = after.layers[l];
      add(a.W, b.W), add(a.b, b.b), add(a.U, b.U), add(a.bU, b.bU);
    }
    add(network.V, after.V), add(network.c, after.c);
    rows.push_back(Eigen::Map<Vector>(row.data(), static_cast<Index>(row.size())));
  }
  Matrix J(N, rows.front().size());
  for (Index r = 0; r < N; ++r) J.row(r) = rows[static_cast<std::size_t>(r)].transpose();
  return J;
}

}  // namespace zeroloss::test
