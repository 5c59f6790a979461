#include "linear/descent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "linalg/rounding.hpp"
#include "linear/proof.hpp"
#include "linear/risk.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/parse.hpp"

namespace zeroloss {
using namespace internal;
namespace {

void require(bool met, const std::string& what) {
  if (!met) throw std::invalid_argument("linear: " + what);
}

// 0 for auto.
double fixed_step(const std::string& text) {
  if (text == "auto") return 0;
  const double step = parsed_number(text).value_or(0);
  require(step > 0 && std::isfinite(step),
          fmt::format("step must be a number > 0, or auto; got \"{}\"", text));
  return step;
}

// Upper bounds w_i of ||I + A_i|| that cost next to nothing while the layers move little: the norms at the
// last refresh, and the way since then. They are computed anew before that way makes their product 5 % too
// large.
class LayerNorms {
 public:
  explicit LayerNorms(Index layers)
      : exact_(static_cast<std::size_t>(layers), 1.0), way_(exact_.size(), 0.0) {}

  void moved(const std::vector<Matrix>& G, double eta, const std::vector<Matrix>& A) {
    double inflation = 0;
    for (std::size_t i = 0; i < G.size(); ++i) {
      way_[i] += eta * G[i].norm();
      inflation += way_[i] / exact_[i];
    }
    if (inflation <= 0.05) return;
    for (std::size_t i = 0; i < A.size(); ++i) {
      exact_[i] = verified::norm_bound(Matrix::Identity(A[i].rows(), A[i].rows()) + A[i]) * (1 + 8 * u);
      way_[i] = 0;
    }
  }

  // H >= the largest eigenvalue of the Hessian at every A - t G, 0 <= t <= eta, where f <= `excess` + C:
  //   2 s_max(Sigma) sum_i prod_(j != i) w_j^2 + 2 (l - 1) sqrt(s_max(Sigma) excess) (product of all w_i but
  //   the two least), with w_i >= ||I + A_i|| + eta ||G_i|| (theory 10). Both terms grow with every w_i.
  double hessian_bound(const std::vector<Matrix>& G, double eta, double sigma_max, double excess) const {
    double log_product = 0, inverse_squares = 0;
    double least = std::numeric_limits<double>::infinity(), second = least;
    for (std::size_t i = 0; i < G.size(); ++i) {
      const double w = exact_[i] + way_[i] + eta * G[i].norm();
      log_product += std::log(w);
      inverse_squares += 1 / (w * w);
      second = std::min(second, std::max(least, w));
      least = std::min(least, w);
    }
    const double product = std::exp(log_product);
    return 2 * sigma_max * product * product * inverse_squares +
           2 * static_cast<double>(G.size() - 1) * std::sqrt(sigma_max * excess) * product / (least * second);
  }

