#include "zeroloss/deep/polish.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/tiled.hpp"
#include "deep/equations.hpp"
#include "deep/jacobian.hpp"
#include "zeroloss/core/memory.hpp"
#include "zeroloss/core/threads.hpp"

namespace zeroloss {
using namespace internal;
namespace {

struct Problem {
  const DeepEquations& equations;
  Moving moving;
  Vector weights;

  Vector residual(const ForwardPass& pass) const {
    const Index K = pass.f.cols();
    Vector r(pass.f.size());
    for (Index i = 0; i < pass.f.rows(); ++i)
      r.segment(i * K, K) = weights(i) * (pass.f.row(i) - equations.Y.row(i)).transpose();
    return r;
  }
};

// A network with what is known of it at the points.
struct At {
  DeepNetwork network;
  ForwardPass pass;
  Vector residual;
  double misfit = 0;

  At(DeepNetwork from, const Problem& problem)
      : network(std::move(from)),
        pass(forward(network, problem.equations.X)),
        residual(problem.residual(pass)),
        misfit(residual.norm()) {}
};

// The factor of J J^T + mu I of some weights.
struct Factor {
  Matrix L;
  double mu = 0;
};

}  // namespace

PolishedNetwork polish(const DeepNetwork& network, const DeepEquations& equations,
                       const PolishOptions& options, Progress& progress) {
  check_equations(network, equations);
  if (options.max_factorizations < 1)
    throw std::invalid_argument("polish: `max_factorizations` must be at least 1");
  const Problem problem{equations, moving_layers(network, equations), root_counts(equations)};
  const auto N = static_cast<double>(equations.Y.size());
  require_memory(8 * N * N, "polishing", "use fewer points, or one output at a time");
  constexpr double kSlowest = 0.5;  // a chord step that leaves more is worth a new factorisation
  constexpr double kNoise = 1e-10;  // of the targets: below this a step that does not help is rounding
  const Vector targets = problem.weights.asDiagonal() * equations.Y.rowwise().norm();
  const double size = std::max(targets.norm(), 1e-300), goal = options.tolerance * size;
  progress.stage("Gauss-Newton");
  At at(network, problem);
  PolishedNetwork result;
  double damping = 1e-4, worse = 4;  // of the mean of the diagonal
  Factor factor;
  bool usable = false;  // the factor is of earlier weights and still serves
  BackwardPass back;
  const auto step = [&](const Vector& q) {
    return At(moved(at.network, at.pass, back, problem.moving, problem.weights, q), problem);
  };
  const auto take = [&](At next) {
    at = std::move(next);
    ++result.steps;
    back = {};
    progress.note(fmt::format("misfit {:.3g}", at.misfit));
    progress.advance(1);
  };
  while (at.misfit > goal) {
    progress.check();
    if (back.g.empty()) back = backward(at.network, at.pass, problem.moving, problem.weights);
    if (usable) {
      Vector q = at.residual;
      tiled::solve(factor.L, q);
      At next = step(q);
      const double left = next.misfit / at.misfit;
      usable = left <= kSlowest;
      if (left < 1) {
        take(std::move(next));
        continue;
      }
      if (at.misfit <= kNoise * size) break;
      continue;
    }
    if (result.factorizations == options.max_factorizations) break;
    ++result.factorizations;
    tangent_gram(at.network, at.pass, back, problem.moving, problem.weights, factor.L);
    factor.mu = damping * factor.L.diagonal().mean();
    factor.L.diagonal().array() += factor.mu;
    if (!tiled::factor(factor.L, progress)) {
      damping = std::max(damping * 10, 1e-14);
      if (!(damping < 1e6)) break;
      continue;
    }
    Vector q = at.residual;
    tiled::solve(factor.L, q);
    At next = step(q);
    // The linear network's residual is mu q.
    const double predicted = std::pow(at.misfit, 2) - std::pow(factor.mu * q.norm(), 2);
    const double gain = (std::pow(at.misfit, 2) - std::pow(next.misfit, 2)) / predicted;
    if (!(gain > 0.1)) {
      if (at.misfit <= kNoise * size && !(next.misfit < at.misfit)) break;
      damping *= worse;
      worse *= 2;
      if (!(damping < 1e6)) break;
      continue;
    }
    worse = 4;
    damping = gain > 0.9 ? damping / 100 : gain > 0.6 ? damping / 5 : damping;
    usable = next.misfit <= kSlowest * at.misfit;
    take(std::move(next));
  }
  progress.finish();
  result.misfit = at.misfit;
  result.distance = distance(network, at.network);
  result.network = std::move(at.network);
  return result;
}

}  // namespace zeroloss
