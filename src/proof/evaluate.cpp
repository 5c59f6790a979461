#include "proof/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/parallel_for.hpp"
#include "linalg/lapack.hpp"
#include "linalg/tiled.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/kernel/spectrum.hpp"

// Proven bounds are computed here: compiled with IEEE rules, never with -ffast-math.
namespace zeroloss::internal {

void tangent_gram(const Matrix& S, const Matrix& G, Matrix& K) {
  tiled::product_with_transpose(S, K);
  const Index n = G.rows();
#pragma omp parallel for schedule(static)
  for (Index j = 0; j < n; ++j) K.col(j).tail(n - j).array() *= G.col(j).tail(n - j).array();
}

void point_gram(const RowMatrix& X, Matrix& G) { tiled::product_with_transpose(Matrix(X), G); }

}  // namespace zeroloss::internal

namespace zeroloss::internal::verified {
namespace {

constexpr Index kRows = 128, kNeurons = 128, kPanel = 64;  // of a tile of Z and of one product

Index tiles(Index size, Index tile) { return (size + tile - 1) / tile; }

}  // namespace

bool is_piecewise_linear(const Activation& activation) {
  return activation.tabulated && activation.piecewise_linear();
}
bool is_relu(const Activation& activation) { return activation.tabulated && activation.rectifier(); }

Vector row_lengths(const RowMatrix& A) {
  const double lost = 4 * static_cast<double>(A.cols()) * kTiny;
  return ((A.rowwise().squaredNorm().array() * kUp + lost).sqrt() * (1 + 4 * u)).matrix();
}

long double long_dot(const double* a, const double* b, Index count) {
  long double sums[4] = {};
  Index k = 0;
  for (; k + 4 <= count; k += 4)
    for (Index lane = 0; lane < 4; ++lane) sums[lane] += static_cast<long double>(a[k + lane]) * b[k + lane];
  for (; k < count; ++k) sums[0] += static_cast<long double>(a[k]) * b[k];
  return sums[0] + sums[1] + sums[2] + sums[3];
}

double length(const Vector& a) {
  const double scale = a.lpNorm<Eigen::Infinity>();
  return scale > 0 ? scale * std::sqrt((a / scale).squaredNorm()) * kUp : scale;
}

// |Z~_ij - <x~_i, w_j>| <= gamma ||x~_i|| ||w_j|| for the stored row x~_i, which moves <x_i, w_j> by at most
// row_error ||x_i|| ||w_j||; both lengths of the row are at most (1 + 2 row_error) times the one computed.
PreActivations pre_activations(const RowMatrix& X, const RowMatrix& W, double row_error) {
  const SerialBlas serial;
  const Index n = X.rows(), m = W.rows(), d = X.cols(), panels = tiles(d, kPanel);
  PreActivations z{Matrix(n, m), row_lengths(X), row_lengths(W), 8 * static_cast<double>(d) * kTiny};
  z.row *= (1 + 2 * row_error) * (1 + 4 * u);
  z.column *=
      gamma_of(static_cast<double>(std::min(d, kPanel) + panels) + roundings(row_error)) * (1 + 4 * u);
  const Index across = tiles(n, kRows), count = across * tiles(m, kNeurons);
  parallel_for(
      count, [] { return Matrix(kRows, kNeurons); },
      [&](Matrix& product, Index t) {
        const Index row = t % across * kRows, column = t / across * kNeurons;
        const Index rows = std::min(kRows, n - row), columns = std::min(kNeurons, m - column);
        auto tile = z.Z.block(row, column, rows, columns);
        for (Index panel = 0; panel < panels; ++panel) {
          const Index first = panel * kPanel;
          lapack::gemm('T', 'N', rows, columns, std::min(kPanel, d - first), 1.0, X.data() + row * d + first,
                       d, W.data() + column * d + first, d, 0.0, product.data(), kRows);
          if (panel == 0)
            tile = product.topLeftCorner(rows, columns);
          else
            tile += product.topLeftCorner(rows, columns);
        }
      });
  return z;
}

std::string unbounded(const Equations& equations, Index m) {
  if (std::max({equations.X.rows(), equations.X.cols(), m}) > kTerms)
    return fmt::format("n, m or d above {}: sums are too long for the bounds of rounding", kTerms);
  if (!(equations.row_error >= 0 && equations.row_error < 0x1p-32))
    return fmt::format("points are known to a relative {:.3g} only", equations.row_error);
  return {};
}

Evaluation evaluate(const TwoLayer& network, const Activation& activation, const Equations& equations) {
  const auto& X = equations.X;
  const auto& y = equations.y;
  const auto& counts = equations.counts;
  const double row_error = equations.row_error;
  const Vector& v = network.v;
  const Index n = X.rows(), m = v.size();
  const bool relu = is_relu(activation), linear = is_piecewise_linear(activation);
  // Of a computed phi or phi' against its size; 17 in place of 16 makes up for taking the computed size.
  const double relative = relu ? 0 : 17 * u;
  const double slope_relative = linear ? 0 : relative, absolute = linear ? 0 : 5 * u + 2 * kTiny;
  const double curvature = linear ? 0 : activation.M;  // signs that change are counted elsewhere
  constexpr double kSquareable = 0x1p-500;
  Evaluation e;
  e.z = pre_activations(X, network.W, row_error);
  e.S.resize(n, m);
  e.residual.resize(n);
  Vector residual(n), inexact(n), jacobian(n);
  const Index count = tiles(n, kRows);
  parallel_for(count, [&](Index t) {
    const Index row = t * kRows, rows = std::min(kRows, n - row);
    std::vector<long double> f(static_cast<std::size_t>(rows));
    Vector size = Vector::Zero(rows), wrong = Vector::Zero(rows), squares = Vector::Zero(rows);
    for (Index j = 0; j < m; ++j) {
      const double weight = std::abs(v(j));
      if (weight == 0) {  // whatever its numbers are: infinite bounds times 0 are none
        e.S.col(j).segment(row, rows).setZero();
        continue;
      }
      for (Index k = 0; k < rows; ++k) {
        const Index i = row + k;
        const double z = e.z.Z(i, j), shift = e.z.error(i, j);
        const double phi = activation.phi(z), slope = activation.dphi(z);
        // |phi'| between the stored and the exact z, whose distance is at most `shift`.
        const double steepest =
            linear
                ? activation.B
                : std::min(activation.B, std::abs(slope) * (1 + relative) + absolute + activation.M * shift);
        f[static_cast<std::size_t>(k)] += static_cast<long double>(v(j)) * phi;
        size(k) += weight * std::abs(phi);
        wrong(k) += weight * (shift * steepest + std::abs(phi) * relative + 2 * kTiny);
        e.S(i, j) = slope * v(j);
        if (relu) continue;
        const double slope_error = std::abs(slope) * slope_relative + absolute + curvature * shift;
        const double entry = weight * slope_error + u * std::abs(e.S(i, j)) + kSquareable;
        squares(k) += entry * entry;
      }
    }
    for (Index k = 0; k < rows; ++k) {
      const auto r = static_cast<double>(f[static_cast<std::size_t>(k)] - y(row + k));
      const double summed = kLongUnit * static_cast<double>(m + 3) * (size(k) + std::abs(y(row + k)));
      e.residual(row + k) = r;
      inexact(row + k) = std::abs(r) * (2 * u) + (wrong(k) + summed) * kUp + 4 * kTiny;
      residual(row + k) = std::abs(r) + inexact(row + k);
      jacobian(row + k) = std::sqrt(squares(k)) * kUp * e.z.row(row + k);
    }
  });
  if (counts.size() > 0) {
    const Vector root = (counts.array().sqrt() * (1 + 2 * u)).matrix();
    residual.array() *= root.array();
    jacobian.array() *= root.array();
    e.residual.array() *= counts.array().sqrt();
    inexact = (inexact.array() * root.array() + 4 * u * e.residual.array().abs()).matrix();
  }
  e.residual_error = length(inexact) * (1 + 4 * u);
  e.misfit = length(residual);
  e.jacobian_error = length(jacobian);
  return e;
}

double gram_error(const Matrix& computed, double terms, double lost) {
  const auto side = static_cast<double>(computed.rows());
  return (gamma_of(terms + 2) * computed.diagonal().sum() + side * lost) * kUp;
}

double gram_error(const Vector& diagonal, double terms, double lost) {
  const auto side = static_cast<double>(diagonal.size());
  return (gamma_of(terms + 2) * diagonal.sum() + side * lost) * kUp;
}

// G's rows within row_error move an entry of G by at most (2 row_error + row_error^2) ||x_i|| ||x_j||.
double jacobian_gram_error(const Vector& diagonal, Index m, Index d, double longest, double steepest,
                           double row_error) {
  const auto mm = static_cast<double>(m), dd = static_cast<double>(d);
  const double lost = 4 * kTiny * (mm * longest * longest + dd * (mm * steepest + 1) * steepest + dd + 1);
  return gram_error(diagonal, mm + dd + 1 + roundings(2.1 * row_error), lost);
}

namespace {

// Where squares of eigenvalues and their inverses neither overflow nor vanish.
bool in_range(double trace) { return trace > 1e-100 && trace < 1e100; }

// The largest eigenvalue of an operator, from below. More digits would cost more products than they are
// worth.
constexpr double kTolerance = 1e-6, kGap = 1e-5;
double largest(const Operator& apply, Index n) {
  const SerialBlas serial;
  return block_lanczos(apply, random_block(n), 1, 200, kTolerance).values.tail(1).value();
}

// fl(sign (K - s I)) in `work`, lower triangle.
void shifted(const Matrix& K, double sign, double s, Matrix& work) {
  const Index n = K.rows();
  work.resize(n, n);
#pragma omp parallel for schedule(static)
  for (Index j = 0; j < n; ++j) {
    work.col(j).tail(n - j) = sign * K.col(j).tail(n - j);
    work(j, j) = sign * (K(j, j) - s);
  }
}

// factor(s): Cholesky of fl(s I - K); residual(): as of ByFactors.
EigenvalueBound highest(Index side, double trace, double error, const Operator& multiply,
                        const std::function<bool(double s)>& factor,
                        const std::function<std::optional<double>()>& residual = {}) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const auto n = static_cast<double>(side);
  EigenvalueBound result;
  result.bound = kNone;
  if (!in_range(trace) || !std::isfinite(error)) return result;
  result.computed = largest(multiply, side);
  for (double gap = kGap; gap < 1e3; gap *= 4) {
    const double s = result.computed * (1 + gap) + error;
    if (!factor(s)) continue;
    const auto found = residual ? residual() : std::nullopt;
    result.loss = ((found ? *found : cholesky_loss(n, n * s, s)) + error) * (1 + 4 * u);
    result.bound = (s + result.loss) * (1 + 4 * u);
    return result;
  }
  return result;
}

}  // namespace

