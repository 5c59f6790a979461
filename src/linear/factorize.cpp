#include "zeroloss/linear/factorize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <stdexcept>

#include "base/choices.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/rounding.hpp"
#include "linear/proof.hpp"
#include "linear/rotation.hpp"
#include "linear/svd.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/linear/linear.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr double kPi = std::numbers::pi;

// What a factorisation may miss R by, as computed: I + A_i is known to u, whatever the size of R.
double tolerance(const Matrix& R, double norm) {
  return 1e-12 * static_cast<double>(R.rows()) * std::max(norm, 1e-3);
}

std::string singular(const MapSummary& map, Index d) {
  return fmt::format(
      "R is numerically singular: its computed singular values go from {:.3g} down to {:.3g}, its numerical "
      "rank is {}, d is {}; a product of matrices I + A_i with ||A_i|| < 1 is never singular. "
      "Drop the outputs that are combinations of others",
      map.s_max, map.s_min, map.rank, d);
}

// e^X - 1 for a matrix, relative to ||X||: Taylor on X/2^s with ||X/2^s||_1 <= 1/2, where 15 terms leave
// 2^-16/16! < u/100, then e^2X - 1 = (e^X - 1)^2 + 2 (e^X - 1).
Matrix matrix_expm1(const Matrix& X) {
  const double norm = X.cwiseAbs().colwise().sum().maxCoeff();
  const int s = norm > 0.5 ? static_cast<int>(std::ceil(std::log2(norm))) + 1 : 0;
  const Matrix Y = X * std::ldexp(1.0, -s);
  Matrix F = Y / 15;
  for (int k = 14; k >= 1; --k) F = (Y + Y * F) / k;
  for (int k = 0; k < s; ++k) F = (F * F + 2 * F).eval();
  return F;
}

// The largest |k^(1/p) - 1| over singular values between e^low and e^high.
double stretch(double low, double high, Index p) {
  const auto P = static_cast<double>(p);
  return std::max(std::abs(std::expm1(low / P)), std::abs(std::expm1(high / P)));
}

// The size that rounding alone gives the logarithms of d singular values, all of which are 1.
double rounding_of(Index d) { return 16 * static_cast<double>(d) * u; }

double turn(double theta, Index q) { return 2 * std::sin(theta / (2 * static_cast<double>(q))); }

// The layers that a construction gives to rotations, `per_rotation` q in all, and to the stretch, p.
struct Split {
  Index q = 0, p = 0;
  double norm = std::numeric_limits<double>::infinity();
};

// The best split of l layers; nothing if there are too few.
std::optional<Split> balance(Index layers, Index per_rotation, double theta, double low, double high) {
  const Index least_q = theta > 0 ? 1 : 0, least_p = low < 0 || high > 0 ? 1 : 0;
  std::optional<Split> best;
  for (Index q = least_q; per_rotation * q + least_p <= layers; ++q) {
    const Index p = layers - per_rotation * q;
    const double norm = std::max(q > 0 ? turn(theta, q) : 0, p > 0 ? stretch(low, high, p) : 0);
    if (!best || norm < best->norm) best = Split{q, p, norm};
    if (q == 0 && theta == 0) break;
  }
  return best;
}

MapSummary summary(const Matrix& R, const Svd& svd) {
  const Index d = svd.s.size();
  MapSummary map;
  map.s_max = svd.s(0);
  map.s_min = svd.s(d - 1);
  map.rank = map.s_max > 0 ? (svd.s.array() > static_cast<double>(d) * 2 * u * map.s_max).count() : 0;
  map.gamma = std::numeric_limits<double>::infinity();
  if (map.rank < d) return map;
  const verified::Nonsingular proof = verified::nonsingular(R);
  const bool reverses = determinant(svd.U * svd.Vt) < 0;  // it is +-1
  if (proof.s_min == 0 || proof.reverses != reverses) return map;
  map.s_least = proof.s_min;
  map.reverses = reverses;
  map.gamma = std::max({std::log(verified::norm_bound(R)), -std::log(proof.s_min), 0.0}) * (1 + 8 * u);
  return map;
}

void append(LinearResnet& network, Index count, const Matrix& A) {
  network.A.insert(network.A.end(), static_cast<std::size_t>(count), A);
}

}  // namespace

MapSummary summarize_map(const Matrix& R) {
  if (R.rows() != R.cols() || R.rows() == 0 || !R.allFinite())
    throw std::invalid_argument(
        fmt::format("summarize_map: R must be square and finite; got {} x {}", R.rows(), R.cols()));
  return summary(R, singular_vectors(R));
}

