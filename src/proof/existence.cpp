#include "proof/existence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/parallel_for.hpp"
#include "linalg/lapack.hpp"
#include "linalg/tiled.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/memory.hpp"

// Proven bounds are computed here: compiled with IEEE rules, never with -ffast-math. Comparisons are written
// so that NaN fails them.
namespace zeroloss::internal {
namespace {

using namespace verified;

struct Kink {
  Index point = 0, neuron = 0;
};

enum class State : unsigned char { off, on, kink };
using States = Eigen::Matrix<State, Eigen::Dynamic, Eigen::Dynamic>;

// The piece of the network on which f is linear: outputs sum_j S_ij <w_j, x_i>, S_ij = v_j where `on`, else
// 0; and equations <w_j, x_i> = 0 at kinks, which are listed neuron by neuron.
struct Piece {
  States state;
  Matrix S;
  std::vector<Kink> kinks;
};

// By the signs of Z; where v_j = 0 all is off.
States states(const Matrix& Z, const Vector& v) {
  States state(Z.rows(), Z.cols());
#pragma omp parallel for schedule(static)
  for (Index j = 0; j < Z.cols(); ++j)
    for (Index i = 0; i < Z.rows(); ++i)
      state(i, j) = v(j) == 0 || Z(i, j) < 0 ? State::off : Z(i, j) > 0 ? State::on : State::kink;
  return state;
}

Piece piece(States state, const Vector& v) {
  Piece result{std::move(state), {}, {}};
  result.S.resize(result.state.rows(), result.state.cols());
  for (Index j = 0; j < v.size(); ++j)
    for (Index i = 0; i < result.S.rows(); ++i) {
      result.S(i, j) = result.state(i, j) == State::on ? v(j) : 0;
      if (result.state(i, j) == State::kink) result.kinks.push_back({i, j});
    }
  return result;
}

// M (lower) = A A^T: A's first rows are those of J on the piece, the others are x_i on neuron j for each
// kink.
void stacked_gram(const Piece& piece, const Matrix& G, Matrix& M) {
  const Matrix& S = piece.S;
  const auto& kinks = piece.kinks;
  const Index n = S.rows(), count = static_cast<Index>(kinks.size());
  const auto g = [&](Index i, Index k) { return G(std::max(i, k), std::min(i, k)); };
  Matrix K;
  tangent_gram(S, G, K);
  M.resize(n + count, n + count);
  M.topLeftCorner(n, n) = K;
#pragma omp parallel for schedule(static)
  for (Index i = 0; i < n; ++i)
    for (Index a = 0; a < count; ++a) {
      const auto [point, neuron] = kinks[static_cast<std::size_t>(a)];
      M(n + a, i) = S(i, neuron) * g(i, point);
    }
#pragma omp parallel for schedule(static)
  for (Index a = 0; a < count; ++a)
    for (Index b = a; b < count; ++b) {
      const Kink left = kinks[static_cast<std::size_t>(a)], below = kinks[static_cast<std::size_t>(b)];
      M(n + b, n + a) = left.neuron == below.neuron ? g(left.point, below.point) : 0;
    }
}

// What is left to solve at given weights: t = (sum_j S_ij z_ij - y_i; z_ij at the kinks), with a bound of
// ||t||.
struct Remainder {
  Vector t;
  double length = 0;  // rounded up
};
Remainder remainder(const Piece& piece, const PreActivations& z, const Vector& y) {
  const Matrix& S = piece.S;
  const auto& kinks = piece.kinks;
  const Index n = S.rows(), m = S.cols(), count = static_cast<Index>(kinks.size());
  Remainder result{Vector(n + count)};
  Vector size(n + count);
#pragma omp parallel for schedule(static)
  for (Index i = 0; i < n; ++i) {
    long double f = 0;
    double terms = std::abs(y(i)), wrong = 0;
    for (Index j = 0; j < m; ++j) {
      if (S(i, j) == 0) continue;
      f += static_cast<long double>(S(i, j)) * z.Z(i, j);
      terms += std::abs(S(i, j) * z.Z(i, j));
      wrong += std::abs(S(i, j)) * z.error(i, j) + 2 * kTiny;
    }
    result.t(i) = static_cast<double>(f - y(i));
    size(i) = std::abs(result.t(i)) * (1 + 2 * u) +
              (wrong + kLongUnit * static_cast<double>(m + 3) * terms) * kUp + 4 * kTiny;
  }
  for (Index a = 0; a < count; ++a) {
    const auto [i, j] = kinks[static_cast<std::size_t>(a)];
    result.t(n + a) = z.Z(i, j);
    size(n + a) = std::abs(z.Z(i, j)) + z.error(i, j);
  }
  result.length = verified::length(size);
  return result;
}

// W <- W - A^T q.
void move(const Piece& piece, const RowMatrix& X, const Vector& q, RowMatrix& W) {
  constexpr Index kNeurons = 64;
  const SerialBlas serial;
  const Matrix& S = piece.S;
  const auto& kinks = piece.kinks;
  const Index n = X.rows(), d = X.cols(), m = W.rows(), count = (m + kNeurons - 1) / kNeurons;
  parallel_for(count, [&](Index t) {
    const Index first = t * kNeurons, width = std::min(kNeurons, m - first);
    Matrix C = q.head(n).asDiagonal() * S.middleCols(first, width);
    for (std::size_t a = 0; a < kinks.size(); ++a)
      if (const auto [i, j] = kinks[a]; first <= j && j < first + width)
        C(i, j - first) = q(n + static_cast<Index>(a));
    lapack::gemm('N', 'N', d, width, n, -1.0, X.data(), d, C.data(), n, 1.0, W.data() + first * d, d);
  });
}

// How far the piece reaches around weights with pre-activations z: the least distance to a change of sign
// outside kinks, rounded down. Entries that have changed already, or do within `rho`, become kinks in
// `state`.
struct Reach {
  double least = 0;
  Index changed = 0;
};
Reach reach(const PreActivations& z, const Vector& v, double rho, States& state) {
  const Index m = state.cols();
  std::vector<Reach> of(static_cast<std::size_t>(m), {std::numeric_limits<double>::infinity(), 0});
#pragma omp parallel for schedule(static)
  for (Index j = 0; j < m; ++j) {
    auto& [least, changed] = of[static_cast<std::size_t>(j)];
    for (Index i = 0; i < state.rows(); ++i) {
      if (v(j) == 0 || state(i, j) == State::kink) continue;
      const double signed_z = state(i, j) == State::on ? z.Z(i, j) : -z.Z(i, j);
      const double left = (signed_z - z.error(i, j)) / z.row(i) * kDown;
      if (left > rho) {
        least = std::min(least, left);
      } else {
        state(i, j) = State::kink;
        ++changed;
      }
    }
  }
  Reach all{std::numeric_limits<double>::infinity(), 0};
  for (const auto& [least, changed] : of) {
    all.least = std::min(all.least, least);
    all.changed += changed;
  }
  return all;
}

// Why the equations of a piece cannot be solved; empty if they can be tried.
std::string too_many(const Piece& piece, Index active, Index d) {
  const Index n = piece.S.rows(), count = static_cast<Index>(piece.kinks.size());
  const Index most = std::min(std::max<Index>(2 * n, 1000), active * d - n);
  if (count > most)
    return fmt::format(
        "{} pre-activations change sign on the way to the nearest solution; at most {} can be held at zero",
        count, most);
  const auto side = static_cast<double>(n + count);
  if (16 * side * side > static_cast<double>(available_memory_bytes()))
    return fmt::format("{} points and {} kinks need {}", n, count, format_bytes(16 * side * side));
  for (std::size_t a = static_cast<std::size_t>(d); a < piece.kinks.size(); ++a)
    if (piece.kinks[a].neuron == piece.kinks[a - static_cast<std::size_t>(d)].neuron)
      return fmt::format("more than d = {} pre-activations of neuron {} would have to be zero", d,
                         piece.kinks[a].neuron);
  return {};
}

// Weights, what is left of a piece's equations there, and the pre-activations.
struct Point {
  RowMatrix P;
  Remainder left;
  PreActivations z;
};

// From `at` towards a solution of the piece's equations, L L^T = A A^T: one step, then (refine) more until
// they no longer halve what is left.
void solve(const Piece& piece, const Matrix& L, const Equations& equations, bool refine, Point& at) {
  constexpr int kSteps = 8;
  for (int k = 0; k < (refine ? kSteps : 1); ++k) {
    Matrix q = at.left.t;
    tiled::solve(L, q);
    Point next{at.P, {}, {}};
    move(piece, equations.X, q.col(0), next.P);
    next.z = pre_activations(equations.X, next.P, equations.row_error);
    next.left = remainder(piece, next.z, equations.y);
    const bool halved = next.left.length < at.left.length / 2;
    if (!refine || next.left.length < at.left.length) at = std::move(next);
    if (!halved) return;
  }
}

double distance(const RowMatrix& A, const RowMatrix& B) { return verified::length(row_lengths(A - B)); }

}  // namespace

Existence relu_existence(const TwoLayer& network, const CertifiedPoints& points, const Vector& y,
                         const PreActivations& z, Progress& progress) {
  const auto& [W, v] = network;
  const Equations equations = points.equations(y);
  const RowMatrix& X = equations.X;
  const Index n = X.rows(), d = X.cols(), active = (v.array() != 0).count();
  const double steepest = v.lpNorm<Eigen::Infinity>();
  Existence result;
  Matrix own, M, L;
  const Matrix& G = points.gram_without_counts(own);
  for (States state = states(z.Z, v);;) {
    const Piece trial = piece(std::move(state), v);
    result.kinks = static_cast<Index>(trial.kinks.size());
    result.reason = too_many(trial, active, d);
    if (!result.reason.empty()) return result;
    stacked_gram(trial, G, M);
    L = M;
    if (!tiled::factor(L, progress)) {
      result.reason =
          fmt::format("double precision does not prove the equations of {} points and {} kinks independent",
                      n, result.kinks);
      return result;
    }
    Point at{W, remainder(trial, z, equations.y), {}};
    solve(trial, L, equations, false, at);
    state = trial.state;
    auto room = reach(at.z, v, 0, state);
    if (room.changed > 0) continue;
    solve(trial, L, equations, true, at);
    room = reach(at.z, v, 0, state);
    if (room.changed > 0) continue;

    const double error =
        jacobian_gram_error(M.diagonal(), v.size(), d, z.row.maxCoeff(), steepest, equations.row_error);
    const auto lowest = lowest_eigenvalue(M, error, L, progress, /*factored=*/true);
    if (!(lowest.bound > 0)) {
      result.reason = fmt::format(
          "s_min(A)^2 with {} kinks is not proved positive: computed {:.3g}, of which rounding may take "
          "{:.3g}",
          result.kinks, lowest.computed, lowest.loss);
      return result;
    }
    const double rho = at.left.length / (std::sqrt(lowest.bound) * (1 - 4 * u)) * (1 + 4 * u);
    result.margin = room.least / rho * (1 - 4 * u);
    if (!(result.margin > 1)) {
      if (reach(at.z, v, rho * (1 + 8 * u), state).changed > 0) continue;
      result.reason = fmt::format("the distance rho = {:.3g} to a solution is not bounded", rho);
      return result;
    }
    result.holds = true;
    for (const auto& [i, j] : trial.kinks)
      result.kink_bound = std::max(result.kink_bound, std::abs(z.Z(i, j)));
    result.radius = (distance(at.P, W) + rho) * (1 + 4 * u);
    result.polished = {std::move(at.P), v};
    return result;
  }
}

}  // namespace zeroloss::internal