EigenvalueBound lowest_eigenvalue(const ByFactors& K, double error) {
  const auto n = static_cast<double>(K.n);
  const double trace = K.trace * kUp;  // K - s I has a smaller one for s > 0
  EigenvalueBound result;
  result.loss = (cholesky_loss(n, trace, trace) + error) * (1 + 4 * u);
  if (!in_range(trace) || !std::isfinite(error)) return result;
  if (!K.factor(0)) return result;
  result.computed = std::max(0.0, 1 / largest(K.solve, K.n));
  for (double gap = std::max(kGap * result.computed, result.loss / 10);; gap *= 2) {
    const double s = result.computed - gap;
    if (!((s - result.loss) * (1 - 4 * u) > 0)) return result;
    if (!K.factor(s)) continue;
    if (const auto found = K.residual ? K.residual() : std::nullopt)
      result.loss = (*found + error) * (1 + 4 * u);
    if (const double proven = (s - result.loss) * (1 - 4 * u); proven > 0) result.bound = proven;
    return result;
  }
}

EigenvalueBound lowest_eigenvalue(const Matrix& K, double error, Matrix& work, Progress& progress,
                                  bool factored) {
  const auto factor = [&](double s) {
    if (s == 0 && factored) return true;
    shifted(K, 1, s, work);
    return tiled::factor(work, progress);
  };
  const auto solve = [&](const Matrix& V) {
    progress.check();
    Matrix B = V;
    tiled::solve(work, B);
    return B;
  };
  return lowest_eigenvalue({K.rows(), K.diagonal().sum(), factor, solve}, error);
}

