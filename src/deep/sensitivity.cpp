#include "deep/sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/parallel_for.hpp"
#include "linalg/lapack.hpp"
#include "linalg/upper_bound.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/kernel/spectrum.hpp"

// Proven bounds are computed here: compiled with IEEE rules, never with -ffast-math. Comparisons are written
// so that NaN fails them.
namespace zeroloss::internal::verified {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ||A||_F, rounded up; squares that vanish are counted, those that overflow make it infinite.
template <class Dense>
double size_of(const Dense& A) {
  return A.colwise().norm().norm() * (kUp * kUp) + static_cast<double>(A.size()) * 0x1p-510;
}

// A matrix that is known up to `off` in the Frobenius norm.
struct NearMatrix {
  Matrix A;
  UpperBound off;
};

// What an operation on each entry may lose where doubles are flushed to 0.
UpperBound flushed(const Matrix& A, double operations) {
  return operations * kTiny * UpperBound(std::sqrt(static_cast<double>(A.size())) * kUp);
}

// A weight matrix, exactly these doubles.
struct WeightMatrix {
  const RowMatrix& A;
  UpperBound size;
};

UpperBound product_error(const WeightMatrix& W, const NearMatrix& X, const Matrix& computed, Index terms) {
  const auto k = static_cast<double>(terms);
  return W.size * (X.off + gamma_of(k) * UpperBound(size_of(X.A))) + flushed(computed, 4 * k);
}

// W X. A row-major W is W^T by columns.
NearMatrix product(const WeightMatrix& W, const NearMatrix& X) {
  const Index rows = W.A.rows(), terms = W.A.cols(), columns = X.A.cols();
  NearMatrix Y{Matrix(rows, columns), {}};
  lapack::gemm('T', 'N', rows, columns, terms, 1.0, W.A.data(), terms, X.A.data(), terms, 0.0, Y.A.data(),
               rows);
  Y.off = product_error(W, X, Y.A, terms);
  return Y;
}

// X W^T.
NearMatrix transposed_product(const NearMatrix& X, const WeightMatrix& W) {
  const Index rows = X.A.rows(), terms = W.A.cols(), columns = W.A.rows();
  NearMatrix Y{Matrix(rows, columns), {}};
  lapack::gemm('N', 'N', rows, columns, terms, 1.0, X.A.data(), rows, W.A.data(), terms, 0.0, Y.A.data(),
               rows);
  Y.off = product_error(W, X, Y.A, terms);
  return Y;
}

// s phi'(z_j), on the diagonal of a matrix: each at most `most` and within `off` of d_j.
struct Slopes {
  Vector d;
  UpperBound most, off;

  // Of D X, or of X D.
  UpperBound error(const NearMatrix& X) const {
    return most * X.off + (off + u * (most + off)) * UpperBound(size_of(X.A)) + flushed(X.A, 1);
  }
  NearMatrix rows_of(const NearMatrix& X) const { return {d.asDiagonal() * X.A, error(X)}; }
  NearMatrix columns_of(const NearMatrix& X) const { return {X.A * d.asDiagonal(), error(X)}; }
};

// A + s B.
NearMatrix sum(const NearMatrix& A, double s, const NearMatrix& B) {
  const UpperBound size = UpperBound(size_of(A.A)) + std::abs(s) * UpperBound(size_of(B.A));
  return {A.A + s * B.A, A.off + std::abs(s) * B.off + gamma_of(3) * size + flushed(A.A, 2)};
}

// A symmetric matrix that is X + t I or more, as quadratic forms are: what X is off by goes to the diagonal.
NearMatrix lifted(const NearMatrix& X, UpperBound t) {
  NearMatrix C{(X.A + X.A.transpose()) / 2, {}};
  const UpperBound by = t + X.off, rounding = 4 * u * (UpperBound(size_of(X.A)) + by) + flushed(X.A, 4);
  C.A.diagonal().array() += static_cast<double>(by + rounding);
  return C;
}

// The root of the largest eigenvalue of a symmetric matrix with no negative one: s I - A has a Cholesky
// factor, s a little above what a few products say; ||A||_F where that is smaller or nothing is found.
double root_of_largest(const Matrix& A) {
  constexpr int kProducts = 12;
  const Index n = A.rows();
  const auto side = static_cast<double>(n);
  const double size = size_of(A);
  UpperBound bound = size;
  Index steepest = 0;
  const double top = A.diagonal().maxCoeff(&steepest);
  if (top > 1e-100 && top < 1e100) {
    Vector x = A.col(steepest);
    double value = x.norm();
    for (int k = 0; k < kProducts; ++k) {
      x /= value;
      x = A * x;
      value = x.norm();
    }
    Matrix work;
    for (double gap = 0.02;; gap *= 2) {
      const double s = value * (1 + gap);
      if (!(s < size)) break;
      work = -A;
      work.diagonal() = (s - A.diagonal().array()).matrix();
      if (lapack::potrf('L', n, work.data(), n) != 0 || !work.diagonal().allFinite()) continue;
      bound = min(bound, s + UpperBound(cholesky_loss(side, side * s, s)));
      break;
    }
  }
  return static_cast<double>(sqrt(bound));
}

}  // namespace

