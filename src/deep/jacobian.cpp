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

Index points_of_tile(Index outputs) {
  constexpr Index kRows = 256;  // of J in a tile, if a point has no more
  return std::max(kRows / outputs, Index{1});
}

namespace {

// J J^T tile by tile, on and below the diagonal.
class Tiles {
 public:
  Tiles(const DeepNetwork& network, const ForwardPass& pass, const BackwardPass& back, const Moving& moving,
        const Vector& weights)
      : terms_(terms(network, pass, back, moving)),
        weights_(weights),
        n_(pass.f.rows()),
        outputs_(network.outputs()),
        points_(points_of_tile(outputs_)) {}

  Index outputs() const { return outputs_; }
  Index side() const { return n_ * outputs_; }
  Index points() const { return points_; }                             ///< in a tile
  Index count() const { return (n_ + points_ - 1) / points_; }         ///< along a side
  Index begin(Index tile) const { return tile * points_ * outputs_; }  ///< its first row

  /// Tile (row, column), row >= column; one on the diagonal whole, of which the lower triangle counts.
  Matrix operator()(Index row, Index column) const {
    const Index i0 = row * points_, j0 = column * points_, outputs = outputs_;
    const Index ni = std::min(points_, n_ - i0), nj = std::min(points_, n_ - j0);
    Matrix sum = Matrix::Zero(ni * outputs, nj * outputs), G, H;
    for (const Term& term : terms_) {
      if (term.points != nullptr)
        tile_product(*term.points, i0, ni, j0, nj, H);
      else
        H.setZero(ni, nj);
      if (term.rows == nullptr) {
        for (Index j = 0; j < nj; ++j)
          for (Index i = 0; i < ni; ++i)
            for (Index k = 0; k < outputs; ++k)
              sum(i * outputs + k, j * outputs + k) +=
                  (H(i, j) + term.bias) * (weights_(i0 + i) * weights_(j0 + j));
        continue;
      }
      tile_product(*term.rows, i0 * outputs, ni * outputs, j0 * outputs, nj * outputs, G);
      for (Index k = 0; k < nj * outputs; ++k)
        for (Index i = 0; i < ni; ++i)
          sum.col(k).segment(i * outputs, outputs) += (term.scale * (H(i, k / outputs) + term.bias)) *
                                                      (term.scale * G.col(k).segment(i * outputs, outputs));
    }
    return sum;
  }

 private:
  const std::vector<Term> terms_;
  const Vector& weights_;
  const Index n_, outputs_, points_;
};

// keep(row, column, tile) for each tile on and below the diagonal, on all threads.
template <class Keep>
void each_tile(const Tiles& tiles, const DeepNetwork& network, const Keep& keep) {
  const auto side = static_cast<double>(tiles.side());
  const Threads threads(side * side * static_cast<double>(network.V.cols()));
  const SerialBlas serial;
  parallel_for(tiles.count() * (tiles.count() + 1) / 2, [&](Index t) {
    auto row = static_cast<Index>((std::sqrt(8.0 * static_cast<double>(t) + 1) - 1) / 2);
    while (row * (row + 1) / 2 > t) --row;
    while ((row + 1) * (row + 2) / 2 <= t) ++row;
    const Index column = t - row * (row + 1) / 2;
    keep(row, column, tiles(row, column));
  });
}

}  // namespace

void tangent_gram(const DeepNetwork& network, const ForwardPass& pass, const BackwardPass& back,
                  const Moving& moving, const Vector& weights, Matrix& K) {
  const Tiles tiles(network, pass, back, moving, weights);
  K.resize(tiles.side(), tiles.side());
  each_tile(tiles, network, [&](Index row, Index column, const Matrix& tile) {
    K.block(tiles.begin(row), tiles.begin(column), tile.rows(), tile.cols()) = tile;
  });
}

void tangent_gram(const DeepNetwork& network, const ForwardPass& pass, const BackwardPass& back,
                  const Moving& moving, const Vector& weights, Packed<double>& K) {
  const Tiles tiles(network, pass, back, moving, weights);
  each_tile(tiles, network, [&](Index row, Index column, const Matrix& tile) {
    const Index i0 = tiles.begin(row), j0 = tiles.begin(column);
    for (Index j = 0; j < tile.cols(); ++j)
      for (Index i = std::max(Index{0}, j0 + j - i0); i < tile.rows(); ++i) K(i0 + i, j0 + j) = tile(i, j);
  });
}

