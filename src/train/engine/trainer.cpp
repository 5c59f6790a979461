#include "train/engine/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "base/parallel_for.hpp"
#include "linalg/lapack.hpp"
#include "train/engine/pattern_product.hpp"

namespace zeroloss::internal {
namespace {

// A tile's Z, S and P should stay in a core's second-level cache and be wide enough for products; and there
// should be tiles for several cores.
Index tile_width(Index n, Index m) {
  constexpr Index kEntries = 1 << 19, kLeast = 64, kMost = 4096, kTiles = 8;
  const Index shared = std::max(kLeast, (m + kTiles - 1) / kTiles);
  return std::min({m, std::clamp(kEntries / n, kLeast, kMost), shared});
}

// A diag(c), column by column.
template <class T>
Columns<T> scaled_columns(const T* A, Index rows, Index columns, const T* c) {
  Columns<T> scaled(rows, columns);
#pragma omp parallel for if (rows * columns > 100'000)
  for (Index j = 0; j < columns; ++j) {
    const T factor = c[j];
    for (Index i = 0; i < rows; ++i) scaled(i, j) = factor * A[j * rows + i];
  }
  return scaled;
}

template <class T>
using Column = Eigen::Matrix<T, Eigen::Dynamic, 1>;

// Over tiles, in their order.
template <class T>
Vector sum_of(const Columns<T>& partial) {
  Vector sum = Vector::Zero(partial.rows());
  for (Index t = 0; t < partial.cols(); ++t) sum += partial.col(t).template cast<double>();
  return sum;
}

}  // namespace

template <class T>
Points<T> points(const RowMatrix& X, Space space) {
  Points<T> result{X.cast<T>(), {}};
  if (space == Space::weights) return result;
  constexpr Index kTile = 256;
  const SerialBlas serial;
  const Index n = X.rows(), d = X.cols();
  result.G.resize(n, n);
  parallel_for((n + kTile - 1) / kTile, [&](Index tile) {
    const Index first = tile * kTile;
    lapack::gemm('T', 'N', n, std::min(kTile, n - first), d, T{1}, result.X.data(), d,
                 result.X.data() + first * d, d, T{0}, result.G.data() + first * n, n);
  });
  return result;
}

template Points<double> points(const RowMatrix&, Space);
template Points<float> points(const RowMatrix&, Space);

Space cheaper_space(Index n, Index d, bool pattern) {
  constexpr double kPattern = 0.45;  // measured: time of a product with D over that of a dense one
  const double pull = pattern ? kPattern : 1.0;
  return static_cast<double>(n) * pull < static_cast<double>(d) * (1 + pull) ? Space::gram : Space::weights;
}

template <class T>
Trainer<T>::Trainer(const Points<T>& points, const TwoLayer& start, const Activation& activation, Space space)
    : X_(points.X),
      G_(points.G),
      phi_(phi_of(activation)),
      rectifier_(activation.rectifier()),
      space_(space),
      width_(tile_width(points.X.rows(), start.W.rows())),
      v_(start.v.cast<T>()),
      W0_(start.W.cast<T>()),
      Z_(points.X.rows(), start.W.rows()) {
  if (space == Space::weights)
    W_ = W0_;
  else
    sum_ = Columns<T>::Zero(Z_.rows(), Z_.cols());
  refresh();
  signs_ = Z_.array() >= T{0};
}

template <class T>
typename Trainer<T>::Pull Trainer<T>::pull(const T* A, Index rows, const Vector& c) const {
  Pull result{A, rows, c.size(), c.cast<T>(), {}};
  if (pattern()) result.scaled = scaled_columns(A, rows, c.size(), result.c.data());
  return result;
}

// S = diag(c) times the slopes of Z; sum += S if there is one.
template <class T>
void Trainer<T>::slopes(const T* Z, Index points, Index count, const T* c, T* S, T* sum) const {
  if (spread_ == 0) {
    passes::coefficients(phi_, Z, points, count, c, S, sum);
    return;
  }
  const T scale = 1 / (2 * spread_);
  for (Index j = 0; j < count; ++j, Z += points, S += points) {
    for (Index i = 0; i < points; ++i) S[i] = c[i] * std::clamp(Z[i] * scale + T{0.5}, T{0}, T{1});
    if (sum == nullptr) continue;
    for (Index i = 0; i < points; ++i) sum[i] += S[i];
    sum += points;
  }
}

// P = A S for one tile, S = diag(c) times slopes, which a pattern does not need to form; sum += S if there
// is one.
template <class T>
void Trainer<T>::apply(const Pull& pull, const T* Z, const Tile& at, T* sum, T* S, T* P) const {
  const auto& [A, rows, points, c, scaled] = pull;
  if (pattern()) {
    pattern_product(scaled.data(), rows, rows, Z, points, at.count, P);
  } else {
    slopes(Z, points, at.count, c.data(), S, sum);
    lapack::gemm('N', 'N', rows, at.count, points, T{1}, A, rows, S, points, T{0}, P, rows);
  }
}

// w_j -= v_j P_j for a tile; returns the sum of ||v_j P_j||^2.
template <class T>
double Trainer<T>::shift(const Tile& at, const T* P) {
  double squares = 0;
  for (Index j = 0; j < at.count; ++j) {
    const Eigen::Map<const Column<T>> pulled(P + j * X_.cols(), X_.cols());
    const T v = v_(at.first + j);
    W_.row(at.first + j) -= v * pulled.transpose();
    squares += static_cast<double>(v) * v * static_cast<double>(pulled.squaredNorm());
  }
  return squares;
}

// Z = X W^T for a tile of W (d x count), f += phi(Z) v.
template <class T>
void Trainer<T>::forward(const T* X, Index points, const Tile& at, const T* W, T* Z, T* f) const {
  const Index d = X_.cols();
  lapack::gemm('T', 'N', points, at.count, d, T{1}, X, d, W, d, T{0}, Z, points);
  passes::outputs(phi_, Z, points, at.count, v_.data() + at.first, f);
}

// A tile of the weights, d x count: in Gram space W_0 - diag(v) S^T X.
template <class T>
void Trainer<T>::form_weights(const Tile& at, T* W) const {
  const Index d = X_.cols();
  Eigen::Map<Columns<T>> formed(W, d, at.count);
  if (!gram()) {
    formed = W_.middleRows(at.first, at.count).transpose();
    return;
  }
  lapack::gemm('N', 'N', d, at.count, n(), T{1}, X_.data(), d, sum_.col(at.first).data(), n(), T{0}, W, d);
  for (Index j = 0; j < at.count; ++j)
    formed.col(j) = W0_.row(at.first + j).transpose() - v_(at.first + j) * formed.col(j);
}

template <class T>
double Trainer<T>::move(const Vector& c) {
  const Pull step = gram() ? pull(G_.data(), n(), c) : pull(X_.data(), X_.cols(), c);
  Columns<T> partial = Columns<T>::Zero(n(), tiles());
  Vector squares(tiles());
  parallel_for(
      tiles(),
      [&] { return std::tuple(Columns<T>(pattern() ? 0 : n(), width_), Columns<T>(step.rows, width_)); },
      [&](auto& scratch, Index t) {
        auto& [S, P] = scratch;
        const Tile at = tile(t);
        T *Z = Z_.col(at.first).data(), *f = partial.col(t).data();
        T* sum = gram() ? sum_.col(at.first).data() : nullptr;
        const T* v = v_.data() + at.first;
        apply(step, Z, at, sum, S.data(), P.data());
        if (!gram()) {
          squares(t) = shift(at, P.data());
          forward(X_.data(), n(), at, W_.row(at.first).data(), Z, f);
        } else if (pattern()) {
          squares(t) = passes::advance_relu(step.c.data(), P.data(), n(), at.count, v, Z, f, sum);
        } else {
          squares(t) = passes::advance(phi_, S.data(), P.data(), n(), at.count, v, Z, f);
        }
      });
  f_ = sum_of(partial);
  return std::sqrt(std::max(0.0, squares.sum()));  // a sum of S o P may round below 0
}

template <class T>
Vector Trainer<T>::batch_outputs(const std::vector<Index>& batch) {
  const auto count = static_cast<Index>(batch.size());
  batch_X_.resize(X_.cols(), count);
  batch_Z_.resize(count, v_.size());
  for (Index b = 0; b < count; ++b) batch_X_.col(b) = X_.row(batch[static_cast<std::size_t>(b)]).transpose();
  Columns<T> partial = Columns<T>::Zero(count, tiles());
  parallel_for(tiles(), [&](Index t) {
    const Tile at = tile(t);
    forward(batch_X_.data(), count, at, W_.row(at.first).data(), batch_Z_.col(at.first).data(),
            partial.col(t).data());
  });
  return sum_of(partial);
}

template <class T>
double Trainer<T>::batch_move(const Vector& c) {
  const Pull step = pull(batch_X_.data(), batch_X_.rows(), c);
  Vector squares(tiles());
  parallel_for(
      tiles(), [&] { return std::tuple(Columns<T>(step.points, width_), Columns<T>(step.rows, width_)); },
      [&](auto& scratch, Index t) {
        auto& [S, P] = scratch;
        const Tile at = tile(t);
        apply(step, batch_Z_.col(at.first).data(), at, nullptr, S.data(), P.data());
        squares(t) = shift(at, P.data());
      });
  return std::sqrt(squares.sum());
}

template <class T>
void Trainer<T>::spread_slopes(double spread) {
  spread_ = rectifier_ ? static_cast<T>(spread) : 0;
}

template <class T>
void Trainer<T>::refresh() {
  Columns<T> partial = Columns<T>::Zero(n(), tiles());
  parallel_for(
      tiles(), [&] { return Columns<T>(X_.cols(), width_); },
      [&](Columns<T>& W, Index t) {
        const Tile at = tile(t);
        form_weights(at, W.data());
        forward(X_.data(), n(), at, W.data(), Z_.col(at.first).data(), partial.col(t).data());
      });
  f_ = sum_of(partial);
}

template <class T>
void Trainer<T>::place(const Rows<T>& W) {
  W_ = W;
  refresh();
}

template <class T>
Rows<T> Trainer<T>::gradient(const Vector& c) const {
  const Pull step = pull(X_.data(), X_.cols(), c);
  Rows<T> result(v_.size(), X_.cols());
  parallel_for(
      tiles(), [&] { return Columns<T>(n(), width_); },
      [&](Columns<T>& S, Index t) {
        const Tile at = tile(t);
        apply(step, Z_.col(at.first).data(), at, nullptr, S.data(), result.row(at.first).data());
        result.middleRows(at.first, at.count).array().colwise() *= v_.segment(at.first, at.count).array();
      });
  return result;
}

template <class T>
Vector Trainer<T>::normal_product(const Vector& c) const {
  const Pull step = gram() ? pull(G_.data(), n(), c) : pull(X_.data(), X_.cols(), c);
  const Column<T> ones = Column<T>::Ones(n());
  Columns<T> partial(n(), tiles());
  parallel_for(
      tiles(),
      [&] {
        return std::tuple(Columns<T>(n(), width_), Columns<T>(step.rows, width_), Columns<T>(n(), width_));
      },
      [&](auto& scratch, Index t) {
        auto& [S, P, product] = scratch;
        const Tile at = tile(t);
        const T* Z = Z_.col(at.first).data();
        apply(step, Z, at, nullptr, S.data(), P.data());
        if (!gram())
          lapack::gemm('T', 'N', n(), at.count, X_.cols(), T{1}, X_.data(), X_.cols(), P.data(), X_.cols(),
                       T{0}, product.data(), n());
        const T* GS = gram() ? P.data() : product.data();
        slopes(Z, n(), at.count, ones.data(), S.data(), nullptr);
        auto out = partial.col(t);
        out.setZero();
        for (Index j = 0; j < at.count; ++j) {
          const T v = v_(at.first + j);
          const Eigen::Map<const Column<T>> pulled(GS + j * n(), n());
          out.array() += v * v * S.col(j).array() * pulled.array();
        }
      });
  return sum_of(partial);
}

template <class T>
Vector Trainer<T>::gradient_squares() const {
  Columns<T> partial(n(), tiles());
  const Column<T> ones = Column<T>::Ones(n());
  parallel_for(
      tiles(), [&] { return Columns<T>(n(), width_); },
      [&](Columns<T>& D, Index t) {
        const Tile at = tile(t);
        slopes(Z_.col(at.first).data(), n(), at.count, ones.data(), D.data(), nullptr);
        partial.col(t) = D.leftCols(at.count).cwiseAbs2() * v_.segment(at.first, at.count).cwiseAbs2();
      });
  return sum_of(partial).cwiseProduct(X_.template cast<double>().rowwise().squaredNorm());
}

template <class T>
Matrix Trainer<T>::scaled_pattern() const {
  Matrix S(n(), v_.size());
  const Column<T> ones = Column<T>::Ones(n());
  parallel_for(
      tiles(), [&] { return Columns<T>(n(), width_); },
      [&](Columns<T>& D, Index t) {
        const Tile at = tile(t);
        slopes(Z_.col(at.first).data(), n(), at.count, ones.data(), D.data(), nullptr);
        for (Index j = 0; j < at.count; ++j)
          S.col(at.first + j) =
              std::abs(static_cast<double>(v_(at.first + j))) * D.col(j).template cast<double>();
      });
  return S;
}

template <class T>
Rows<T> Trainer<T>::weights() const {
  if (!gram()) return W_;
  Rows<T> W(v_.size(), X_.cols());
  parallel_for(tiles(), [&](Index t) { form_weights(tile(t), W.row(tile(t).first).data()); });
  return W;
}

template <class T>
Travel Trainer<T>::travel() const {
  Vector squares(tiles()), largest(tiles());
  std::vector<Index> flipped(static_cast<std::size_t>(tiles()));
  parallel_for(
      tiles(), [&] { return Columns<T>(X_.cols(), width_); },
      [&](Columns<T>& W, Index t) {
        const Tile at = tile(t);
        form_weights(at, W.data());
        const auto start = W0_.middleRows(at.first, at.count).transpose();
        const Vector lengths =
            (W.leftCols(at.count) - start).template cast<double>().colwise().squaredNorm().transpose();
        squares(t) = lengths.sum();
        largest(t) = lengths.maxCoeff();
        flipped[static_cast<std::size_t>(t)] = (signs_.middleCols(at.first, at.count).array() !=
                                                (Z_.middleCols(at.first, at.count).array() >= T{0}))
                                                   .count();
      });
  const auto signs = static_cast<double>(n()) * static_cast<double>(v_.size());
  const auto flips = static_cast<double>(std::accumulate(flipped.begin(), flipped.end(), Index{0}));
  return {std::sqrt(largest.maxCoeff()), std::sqrt(squares.sum()), flips / signs};
}

template <class T>
void Trainer<T>::restore(const State& state) {
  Z_ = state.Z;
  sum_ = state.sum;
  W_ = state.W;
  f_ = state.f;
}

template class Trainer<double>;
template class Trainer<float>;

}  // namespace zeroloss::internal
