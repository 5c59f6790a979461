#include "deep/certificate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "deep/equations.hpp"
#include "deep/lipschitz.hpp"
#include "deep/single.hpp"
#include "linalg/rounding.hpp"
#include "proof/evaluate.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/base/threads.hpp"

// Proven bounds are computed here: compiled with IEEE rules, never with -ffast-math. Comparisons are written
// so that NaN fails them.
namespace zeroloss {
using namespace internal;
namespace {

using namespace verified;

constexpr double kLeast = 1e-140, kMost = 1e140;  // between them no square leaves the range of doubles

void name_kink(const Lipschitz& lip, const std::vector<Index>& records, DeepCertificate& c) {
  c.kink = lip.kink.ratio;
  c.sample = records.empty() ? lip.kink.sample : records[static_cast<std::size_t>(lip.kink.sample)];
  c.layer = lip.kink.layer + 1;
  c.neuron = lip.kink.neuron;
}

std::string kink_reason(const char* what, const DeepCertificate& c) {
  return fmt::format(
      "{}: the sign of unit {} of layer {} may change at sample {}: |z| is {:.3g} of what it can move by",
      what, c.neuron, c.layer, c.sample, c.kink);
}

// The weights that were evaluated and those around them.
class Neighbourhood {
 public:
  Neighbourhood(const DeepNetwork& network, const std::vector<LayerNorms>& norms, const DeepEvaluation& e,
                const Moving& moving, const std::vector<Index>& records, Progress& progress)
      : network_(network),
        norms_(norms),
        e_(e),
        moving_(moving),
        records_(records),
        progress_(progress),
        sensitivities_(network, e, moving) {}

  // Newton-Kantorovich: h has to be at most 1/2, and the ratio of kinks above 1.
  bool exists(double sigma, DeepCertificate& c) {
    const double R = 2 * c.misfit / sigma * kUp + kTiny;
    const auto h_of = [&](double constant) {
      return constant > 0 ? constant * (c.misfit / sigma) / sigma * kUp + kTiny : constant;
    };
    const Lipschitz lip = within(R, 0.5 * sigma * (sigma / c.misfit));
    c.lipschitz = lip.constant;
    c.h = h_of(lip.constant);
    name_kink(lip, records_, c);
    if (!(c.h <= 0.5)) {
      c.h = h_of(lip.least);
      c.reason = fmt::format(
          "existence: h = {:.3g}{} must be at most 1/2: misfit {:.3g}, lambda_min {:.3g}, J changes by "
          "{:.3g} a unit of distance",
          c.h, lip.least < lip.constant ? " or more" : "", c.misfit, c.lambda_min, lip.least);
      return false;
    }
    if (!(c.kink > 1)) {
      c.reason = kink_reason("existence", c);
      return false;
    }
    c.radius = R / (1 + std::sqrt(1 - 2 * c.h) * kDown) * kUp + kTiny;
    return std::isfinite(c.radius);
  }

  bool descends(double sigma, double norm_J, DeepCertificate& c) {
    const double a = sigma / 2, R = c.misfit / (0.6 * a * kDown) * kUp + kTiny, third = a / 3 * kDown;
    const Lipschitz lip = within(R, third / R * kDown);
    const auto change_of = [&](double constant) { return constant * R * kUp + kTiny; };
    if (!(change_of(lip.constant) <= third)) {
      c.reason = fmt::format("descent: J changes by up to {:.3g} on its way, {:.3g} are allowed",
                             change_of(lip.least), third);
      return false;
    }
    if (!(lip.kink.ratio > 1)) {
      DeepCertificate blocked;
      name_kink(lip, records_, blocked);
      c.reason = kink_reason("descent", blocked);
      return false;
    }
    const double b = (norm_J + a / 3) * kUp;
    c.norm_J = norm_J;
    c.step = kDown * 0.48 / (b * b);
    c.rate = a * a * kDown;
    c.descent_radius = R;
    return b < kMost;
  }

 private:
  Lipschitz within(double R, double enough) {
    return lipschitz(network_, norms_, e_, moving_, R, enough, sensitivities_, progress_);
  }