void tangent_rows(const DeepNetwork& network, const ForwardPass& pass, const BackwardPass& back,
                  const Moving& moving, const Vector& weights, Index first, Index count, RowMatrix& rows) {
  const Tiles tiles(network, pass, back, moving, weights);
  const Index begin = first * tiles.outputs(), end = begin + count * tiles.outputs();
  rows.resize(end - begin, tiles.side());
  if (count == 0) return;
  const Threads threads(static_cast<double>(rows.size()) * static_cast<double>(network.V.cols()));
  const SerialBlas serial;
  const Index top = first / tiles.points(), bottom = (first + count - 1) / tiles.points() + 1;
  parallel_for((bottom - top) * tiles.count(), [&](Index t) {
    const Index row = top + t / tiles.count(), column = t % tiles.count();
    Matrix tile = row >= column ? tiles(row, column) : Matrix(tiles(column, row).transpose());
    if (row == column) tile.triangularView<Eigen::StrictlyUpper>() = tile.transpose().eval();
    const Index i0 = tiles.begin(row), from = std::max(begin, i0), to = std::min(end, i0 + tile.rows());
    rows.block(from - begin, tiles.begin(column), to - from, tile.cols()) =
        tile.middleRows(from - i0, to - from);
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

DeepNetwork pulled_back(const DeepNetwork& network, const ForwardPass& pass, const BackwardPass& back,
                        const Moving& moving, const Vector& weights, const Vector& q) {
  const Index n = pass.f.rows(), K = network.outputs();
  const Threads threads(static_cast<double>(n) * static_cast<double>(parameters(network)));
  DeepNetwork result;
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer& like = network.layers[l];
    Layer& layer = result.layers.emplace_back();
    layer.W.setZero(like.W.rows(), like.W.cols());
    layer.b.setZero(like.b.size());
    layer.U.setZero(like.U.rows(), like.U.cols());
    layer.bU.setZero(like.bU.size());
    if (!moving[l]) continue;
    const Matrix g = summed(back.g[l], q, K);
    layer.W = transposed_times(g, pass.input(l));
    if (layer.b.size() > 0) layer.b = g.colwise().sum().transpose();
    if (back.u[l].size() == 0) continue;
    const Matrix u = like.scale * summed(back.u[l], q, K);
    if (layer.U.size() > 0) layer.U = transposed_times(u, pass.layers[l].a);
    if (layer.bU.size() > 0) layer.bU = u.colwise().sum().transpose();
  }
  result.V.setZero(network.V.rows(), network.V.cols());
  result.c.setZero(network.c.size());
  if (!moving.back()) return result;
  Matrix outputs(n, K);
  for (Index i = 0; i < n; ++i) outputs.row(i) = weights(i) * q.segment(i * K, K).transpose();
  result.V = transposed_times(outputs, pass.input(network.layers.size()));
  if (result.c.size() > 0) result.c = outputs.colwise().sum().transpose();
  return result;
}

namespace {

// Adds to entry i K + k the inner product of that row of A with row i of B.
void add_products(const Matrix& A, const Matrix& B, Index K, Vector& sums) {
#pragma omp parallel for schedule(static)
  for (Index i = 0; i < B.rows(); ++i)
    sums.segment(i * K, K) += A.middleRows(i * K, K) * B.row(i).transpose();
}

}  // namespace

Vector pushed_forward(const DeepNetwork& network, const ForwardPass& pass, const BackwardPass& back,
                      const Moving& moving, const Vector& weights, const DeepNetwork& w) {
  const Index n = pass.f.rows(), K = network.outputs();
  const Threads threads(static_cast<double>(n) * static_cast<double>(parameters(network)));
  Vector product = Vector::Zero(n * K);
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    if (!moving[l]) continue;
    const Layer& step = w.layers[l];
    add_products(back.g[l], affine(pass.input(l), step.W, step.b), K, product);
    if (back.u[l].size() == 0) continue;
    Matrix of_U = Matrix::Zero(n, back.u[l].cols());
    if (step.U.size() > 0)
      of_U = affine(pass.layers[l].a, step.U, step.bU);
    else
      of_U.rowwise() += step.bU.transpose();
    add_products(back.u[l], network.layers[l].scale * of_U, K, product);
  }
  if (!moving.back()) return product;
  const Matrix outputs = affine(pass.input(network.layers.size()), w.V, w.c);
  for (Index i = 0; i < n; ++i) product.segment(i * K, K) += weights(i) * outputs.row(i).transpose();
  return product;
}

DeepNetwork moved(const DeepNetwork& network, const ForwardPass& pass, const BackwardPass& back,
                  const Moving& moving, const Vector& weights, const Vector& q) {
  const DeepNetwork step = pulled_back(network, pass, back, moving, weights, q);
  DeepNetwork result = network;
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    Layer& layer = result.layers[l];
    layer.W -= step.layers[l].W;
    layer.b -= step.layers[l].b;
    layer.U -= step.layers[l].U;
    layer.bU -= step.layers[l].bU;
  }
  result.V -= step.V;
  result.c -= step.c;
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