OrientedProblem orient(const LinearProblem& problem, const std::string& reflection) {
  check_choices("linear", LinearOptions{.reflection = reflection});
  const Index d = problem.d();
  const MapSummary map = summarize_map(problem.R);
  if (map.s_least == 0) throw DataError(singular(map, d));
  OrientedProblem oriented{problem, map, "none"};
  if (!map.reverses) return oriented;
  if (reflection == "flip" && d % 2 == 0)
    throw std::invalid_argument(
        fmt::format("linear: reflection flip needs odd d, for det(-R) = -det(R); d is {}: use augment", d));
  LinearProblem& p = oriented.problem;
  if (reflection != "augment" && d % 2 == 1) {
    p.R = -p.R;
    oriented.treatment = "flipped";
    return oriented;
  }
  oriented.treatment = "augmented";
  const double v = problem.Sigma.trace() / static_cast<double>(d);
  Random random(0, Stream::noise);
  Vector u(d);
  for (Index i = 0; i < d; ++i) u(i) = random.normal();
  p.R = Matrix::Zero(d + 1, d + 1);
  p.R.topLeftCorner(d, d) = problem.R;
  p.R(d, d) = -1;
  p.root = Matrix::Zero(d + 1, d + 1);
  p.root.topLeftCorner(d, d) = problem.root;
  p.root.row(d).head(d) = std::sqrt(v) / 2 * u.normalized().transpose();
  p.root(d, d) = std::sqrt(0.75 * v);
  p.Sigma = p.root * p.root.transpose();
  const Vector eigen = symmetric_eigenvalues(p.Sigma);
  p.sigma_min = eigen(0);
  p.sigma_max = eigen(d);
  return oriented;
}

bool Factorization::small() const { return missing.empty() && max_norm < 1; }

struct Factorizer::Parts {
  Matrix R;
  MapSummary map;
  double low = 0, high = 0;     // logarithms of the least and the largest singular value; 0 where rounding
  Vector logs;                  // of all of them
  Matrix V;                     // R = U diag(exp(logs)) V^T, det U = det V = 1
  Rotation polar, left, right;  // of Q = U V^T, U and V^T
  Matrix log;                   // empty where `log_missing`
  double log_norm = 0;
  std::string log_missing;

  // Singular values and angles this close to 1 and 0 are rounding.
  double rounding() const { return rounding_of(R.rows()); }

  // The norm of a factor, and what rounding may add to it: e^(log k/p) magnifies the error of log k.
  double rounded_up(double factor_norm) const {
    return factor_norm + rounding() * (1 + factor_norm) * (1 + logs.cwiseAbs().maxCoeff());
  }

  // Throws std::invalid_argument for no layers, ResourceError if they do not fit into memory.
  Factorization begin(const char* name, Index layers) const {
    if (layers < 1) throw std::invalid_argument(fmt::format("linear: layers must be >= 1; got {}", layers));
    const auto d = static_cast<double>(R.rows());
    require_memory(8 * d * d * static_cast<double>(layers),
                   fmt::format("a factorisation into {} layers of {} x {}", layers, R.rows(), R.rows()),
                   "try fewer layers");
    Factorization f;
    f.name = name;
    f.layers = layers;
    return f;
  }

  // What is proved of a factorisation whose factors are there; without them if it misses R.
  Factorization finish(Factorization f) const {
    const verified::NearExact proof = verified::near_exact(f.network, R, map.s_least);
    f.max_norm = proof.max_norm;
    f.correction = proof.correction;
    f.reconstruction_error = proof.reconstruction_error;
    if (!(proof.missed <= tolerance(R, map.s_max)))
      f.missing = fmt::format("too ill-conditioned: rounding takes it {:.2g} away from R", proof.missed);
    else if (!std::isfinite(f.max_norm))
      f.missing = fmt::format(
          "too ill-conditioned: it may be {:.2g} away from R, too far for a proof that an exact one is near",
          f.reconstruction_error);
    if (!f.missing.empty())
      return {.name = f.name, .layers = f.layers, .bound = f.bound, .network = {}, .missing = f.missing};
    return f;
  }
};

namespace {

// R's principal logarithm, or why there is none.
Matrix principal_logarithm(const Matrix& R, std::string& missing) {
  for (const auto& value : eigenvalues(R))
    if (value.imag() == 0 && value.real() <= 0) {
      missing = fmt::format("R has the real eigenvalue {:.3g} (computed)", value.real());
      return {};
    }
  Matrix log = logarithm(R);
  if (!log.allFinite()) missing = "log(R) could not be computed";
  return log;
}

}  // namespace