  const DeepNetwork& network_;
  const std::vector<LayerNorms>& norms_;
  const DeepEvaluation& e_;
  const Moving& moving_;
  const std::vector<Index>& records_;
  Progress& progress_;
  Sensitivities sensitivities_;
};

// A bound of the least singular value of J from above, by the shortest of its rows.
double most_of_sigma(const Vector& diagonal, const DeepEvaluation& e) {
  return (std::sqrt(diagonal.minCoeff() + e.lost) * (1 + gamma_of(e.rounding_terms)) + e.jacobian_error) *
         kUp;
}

// ||weights (f - targets)||, rounded down.
double least_misfit(const DeepEvaluation& e, const Matrix& targets) {
  double squares = 0;
  for (Index i = 0; i < targets.rows(); ++i)
    for (Index k = 0; k < targets.cols(); ++k) {
      const double least = std::abs(e.pass.f(i, k) - targets(i, k)) * (1 - 4 * u) - e.f_error(i, k);
      if (least > 0) squares += std::pow(e.weights(i) * least, 2);
    }
  return std::sqrt(squares) * (1 - 0x1p-20);
}

}  // namespace

namespace internal {

std::string obstacle_to_certificate(const DeepNetwork& network, const Moving& moving, Index N) {
  Index largest = network.V.cols();
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    const Activation phi = activation_of(layer);
    if (!phi.smooth() && !phi.piecewise_linear())
      return fmt::format("layer {}: needs a smooth phi or one with a leak; {} is neither", l + 1, phi.name);
    largest = std::max({largest, layer.units(), layer.outputs(), layer.inputs()});
  }
  if (largest > kTerms || N > kTerms)
    return fmt::format("rounding is bounded for up to {} units and equations", kTerms);
  if (const Index weights = moving_parameters(network, moving); weights < N)
    return fmt::format("{} equations (points times outputs) > {} weights that move", N, weights);
  return {};
}

DeepCertificate certify(const DeepNetwork& network, const std::vector<LayerNorms>& norms, DeepEvaluation e,
                        const DeepEquations& equations, Progress& progress) {
  const Index N = equations.X.rows() * network.outputs();
  const Moving moving = moving_layers(network, equations);
  DeepCertificate c;
  const auto side = static_cast<double>(N);
  const Threads threads(side * side * static_cast<double>(network.V.cols()));
  c.misfit = misfit(e, equations.Y) * (1 + 4 * u);
  // lambda_min is at most any entry of the diagonal of J J^T, a row of J is at most jacobian_error longer
  // than that of the stored factors: where that does not suffice, nothing will, and there is no need of the
  // other entries.
  const Vector diagonal = tangent_diagonal(network, e.pass, e.back, moving, e.weights);
  const double top = most_of_sigma(diagonal, e);
  Neighbourhood near(network, norms, e, moving, equations.records, progress);
  DeepCertificate best = c;
  if (!near.exists(top, best) && !(best.h <= 0.5)) {
    c.h = std::isnan(best.h) ? std::numeric_limits<double>::infinity() : best.h;
    c.lipschitz = best.lipschitz;
    Index row = 0;
    const bool still = diagonal.minCoeff(&row) == 0;
    const Index point = row / network.outputs();
    c.reason =
        still ? fmt::format(
                    "existence: at sample {} an output is not seen to change with any weight that moves",
                    equations.records.empty() ? point : equations.records[static_cast<std::size_t>(point)])
        : std::isfinite(c.h)
            ? reason_of_h(c.h, c.misfit)
            : "existence: bounds of the outputs and of how fast J changes are beyond the range of numbers";
    progress.finish();
    return c;
  }
  if (!(best.kink > 0)) {  // the exact J may be another one: no bound of the stored one is its
    c.kink = best.kink;
    c.sample = best.sample;
    c.layer = best.layer;
    c.neuron = best.neuron;
    c.reason = fmt::format(
        "existence: the sign of unit {} of layer {} at sample {} is not certain: z is 0 up to "
        "rounding",
        c.neuron, c.layer, c.sample);
    progress.finish();
    return c;
  }
  Matrix K, work;
  tangent_gram(network, e.pass, e.back, moving, e.weights, K);
  e.back = {};
  // Roots of counts are rounded.
  const double off = (e.jacobian_error + 2 * u * std::sqrt(K.diagonal().sum())) * kUp;
  const double error = gram_error(K, e.rounding_terms, e.lost);
  const auto lowest = lowest_eigenvalue(K, error, work, progress);
  const double sigma = std::sqrt(lowest.bound) * kDown - off * kUp;
  if (!(sigma > kLeast)) {
    c.reason = fmt::format(
        "existence: lambda_min(J J^T) is not proved positive: computed {:.3g}, of which rounding may take "
        "{:.3g}",
        lowest.computed, lowest.loss + off * off);
    progress.finish();
    return c;
  }
  c.lambda_min = sigma * sigma * kDown;
  c.exists = near.exists(sigma, c);
  if (c.exists) {
    const double norm_J = (std::sqrt(highest_eigenvalue(K, error, work, progress).bound) + off) * kUp;
    c.descends = near.descends(sigma, norm_J, c);
  }
  progress.finish();
  return c;
}

std::string reason_of_h(double h, double misfit) {
  return fmt::format(
      "existence: h = lipschitz misfit/lambda_min is at least {} and must be at most 1/2: the misfit may be "
      "{}",
      decimal(h, 3, Rounding::down), decimal(misfit, 3, Rounding::up));
}

// Of fewer equations misfit and lipschitz are no larger, and lambda_min is no smaller.
std::optional<DeepCertificate> refuted_by_some(const DeepNetwork& network,
                                               const std::vector<LayerNorms>& norms,
                                               const DeepEquations& equations, Progress& progress) {
  constexpr Index kSome = 64;
  const Index n = equations.X.rows();
  if (n < 8 * kSome) return {};
  std::vector<Index> some;
  for (Index k = 0; k < kSome; ++k) some.push_back(k * n / kSome);
  const Moving moving = moving_layers(network, equations);
  const RowMatrix X = equations.X(some, Eigen::all);
  const DeepEvaluation e =
      evaluate(network, norms, X, Vector(root_counts(equations)(some)), moving, progress);
  DeepCertificate c;
  c.misfit = least_misfit(e, equations.Y(some, Eigen::all));
  const double top = most_of_sigma(tangent_diagonal(network, e.pass, e.back, moving, e.weights), e);
  Neighbourhood(network, norms, e, moving, equations.records, progress).exists(top, c);
  if (!(c.h > 0.5 + 0x1p-10 && std::isfinite(c.h))) return {};  // far enough for what is rounded up in it
  DeepCertificate refuted;
  refuted.h = c.h * (1 - 0x1p-20);
  return refuted;
}

VerifiedOutputs outputs_of(const DeepNetwork& network, const std::vector<LayerNorms>& norms,
                           const Eigen::Ref<const RowMatrix>& X, const DeepEvaluation& e) {
  return {e.pass.f, e.f_error, network.single ? single_errors(network, norms, X, e) : Matrix()};
}

VerifiedOutputs outputs_in_blocks(const DeepNetwork& network, const std::vector<LayerNorms>& norms,
                                  const Eigen::Ref<const RowMatrix>& X, Progress& progress) {
  const Index n = X.rows(), K = network.outputs();
  // At a time: the derivatives of all their outputs are in memory together.
  const Index points_together = std::clamp<Index>(16384 / K, 1, 1024);
  const Moving none(network.layers.size() + 1, false);
  VerifiedOutputs outputs{Matrix(n, K), Matrix(n, K), network.single ? Matrix(n, K) : Matrix()};
  for (Index row = 0; row < n; row += points_together) {
    const Index rows = std::min(points_together, n - row);
    const auto points = X.middleRows(row, rows);
    const auto e = evaluate(network, norms, points, Vector::Ones(rows), none, progress);
    const VerifiedOutputs block = outputs_of(network, norms, points, e);
    outputs.f.middleRows(row, rows) = block.f;
    outputs.error.middleRows(row, rows) = block.error;
    if (network.single) outputs.single_error.middleRows(row, rows) = block.single_error;
  }
  return outputs;
}

}  // namespace internal

DeepCertificate certify_network(const DeepNetwork& network, const DeepEquations& equations,
                                Progress& progress) {
  check_equations(network, equations);
  const Moving moving = moving_layers(network, equations);
  DeepCertificate c;
  c.reason = obstacle_to_certificate(network, moving, equations.X.rows() * network.outputs());
  if (!c.reason.empty()) return c;
  require_gram_memory(network, moving, equations.X.rows(), 2, "the certificate");
  progress.stage("certificate");
  const auto norms = layer_norms(network, progress);
  DeepEvaluation e = evaluate(network, norms, equations.X, root_counts(equations), moving, progress);
  return certify(network, norms, std::move(e), equations, progress);
}

VerifiedOutputs verified_outputs(const DeepNetwork& network, const Eigen::Ref<const RowMatrix>& X,
                                 Progress& progress) {
  check_points(network, X);
  return outputs_in_blocks(network, layer_norms(network, progress), X, progress);
}

}  // namespace zeroloss
