#include "zeroloss/deep/polish.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "deep/equations.hpp"
#include "deep/levenberg_marquardt.hpp"

namespace zeroloss {
using namespace internal;

PolishedNetwork polish(const DeepNetwork& network, const DeepEquations& equations,
                       const PolishOptions& options, Progress& progress) {
  check_equations(network, equations);
  if (options.max_factorizations < 1)
    throw std::invalid_argument("polish: `max_factorizations` must be at least 1");
  LevenbergMarquardt descent(network, equations);
  const double goal = options.tolerance * descent.size();
  progress.stage("Gauss-Newton");
  PolishedNetwork result;
  while (descent.misfit() > goal && descent.step(options.max_factorizations, progress)) {
    ++result.steps;
    progress.note(fmt::format("misfit {:.3g}", descent.misfit()));
    progress.advance(1);
  }
  progress.finish();
  result.misfit = descent.misfit();
  result.distance = distance(network, descent.network());
  result.factorizations = descent.factorizations();
  result.network = descent.network();
  return result;
}

}  // namespace zeroloss