 private:
  std::vector<double> exact_, way_;
};

// eta with eta H(eta) <= 1: H grows with eta, so that one step of the fixed-point iteration from above
// suffices.
double safe_step(const LayerNorms& norms, const std::vector<Matrix>& G, double sigma_max, double excess) {
  const double longest = 1 / norms.hessian_bound(G, 0, sigma_max, excess);
  return 1 / norms.hessian_bound(G, longest, sigma_max, excess);
}

Index next_record(Index step, Index every) {
  if (every > 0) return step + every;
  return std::max(step + 1, static_cast<Index>(std::ceil(1.122 * static_cast<double>(step))));
}

void record(DescentResult& result, const LinearProblem& problem, const Risk& risk, Index step, double eta,
            double scale) {
  DescentPoint point;
  point.step = step;
  point.eta = eta;
  point.relative_misfit = std::sqrt(risk.excess) / scale;
  Landscape& at = point.at;
  at.excess_risk = risk.excess;
  at.risk = risk.excess + problem.noise;
  at.gradient_norm = risk.gradient_norm;
  at.max_norm = result.network.max_norm();
  at.gradient_bound = gradient_bound(problem, result.network.layers(), at.max_norm, at.excess_risk);
  result.curve.push_back(point);
  if (!(at.max_norm < 1) && !result.left_domain_at) result.left_domain_at = step;
  result.largest_norm = std::max(result.largest_norm, at.max_norm);
  if (at.gradient_bound > 0)
    result.least_ratio = std::min(result.least_ratio, at.gradient_norm / at.gradient_bound);
}

}  // namespace

std::string name(DescentStatus status) {
  constexpr const char* kNames[] = {"converged", "budget_spent", "diverged", "interrupted"};
  return kNames[static_cast<int>(status)];
}

void internal::check_descent(Index layers, const DescentOptions& options) {
  require(layers >= 1, fmt::format("layers must be >= 1; got {}", layers));
  require(options.max_steps >= 0, fmt::format("max_steps must be >= 0; got {}", options.max_steps));
  require(options.tolerance > 0 && std::isfinite(options.tolerance),
          fmt::format("tolerance must be > 0; got {}", options.tolerance));
  require(options.record_every >= 0, fmt::format("record_every must be >= 0; got {}", options.record_every));
  fixed_step(options.step);
}

DescentResult descend(const LinearProblem& problem, Index layers, const DescentOptions& options,
                      Progress& progress) {
  check_descent(layers, options);
  const double fixed = fixed_step(options.step);
  const Index d = problem.d(), l = layers;
  const auto D = static_cast<double>(d), L = static_cast<double>(l);
  require_memory(8 * D * D * (3 * L + 8), fmt::format("descent with {} layers of {} x {}", l, d, d),
                 "try fewer layers");

  DescentResult result;
  result.least_ratio = std::numeric_limits<double>::infinity();
  std::vector<Matrix>& A = result.network.A;
  A.assign(static_cast<std::size_t>(l), Matrix::Zero(d, d));
  const double norm = (problem.R * problem.root).norm();
  const double scale = norm > 0 ? norm : 1;  // R = 0: the misfit itself
  std::vector<Matrix> G;
  LayerNorms norms(l);
  Risk risk = risk_and_gradient(problem, result.network, G);
  const double start = risk.excess;
  progress.stage(fmt::format("descent, {} {}", l, l == 1 ? "layer" : "layers"),
                 static_cast<double>(options.max_steps));
  double eta = 0;       // of the step that led here
  bool falling = true;  // f has
  for (Index step = 0, next = 0;; ++step) {
    result.steps = step;
    result.relative_misfit = std::sqrt(risk.excess) / scale;
    bool ended = true;
    if (!std::isfinite(risk.excess) || risk.excess > 1e6 * start) {
      result.status = DescentStatus::diverged;
      result.reason = "the misfit is more than 1000 times that of the start; try a smaller step";
    } else if (result.relative_misfit <= options.tolerance) {
      result.status = DescentStatus::converged;
    } else if (!falling || risk.gradient_norm == 0) {
      result.reason = "rounding hides any further progress";
    } else if (step == options.max_steps) {
      result.reason = fmt::format("the budget of {} steps is spent", step);
    } else if (progress.cancelled()) {
      result.status = DescentStatus::interrupted;
    } else {
      ended = false;
    }
    if (step == next || ended) {
      record(result, problem, risk, step, eta, scale);
      next = next_record(step, options.record_every);
    }
    if (ended) break;
    eta = fixed > 0 ? fixed : safe_step(norms, G, problem.sigma_max, risk.excess);
    for (std::size_t i = 0; i < A.size(); ++i) A[i] -= eta * G[i];
    if (fixed == 0) norms.moved(G, eta, A);
    const double before = risk.excess;
    risk = risk_and_gradient(problem, result.network, G);
    falling = fixed > 0 || risk.excess < before;  // in exact arithmetic by eta/2 ||grad f||^2 at least
    try {
      progress.advance(1);
    } catch (const Interrupted&) {  // the next look at the flag ends the run with what is done
    }
  }
  progress.finish();
  return result;
}

DescentResult descend(const LinearProblem& problem, Index layers, const DescentOptions& options) {
  Progress silent;
  return descend(problem, layers, options, silent);
}

}  // namespace zeroloss
