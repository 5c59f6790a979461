#include "deep/jacobian.hpp"

#include <algorithm>
#include <cmath>

#include "base/parallel_for.hpp"
#include "linalg/lapack.hpp"
#include "linalg/parallel.hpp"
#include "linalg/rounding.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss::internal {
namespace {

// A (N x m) B (m x p), B row-major.
Matrix times(const Matrix& A, const RowMatrix& B) {
  Matrix C(A.rows(), B.cols());
  parallel::gemm('N', 'T', A.rows(), B.cols(), B.rows(), 1, A.data(), A.rows(), B.data(), B.cols(), 0,
                 C.data(), C.rows());
  return C;
}

// A^T B, A n x m and B n x p.
RowMatrix transposed_times(const Matrix& A, const Matrix& B) {
  Matrix C(A.cols(), B.cols());
  parallel::gemm('T', 'N', A.cols(), B.cols(), A.rows(), 1, A.data(), A.rows(), B.data(), B.rows(), 0,
                 C.data(), C.rows());
  return C;
}

// Row i: the sum over outputs k of q(i K + k) times row i K + k of A.
Matrix summed(const Matrix& A, const Vector& q, Index K) {
  Matrix sums(A.rows() / K, A.cols());
#pragma omp parallel for schedule(static)
  for (Index j = 0; j < A.cols(); ++j)
    for (Index i = 0; i < sums.rows(); ++i) sums(i, j) = A.col(j).segment(i * K, K).dot(q.segment(i * K, K));
  return sums;
}

// One tile of a Gram matrix in serial BLAS: rows a.. of A against rows b.. of A.
void tile_product(const Matrix& A, Index a, Index rows, Index b, Index columns, Matrix& C) {
  C.resize(rows, columns);
  lapack::gemm('N', 'T', rows, columns, A.cols(), 1, A.data() + a, A.rows(), A.data() + b, A.rows(), 0,
               C.data(), rows);
}

// What the blocks of one weight matrix and its bias add to J J^T: a factor of points, which gets `bias` more,
// and one of rows, both times `scale`, whose square might underflow. Rows are null for the output layer: 1
// where both are of the same output.
struct Term {
  const Matrix* points;
  const Matrix* rows;
  double bias, scale;
};

std::vector<Term> terms(const DeepNetwork& network, const ForwardPass& pass, const BackwardPass& back,
                        const Moving& moving) {
  std::vector<Term> all;
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    if (!moving[l]) continue;
    const Layer& layer = network.layers[l];
    all.push_back({&pass.input(l), &back.g[l], layer.b.size() > 0 ? 1.0 : 0.0, 1});
    const double bias = layer.bU.size() > 0 ? 1 : 0;
    if (layer.U.size() > 0)
      all.push_back({&pass.layers[l].a, &back.u[l], bias, layer.scale});
    else if (bias > 0)
      all.push_back({nullptr, &back.u[l], bias, layer.scale});
  }
  if (moving.back())
    all.push_back({&pass.input(network.layers.size()), nullptr, network.c.size() > 0 ? 1.0 : 0.0, 1});
  return all;
}

}  // namespace

std::size_t first_moving(const Moving& moving) {
  return static_cast<std::size_t>(std::find(moving.begin(), moving.end(), true) - moving.begin());
}

BackwardPass backward(const DeepNetwork& network, const ForwardPass& pass, const Moving& moving,
                      const Vector& weights, const BackwardVisit& visit) {
  const Index n = pass.f.rows(), K = network.outputs();
  const std::size_t L = network.layers.size(), first = visit ? 0 : first_moving(moving);
  const Threads threads(static_cast<double>(n * K) * static_cast<double>(parameters(network)));
  BackwardPass back{std::vector<Matrix>(L), std::vector<Matrix>(L)};
  Matrix u(n * K, network.V.cols());
  for (Index j = 0; j < u.cols(); ++j)
    for (Index i = 0; i < n; ++i) u.col(j).segment(i * K, K) = weights(i) * network.V.col(j);
  for (std::size_t l = L; l-- > first;) {
    const Layer& layer = network.layers[l];
    const Activation activation = activation_of(layer);
    Matrix through;
    if (layer.U.size() > 0) through = times(u, layer.U);
    const Matrix& q = layer.U.size() > 0 ? through : u;
    Matrix g(n * K, layer.units());
#pragma omp parallel for schedule(static)
    for (Index j = 0; j < g.cols(); ++j)
      for (Index i = 0; i < n; ++i)
        g.col(j).segment(i * K, K) =
            layer.scale * (activation.dphi(pass.layers[l].z(i, j)) * q.col(j).segment(i * K, K));
    if (visit) visit(l, u, q, g);
    Matrix below;
    if (l > first) {
      below = times(g, layer.W);
      if (layer.residual) below += u;
    }
    if (moving[l] && (layer.U.size() > 0 || layer.bU.size() > 0)) back.u[l] = std::move(u);
    u = std::move(below);
    if (moving[l]) back.g[l] = std::move(g);
  }
  return back;
}

