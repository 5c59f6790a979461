#include "proof/certificate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/parallel_for.hpp"
#include "kernel/activations/list.hpp"
#include "proof/evaluate.hpp"
#include "proof/existence.hpp"
#include "proof/linear_region.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/threads.hpp"

// Proven bounds are computed here: compiled with IEEE rules, never with -ffast-math. Comparisons are written
// so that NaN fails them.
namespace zeroloss {
using namespace internal;
namespace {

using namespace verified;

void check_sizes(const TwoLayer& network, const RowMatrix& X, const Vector& y, const Vector& counts = {}) {
  const auto& [W, v] = network;
  const auto require = [](bool met, const std::string& what) {
    if (!met) throw std::invalid_argument("certificate: " + what);
  };
  require(X.rows() >= 1 && X.cols() >= 1, "there are no points");
  require(y.size() == X.rows(), fmt::format("{} points, {} targets", X.rows(), y.size()));
  require(W.rows() >= 1 && v.size() == W.rows(),
          fmt::format("{} rows of W, {} output weights", W.rows(), v.size()));
  require(W.cols() == X.cols(), fmt::format("points have {} features, W takes {}", X.cols(), W.cols()));
  require(X.allFinite() && y.allFinite() && W.allFinite() && v.allFinite(),
          "a point, a target or a weight is not finite");
  require(
      counts.size() == 0 || (counts.size() == y.size() && (counts.array() >= 1).all() && counts.allFinite()),
      "counts must be one number >= 1 a point");
}

// How many of the smallest values have a sum of squares of at most `budget`. Sorts them.
Index count_within(std::vector<double>& values, long double budget) {
  std::sort(values.begin(), values.end());
  long double sum = 0;
  Index count = 0;
  for (const double value : values) {
    sum += static_cast<long double>(value) * value;
    if (sum * kDown > budget) break;  // of a budget that is NaN all are within
    ++count;
  }
  return count;
}

// Sign changes of pre-activations that a move of W by at most R (Frobenius) can cause: an entry changes only
// if it moves by |z_ij| or more, and the moves of row i have squares of sum ||x_i||^2 R^2 at most, those of
// all rows ||X||^2 R^2. Signs that rounding leaves uncertain count as changed.
struct SignChanges {
  Index in_a_row = 0, in_all = 0;
};
SignChanges sign_changes(const PreActivations& z, const Vector& v, double norm_X, double R) {
  constexpr Index kRows = 64;
  const Index n = z.Z.rows(), count = (n + kRows - 1) / kRows;
  std::vector<std::vector<double>> within(static_cast<std::size_t>(count));
  std::vector<Index> most(static_cast<std::size_t>(count));
  parallel_for(count, [&](Index t) {
    const Index first = t * kRows, rows = std::min(kRows, n - first);
    std::vector<std::vector<double>> row(static_cast<std::size_t>(rows));
    for (Index j = 0; j < v.size(); ++j) {
      if (v(j) == 0) continue;
      for (Index k = 0; k < rows; ++k) {
        const double least = z.least(first + k, j);
        if (!(least > R * z.row(first + k) * kUp)) row[static_cast<std::size_t>(k)].push_back(least);
      }
    }
    auto& all = within[static_cast<std::size_t>(t)];
    for (Index k = 0; k < rows; ++k) {
      auto& values = row[static_cast<std::size_t>(k)];
      const long double reach = static_cast<long double>(R) * z.row(first + k);
      most[static_cast<std::size_t>(t)] =
          std::max(most[static_cast<std::size_t>(t)], count_within(values, reach * reach * kUp));
      all.insert(all.end(), values.begin(), values.end());
    }
  });
  SignChanges changes{*std::max_element(most.begin(), most.end()), 0};
  auto& all = within.front();
  for (std::size_t t = 1; t < within.size(); ++t) all.insert(all.end(), within[t].begin(), within[t].end());
  const long double reach = static_cast<long double>(norm_X) * R;
  changes.in_all = count_within(all, reach * reach * kUp);
  return changes;
}

// No sign changes while W moves by less than this (Frobenius); rounded down.
double nearest_kink(const PreActivations& z, const Vector& v) {
  double nearest = std::numeric_limits<double>::infinity();
  for (Index j = 0; j < v.size(); ++j)
    for (Index i = 0; i < z.Z.rows() && v(j) != 0; ++i) nearest = std::min(nearest, z.least(i, j) / z.row(i));
  return nearest * (1 - kRound);
}

// e(R): a bound of ||J(W') - J of S|| for all ||W' - W||_F <= R. Row i of C^1/2 (J' - J) is x~_i times
// changes of phi', which move by M ||x_i|| R at most, or by 1 - leak where a sign changes.
double jacobian_change(const Evaluation& e, const Activation& activation, const Vector& v,
                       const CertifiedPoints::Size& points, double R) {
  const double largest = v.lpNorm<Eigen::Infinity>();
  if (!is_piecewise_linear(activation))
    return (activation.M * largest * points.norm * e.z.row.maxCoeff() * R + e.jacobian_error) *
           (1 + 2 * kRound);
  const auto changes = sign_changes(e.z, v, points.norm, R);
  const double jump = 1 - activation.leak.value_or(0);  // of phi' at 0
  return (jump * largest *
              std::min(points.norm * std::sqrt(static_cast<double>(changes.in_a_row)),
                       points.longest * std::sqrt(static_cast<double>(changes.in_all))) +
          e.jacobian_error) *
         (1 + 2 * kRound);
}

// Why no certificate of either kind can hold, before any work; empty if there is no such reason.
std::string impossible(const TwoLayer& network, const Activation& activation, const RowMatrix& X) {
  if (!activation.smooth() && !is_piecewise_linear(activation))
    return fmt::format("needs relu or a smooth phi; sup |phi''| of {} is infinite", activation.name);
  const Index active = (network.v.array() != 0).count(), weights = active * X.cols();
  if (X.rows() > weights)
    return fmt::format("n = {} points > m d = {} weights of neurons with an output weight", X.rows(),
                       weights);
  for (Index i = 0; i < X.rows(); ++i)
    if (X.row(i).isZero(0)) return fmt::format("point {} is zero", i);
  return {};
}

// Descent that changes no sign; fills in the certificate if it holds. K, with an error, is J J^T of S, J is
// within at_W of that, and `solved` is about K^-1 r.
struct TangentKernel {
  const TangentMatrix& K;
  const Vector& solved;
  double error = 0, top = 0, at_W = 0;  // top >= ||J of S||
};
bool descend_in_cell(const TwoLayer& network, const CertifiedPoints& points, const Evaluation& e,
                     const TangentKernel& tangent, Certificate& c) {
  constexpr double kHopeless = 1e-4;  // a known residual gains some hundred over any of its length
  const Reach any = reach_of_any(c.misfit, c.lambda_min);
  if (!(nearest_kink(e.z, network.v) > kHopeless * any.distance)) return false;
  const double moved = tangent.at_W * (2 * tangent.top + tangent.at_W);
  const Reach reached =
      reach(e, tangent.K, tangent.solved, (tangent.error + moved) * (1 + kRound), c.lambda_min);
  const auto margins = sign_margins(e, network.v, points, {reached, any});
  c.margin = margins.front();
  c.any_margin = margins.back();
  if (!(c.margin > 1)) return false;
  c.norm_J = (tangent.top + tangent.at_W) * (1 + kRound);
  c.step = 1 / (c.norm_J * c.norm_J) * (1 - kRound);
  c.rate = c.lambda_min;
  c.radius = reached.distance;
  return c.step > 0 && c.rate > 0 && std::isfinite(c.radius);
}

// The test of gradient descent from W; fills in the certificate.
void descend(const TwoLayer& network, const Activation& activation, const CertifiedPoints& points,
             const Evaluation& e, Certificate& c, Progress& progress) {
  const CertifiedPoints::Size& size = points.size(progress);
  const std::unique_ptr<TangentMatrix> matrix = points.tangent_matrix(e.S);
  TangentMatrix& K = *matrix;
  const double error = jacobian_gram_error(K.diagonal(), network.v.size(), points.X().cols(), size.longest,
                                           e.S.lpNorm<Eigen::Infinity>(), points.row_error());
  Vector solved = e.residual;
  const auto lowest = lowest_eigenvalue(K, error, solved, progress);
  if (!(lowest.bound > 0)) {
    c.reason = fmt::format(
        "descent: lambda_min(J J^T) is not proved positive: computed {:.3g}, of which rounding may take "
        "{:.3g}",
        lowest.computed, lowest.loss);
    return;
  }
  const double s_min = std::sqrt(lowest.bound) * (1 - kRound), a = s_min / 2;
  const double at_W = jacobian_change(e, activation, network.v, size, 0);  // ||J(W) - J of S||
  if (s_min > at_W) c.lambda_min = (s_min - at_W) * (s_min - at_W) * (1 - kRound);
  const double top = std::sqrt(highest_eigenvalue(K, error, progress).bound) * (1 + kRound);
  if (is_piecewise_linear(activation) && c.lambda_min > 0 &&
      descend_in_cell(network, points, e, {K, solved, error, top, at_W}, c)) {
    c.kind = "descent";
    c.holds = true;
    return;
  }
  const double R = 5 * c.misfit / (3 * a) * (1 + kRound);
  const double change = jacobian_change(e, activation, network.v, size, R);
  const double third = a / 3 * (1 - kRound);
  double margin = third / change;
  // Where no sign can change, e(R) is next to nothing: what holds the proof up is the nearest sign that
  // would.
  if (is_piecewise_linear(activation))
    if (const double free = nearest_kink(e.z, network.v) / R; free > 1) margin = std::min(margin, free);
  margin *= 1 - kRound;
  if (margin >= c.margin) c.margin = margin;
  if (margin >= c.any_margin) c.any_margin = margin;
  if (!(margin > 1 && std::isfinite(R) && std::isfinite(change))) {
    c.reason = fmt::format(
        "descent: within {:.3g} of these weights the Jacobian may change by {:.3g}, {:.2g} times what the "
        "proof allows",
        R, change, change / third);
    return;
  }
  const double b = (top + a / 3) * (1 + kRound);
  c.norm_J = (top + at_W) * (1 + kRound);
  c.step = 0.48 / (b * b) * (1 - kRound);
  c.rate = a * a * (1 - kRound);
  c.radius = R;
  if (!(c.step > 0 && c.rate > 0)) {
    c.reason = "descent: ||J|| is not bounded: the weights are far out of scale";
    return;
  }
  if (!activation.tabulated) {
    c.reason = fmt::format("computed, not verified: the accuracy of {} is not known", activation.name);
    return;
  }
  c.kind = "descent";
  c.holds = true;
}

using Long = long double;

// phi in long double where its description has that, else in double.
std::function<Long(Long)> precise(const Activation& activation) {
  std::function<Long(Long)> rounded = [&](Long z) { return activation.phi(static_cast<double>(z)); };
  if (!activation.tabulated) return rounded;
  return describe(phi_of(activation), [&](auto description) -> std::function<Long(Long)> {
    if constexpr (requires { description.template phi<Long>(Long{}); })
      return &decltype(description)::template phi<Long>;
    else
      return rounded;
  });
}

// What descent says; `e` receives the network at the points, empty where a reason was found before.
Certificate descent(const TwoLayer& network, const Activation& activation, const CertifiedPoints& points,
                    const Equations& equations, Evaluation& e, Progress& progress) {
  check_sizes(network, equations.X, equations.y, equations.counts);
  const auto n = static_cast<double>(equations.X.rows()), m = static_cast<double>(network.v.size());
  require_memory(
      certificate_bytes(equations.X.rows(), equations.X.cols(), network.v.size(), points.engine()) +
          points.bytes_to_keep(),
      "the certificate", "use fewer points or hidden units");
  progress.stage("certificate");
  const Threads threads(n * n * m);
  Certificate c;
  c.reason = unbounded(equations, network.v.size());
  if (!c.reason.empty()) return c;
  Evaluation found = evaluate(network, activation, equations);
  c.misfit = found.misfit;
  progress.check();
  c.reason = std::isfinite(c.misfit) ? impossible(network, activation, equations.X)
                                     : "descent: the outputs are beyond the range of numbers";
  if (!c.reason.empty()) return c;
  e = std::move(found);
  descend(network, activation, points, e, c, progress);
  return c;
}

}  // namespace

// J J^T and a factor, unless a device has them; X once more; Z and S; and what of Z is within reach of a sign
// change, in vectors that grow to twice of it, in all and in the parts that it is gathered from.
double internal::certificate_bytes(Index n, Index d, Index m, const TangentEngine* engine) {
  const auto N = static_cast<double>(n), D = static_cast<double>(d), M = static_cast<double>(m);
  return (engine == nullptr ? 8 * N * (N + 1) : 0) + 8 * N * D + 16 * N * M + 32 * N * M;
}

Certificate internal::certify_descent(const TwoLayer& network, const Activation& activation,
                                      const CertifiedPoints& points, const Vector& y, Progress& progress) {
  Evaluation e;
  Certificate c = descent(network, activation, points, points.equations(y), e, progress);
  progress.finish();
  return c;
}

CertifiedOutput internal::certify_output(const TwoLayer& network, const Activation& activation,
                                         const CertifiedPoints& points, const Vector& y, Progress& progress,
                                         bool polish) {
  const Equations equations = points.equations(y);
  const auto n = static_cast<double>(equations.X.rows()), m = static_cast<double>(network.v.size());
  const Threads threads(n * n * m);
  Evaluation e;
  CertifiedOutput result{descent(network, activation, points, equations, e, progress), {}};
  Certificate& c = result.certificate;
  if (e.S.size() > 0 && (!c.holds || polish) && is_relu(activation)) {
    e.S.resize(0, 0);
    auto found = relu_existence(network, points, y, e.z, progress);
    result.polished = std::move(found.polished);
    if (c.holds) return result;
    c.margin = found.holds ? found.margin : std::max(c.margin, found.margin);
    if (found.holds) {
      c.kind = "existence";
      c.holds = true;
      c.radius = found.radius;
      c.kinks = found.kinks;
      c.kink_bound = found.kink_bound;
    } else {
      c.reason += "; existence: " + found.reason;
    }
  }
  progress.finish();
  return result;
}

Certificate certify_descent(const TwoLayer& network, const Activation& activation, const Equations& equations,
                            Progress& progress) {
  const CertifiedPoints points(equations.X, equations.counts, equations.row_error);
  return certify_descent(network, activation, points, equations.y, progress);
}

CertifiedOutput certify_output(const TwoLayer& network, const Activation& activation,
                               const Equations& equations, Progress& progress, bool polish) {
  const CertifiedPoints points(equations.X, equations.counts, equations.row_error);
  return certify_output(network, activation, points, equations.y, progress, polish);
}

long double precise_misfit(const TwoLayer& network, const Activation& activation, const RowMatrix& X,
                           const Vector& y) {
  check_sizes(network, X, y);
  const RowMatrix& W = network.W;
  const Vector& v = network.v;
  const std::function<Long(Long)> phi = precise(activation);
  const Index n = X.rows(), d = X.cols();
  std::vector<Long> residual(static_cast<std::size_t>(n));
  parallel_for(n, [&](Index i) {
    Long f = 0;
    for (Index j = 0; j < v.size(); ++j)
      if (v(j) != 0) f += v(j) * phi(long_dot(X.data() + i * d, W.data() + j * d, d));
    residual[static_cast<std::size_t>(i)] = f - y(i);
  });
  Long squares = 0, targets = 0;
  for (Index i = 0; i < n; ++i) {
    squares += residual[static_cast<std::size_t>(i)] * residual[static_cast<std::size_t>(i)];
    targets += static_cast<Long>(y(i)) * y(i);
  }
  return std::sqrt(squares) / (targets > 0 ? std::sqrt(targets) : 1);
}

}  // namespace zeroloss