EigenvalueBound lowest_eigenvalue(TangentMatrix& K, double error, Vector& c, Progress& progress) {
  const auto factor = [&](double s) {
    if (!K.factor(1, s, progress)) return false;
    if (s == 0) c = K.solve(c);
    return true;
  };
  const auto solve = [&](const Matrix& V) {
    progress.check();
    return K.solve(V);
  };
  const Vector diagonal = K.diagonal();
  return lowest_eigenvalue(
      {diagonal.size(), diagonal.sum(), factor, solve, [&] { return K.residual(progress); }}, error);
}

EigenvalueBound highest_eigenvalue(const Matrix& K, double error, Matrix& work, Progress& progress) {
  const auto multiply = [&](const Matrix& V) {
    progress.check();
    return tiled::product(K, V);
  };
  const auto factor = [&](double s) {
    shifted(K, -1, s, work);
    return tiled::factor(work, progress);
  };
  return highest(K.rows(), K.diagonal().sum(), error, multiply, factor);
}

EigenvalueBound highest_eigenvalue(TangentMatrix& K, double error, Progress& progress) {
  const auto multiply = [&](const Matrix& V) {
    progress.check();
    return K.product(V);
  };
  const auto factor = [&](double s) { return K.factor(-1, s, progress); };
  const Vector diagonal = K.diagonal();
  return highest(diagonal.size(), diagonal.sum(), error, multiply, factor,
                 [&] { return K.residual(progress); });
}

double spectral_norm(const RowMatrix& A, Progress& progress) {
  if (A.size() == 0) return 0;
  long double squares = 0;
  for (const double entry : A.reshaped()) squares += static_cast<long double>(entry) * entry;
  const double frobenius =
      squares > 0 ? static_cast<double>(std::sqrt(squares)) * kUp + kTiny : static_cast<double>(squares);
  const Matrix thin = A.rows() <= A.cols() ? Matrix(A) : Matrix(A.transpose());
  const auto terms = static_cast<double>(thin.cols());
  Matrix G, work;
  tiled::product_with_transpose(thin, G);
  const double bound = highest_eigenvalue(G, gram_error(G, terms, 4 * terms * kTiny), work, progress).bound;
  const double size = std::sqrt(bound) * (1 + 4 * u);
  return size > 1e-140 && size < frobenius ? size : frobenius;
}

}  // namespace zeroloss::internal::verified