void tangent_gram(const DeepNetwork& network, const ForwardPass& pass, const BackwardPass& back,
                  const Moving& moving, const Vector& weights, Matrix& K) {
  constexpr Index kRows = 256;  // of J in a tile, if a point has no more
  const Index n = pass.f.rows(), outputs = network.outputs(), points = std::max(kRows / outputs, Index{1});
  const auto all = terms(network, pass, back, moving);
  const Index count = (n + points - 1) / points;
  K.resize(n * outputs, n * outputs);
  const auto side = static_cast<double>(n * outputs);
  const Threads threads(side * side * static_cast<double>(network.V.cols()));
  const SerialBlas serial;
  parallel_for(count * (count + 1) / 2, [&](Index t) {
    auto row = static_cast<Index>((std::sqrt(8.0 * static_cast<double>(t) + 1) - 1) / 2);
    while (row * (row + 1) / 2 > t) --row;
    while ((row + 1) * (row + 2) / 2 <= t) ++row;
    const Index i0 = row * points, j0 = (t - row * (row + 1) / 2) * points;
    const Index ni = std::min(points, n - i0), nj = std::min(points, n - j0);
    Matrix sum = Matrix::Zero(ni * outputs, nj * outputs), G, H;
    for (const Term& term : all) {
      if (term.points != nullptr)
        tile_product(*term.points, i0, ni, j0, nj, H);
      else
        H.setZero(ni, nj);
      if (term.rows == nullptr) {
        for (Index j = 0; j < nj; ++j)
          for (Index i = 0; i < ni; ++i)
            for (Index k = 0; k < outputs; ++k)
              sum(i * outputs + k, j * outputs + k) +=
                  (H(i, j) + term.bias) * (weights(i0 + i) * weights(j0 + j));
        continue;
      }
      tile_product(*term.rows, i0 * outputs, ni * outputs, j0 * outputs, nj * outputs, G);
      for (Index column = 0; column < nj * outputs; ++column)
        for (Index i = 0; i < ni; ++i)
          sum.col(column).segment(i * outputs, outputs) +=
              (term.scale * (H(i, column / outputs) + term.bias)) *
              (term.scale * G.col(column).segment(i * outputs, outputs));
    }
    K.block(i0 * outputs, j0 * outputs, ni * outputs, nj * outputs) = sum;
  });
}

Vector tangent_diagonal(const DeepNetwork& network, const ForwardPass& pass, const BackwardPass& back,
                        const Moving& moving, const Vector& weights) {
  const Index n = pass.f.rows(), outputs = network.outputs();
  Vector diagonal = Vector::Zero(n * outputs);
  for (const Term& term : terms(network, pass, back, moving)) {
    const Vector seen =
        term.points != nullptr ? Vector(term.points->rowwise().squaredNorm()) : Vector::Zero(n);
    const Vector behind = term.rows != nullptr ? Vector(term.rows->rowwise().squaredNorm()) : Vector();
    for (Index i = 0; i < n; ++i)
      for (Index r = i * outputs; r < (i + 1) * outputs; ++r)
        diagonal(r) += term.rows != nullptr ? (term.scale * (seen(i) + term.bias)) * (term.scale * behind(r))
                                            : (seen(i) + term.bias) * (weights(i) * weights(i));
  }
  return diagonal;
}

DeepNetwork moved(const DeepNetwork& network, const ForwardPass& pass, const BackwardPass& back,
                  const Moving& moving, const Vector& weights, const Vector& q) {
  const Index n = pass.f.rows(), K = network.outputs();
  const Threads threads(static_cast<double>(n) * static_cast<double>(parameters(network)));
  DeepNetwork result = network;
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    if (!moving[l]) continue;
    Layer& layer = result.layers[l];
    const Matrix g = summed(back.g[l], q, K);
    layer.W -= transposed_times(g, pass.input(l));
    if (layer.b.size() > 0) layer.b -= g.colwise().sum().transpose();
    if (back.u[l].size() == 0) continue;
    const Matrix u = layer.scale * summed(back.u[l], q, K);
    if (layer.U.size() > 0) layer.U -= transposed_times(u, pass.layers[l].a);
    if (layer.bU.size() > 0) layer.bU -= u.colwise().sum().transpose();
  }
  if (moving.back()) {
    Matrix outputs(n, K);
    for (Index i = 0; i < n; ++i) outputs.row(i) = weights(i) * q.segment(i * K, K).transpose();
    result.V -= transposed_times(outputs, pass.input(network.layers.size()));
    if (result.c.size() > 0) result.c -= outputs.colwise().sum().transpose();
  }
  return result;
}

double distance(const DeepNetwork& a, const DeepNetwork& b) {
  long double squares = 0;
  const auto add = [&](const auto& x, const auto& y) {
    for (Index i = 0; i < x.size(); ++i) {
      const long double difference = static_cast<long double>(x.data()[i]) - y.data()[i];
      squares += difference * difference;
    }
  };
  for (std::size_t l = 0; l < a.layers.size(); ++l) {
    const Layer &one = a.layers[l], &other = b.layers[l];
    add(one.W, other.W);
    add(one.b, other.b);
    add(one.U, other.U);
    add(one.bU, other.bU);
  }
  add(a.V, b.V);
  add(a.c, b.c);
  return static_cast<double>(std::sqrt(squares)) * kUp;
}

}  // namespace zeroloss::internal