Sensitivities::Sensitivities(const DeepNetwork& network, const DeepEvaluation& e, const Moving& moving)
    : network_(network), e_(e), moving_(moving) {
  for (const Layer& layer : network.layers) {
    activations_.push_back(activation_of(layer));
    W_.push_back(size_of(layer.W));
    U_.push_back(size_of(layer.U));
  }
}

double Sensitivities::work() const {
  double sum = 0;
  for (std::size_t l = first_moving(moving_); l < network_.layers.size(); ++l) {
    const auto m = static_cast<double>(network_.layers[l].units()),
               p = static_cast<double>(network_.layers[l].inputs());
    sum += (network_.layers[l].U.size() > 0 ? 2 : 1) * m * p * (m + p);
  }
  return sum;
}

void Sensitivities::compute(Index points, Progress& progress) {
  progress.check();
  const auto known = std::ssize(known_);
  if (points <= known) return;
  known_.resize(static_cast<std::size_t>(points));
  const SerialBlas serial;
  parallel_for(points - known, [&](Index k) {
    if (!progress.cancelled()) known_[static_cast<std::size_t>(known + k)] = at(known + k);
  });
  progress.check();
}

// C is at least dh_l/dtheta (dh_l/dtheta)^T, P the same of z_l: C <= C' implies W C W^T <= W C' W^T, so that
// what rounding adds to a layer's diagonal is carried on by the derivatives themselves.
Sensitivity Sensitivities::at(Index i) const {
  const std::size_t L = network_.layers.size();
  Sensitivity result{Vector::Zero(static_cast<Index>(L)), Vector::Zero(static_cast<Index>(L))};
  NearMatrix C;  // empty: 0
  for (std::size_t l = first_moving(moving_); l < L; ++l) {
    const Layer& layer = network_.layers[l];
    const PointSizes& points = e_.points[l];
    if (points.uncertain(i) != 0) {
      result.z.tail(static_cast<Index>(L - l)).setConstant(kInfinity);
      result.h.tail(static_cast<Index>(L - l)).setConstant(kInfinity);
      return result;
    }
    const UpperBound s = std::abs(layer.scale), h = points.h(i), a = points.a(i);
    const bool moves = moving_[l];
    const WeightMatrix W{layer.W, W_[l]}, U{layer.U, U_[l]};
    NearMatrix Y, P{Matrix::Zero(layer.units(), layer.units()), {}};
    if (C.A.size() > 0) {
      Y = product(W, C);
      P = transposed_product(Y, W);
    }
    P = lifted(P, moves ? h * h + (layer.b.size() > 0 ? 1 : 0) : UpperBound());
    result.z(static_cast<Index>(l)) = root_of_largest(P.A);
    const Slopes D{
        (layer.scale * e_.pass.layers[l].z.row(i).unaryExpr(activations_[l].dphi)).transpose(),
        s * UpperBound(points.slope(i)),
        s * (points.slope_error(i) + u * (UpperBound(points.slope(i)) + points.slope_error(i))) + kTiny};
    NearMatrix next = D.columns_of(D.rows_of(P));
    if (layer.residual) {
      // With T = D Y + 1/2 D P D U^T: C + U T + T^T U^T.
      NearMatrix T = layer.U.size() > 0 ? transposed_product(next, U) : std::move(next);
      T = Y.A.size() > 0 ? sum(D.rows_of(Y), 0.5, T) : NearMatrix{T.A / 2, T.off + flushed(T.A, 1)};
      if (layer.U.size() > 0) T = product(U, T);
      next = sum(T, 1, {T.A.transpose(), T.off});
      if (C.A.size() > 0) next = sum(C, 1, next);
    }
    UpperBound outer;
    if (moves && layer.U.size() > 0) outer += s * a * (s * a);
    if (moves && layer.bU.size() > 0) outer += s * s;
    C = lifted(next, outer);
    result.h(static_cast<Index>(l)) = root_of_largest(C.A);
  }
  return result;
}

}  // namespace zeroloss::internal::verified