Factorizer::Factorizer(const Matrix& R, const Progress& progress) {
  const Index d = R.rows();
  require_memory(30 * 8.0 * static_cast<double>(d) * static_cast<double>(d),
                 fmt::format("factorising a {} x {} map", d, d), "try a smaller d");
  if (R.cols() != d || d == 0 || !R.allFinite())
    throw std::invalid_argument(
        fmt::format("Factorizer: R must be square and finite; got {} x {}", R.rows(), R.cols()));
  Svd svd = singular_vectors(R);
  const MapSummary map = summary(R, svd);
  if (map.s_least == 0) throw DataError(singular(map, d));
  if (map.reverses) throw DataError("R has det R < 0; orient() it first");
  if (determinant(svd.U) < 0) {  // and so det V < 0
    svd.U.col(0) = -svd.U.col(0);
    svd.Vt.row(0) = -svd.Vt.row(0);
  }
  // A rotation has singular vectors in any basis, and rounding would choose one.
  if (svd.s.array().log().cwiseAbs().maxCoeff() <= rounding_of(d)) {
    svd.U = (svd.U * svd.Vt).eval();
    svd.Vt.setIdentity();
  }
  progress.check();
  Rotation polar(svd.U * svd.Vt);
  progress.check();
  Rotation left(svd.U), right(svd.Vt);
  progress.check();
  auto parts = std::make_unique<Parts>(Parts{R,
                                             map,
                                             0,
                                             0,
                                             svd.s.array().log(),
                                             svd.Vt.transpose(),
                                             std::move(polar),
                                             std::move(left),
                                             std::move(right),
                                             {},
                                             0,
                                             {}});
  if (parts->logs.cwiseAbs().maxCoeff() > parts->rounding()) {
    parts->low = parts->logs.minCoeff();
    parts->high = parts->logs.maxCoeff();
  }
  parts->log = principal_logarithm(R, parts->log_missing);
  if (parts->log_missing.empty()) parts->log_norm = verified::norm_bound(parts->log);
  parts_ = std::move(parts);
}

Factorizer::~Factorizer() = default;
Factorizer::Factorizer(Factorizer&&) noexcept = default;
Factorizer& Factorizer::operator=(Factorizer&&) noexcept = default;

double Factorizer::gamma() const { return parts_->map.gamma; }

Factorization Factorizer::paper(Index layers) const {
  const Parts& m = *parts_;
  Factorization f = m.begin("paper", layers);
  const auto l = static_cast<double>(layers);
  f.bound = l >= std::max(2.0, 3 * gamma() * (1 + 8 * u)) ? (4 * kPi + 3 * gamma()) / l * (1 + 8 * u)
                                                          : std::numeric_limits<double>::infinity();
  const auto split = balance(layers, 4, std::max(m.left.angle(), m.right.angle()), m.low, m.high);
  if (!split) {
    f.missing = "it gives 4 q layers to rotations and p to the stretch, and finds no such q and p here";
    return f;
  }
  const auto rotate = [&](const Rotation& rotation) {
    for (const auto planes : {Rotation::Planes::turning, Rotation::Planes::reversing})
      if (split->q > 0) append(f.network, split->q, rotation.root(split->q, planes));
  };
  rotate(m.right);
  const Vector less = (m.logs / static_cast<double>(std::max<Index>(1, split->p))).array().expm1();
  append(f.network, split->p, less.asDiagonal());
  rotate(m.left);
  return m.finish(std::move(f));
}

Factorization Factorizer::polar(Index layers) const {
  const Parts& m = *parts_;
  Factorization f = m.begin("polar", layers);
  const auto split = balance(layers, 1, m.polar.angle(), m.low, m.high);
  if (!split) {  // one layer for a rotation and a stretch
    f.bound = m.rounded_up(turn(m.polar.angle(), 1) + stretch(m.low, m.high, 1));
    append(f.network, 1, m.R - Matrix::Identity(m.R.rows(), m.R.rows()));
    return m.finish(std::move(f));
  }
  f.bound = m.rounded_up(split->norm);
  if (split->p > 0) {
    const Vector less = (m.logs / static_cast<double>(split->p)).array().expm1();
    append(f.network, split->p, m.V * less.asDiagonal() * m.V.transpose());
  }
  if (split->q > 0) append(f.network, split->q, m.polar.root(split->q));
  return m.finish(std::move(f));
}

Factorization Factorizer::logarithm(Index layers) const {
  const Parts& m = *parts_;
  Factorization f = m.begin("logarithm", layers);
  f.missing = m.log_missing;
  if (!f.missing.empty()) return f;
  f.bound = m.rounded_up(std::expm1(m.log_norm / static_cast<double>(layers)));
  append(f.network, layers, matrix_expm1(m.log / static_cast<double>(layers)));
  return m.finish(std::move(f));
}

std::vector<Factorization> Factorizer::all(Index layers, const Progress& progress) const {
  std::vector<Factorization> found;
  for (const auto construct : {&Factorizer::paper, &Factorizer::polar, &Factorizer::logarithm}) {
    progress.check();
    found.push_back((this->*construct)(layers));
  }
  return found;
}

Index Factorizer::layers_needed() const {
  const double enough = 4 * kPi + 3 * gamma() + 2;  // by the proposition of theory 10, but for rounding
  for (Index layers = 1; static_cast<double>(layers) <= enough; ++layers)
    if (polar(layers).small() || logarithm(layers).small()) return layers;
  return 0;
}

}  // namespace zeroloss
