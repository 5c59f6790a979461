#include "deep/forward.hpp"

#include "linalg/parallel.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss::internal {

Matrix affine(const Matrix& A, const RowMatrix& B, const Vector& b) {
  Matrix C(A.rows(), B.rows());
  // A row-major B is B^T by columns.
  parallel::gemm('N', 'N', A.rows(), B.rows(), B.cols(), 1, A.data(), A.rows(), B.data(), B.cols(), 0,
                 C.data(), C.rows());
  if (b.size() > 0) C.rowwise() += b.transpose();
  return C;
}

Matrix inputs(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X) {
  Matrix h(X.rows(), network.layers.front().inputs());
  h.leftCols(X.cols()) = X;
  auto features = h.leftCols(X.cols());
  if (network.shift.size() > 0) features.rowwise() -= network.shift.transpose();
  if (network.shift_low.size() > 0) features.rowwise() -= network.shift_low.transpose();
  if (network.factor.size() > 0) features.array().rowwise() *= network.factor.transpose().array();
  if (network.constant != 0) h.rightCols(1).setConstant(network.constant);
  if (network.unit)
    for (auto row : h.rowwise()) row /= row.stableNorm();
  return h;
}

ForwardPass forward(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X) {
  const Threads threads(static_cast<double>(X.rows()) * static_cast<double>(parameters(network)));
  ForwardPass pass;
  pass.h0 = inputs(network, X);
  pass.layers.reserve(network.layers.size());
  for (const Layer& layer : network.layers) {
    const Matrix& h = pass.input(pass.layers.size());
    const Activation activation = activation_of(layer);
    LayerValues values;
    values.z = affine(h, layer.W, layer.b);
    values.a.resize(values.z.rows(), values.z.cols());
#pragma omp parallel for schedule(static)
    for (Index j = 0; j < values.z.cols(); ++j)
      for (Index i = 0; i < values.z.rows(); ++i) values.a(i, j) = activation.phi(values.z(i, j));
    if (!layer.residual) {
      values.h = layer.scale * values.a;
    } else if (layer.U.size() == 0) {
      values.h = h + layer.scale * values.a;
      if (layer.bU.size() > 0) values.h.rowwise() += layer.scale * layer.bU.transpose();
    } else {
      values.h = h + layer.scale * affine(values.a, layer.U, layer.bU);
    }
    pass.layers.push_back(std::move(values));
  }
  pass.f = affine(pass.input(pass.layers.size()), network.V, network.c);
  return pass;
}

}  // namespace zeroloss::internal
