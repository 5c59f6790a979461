#pragma once
#include <limits>

#include "deep/evaluate.hpp"

/// How fast J can change while the weights that move stay in a ball (theory 16).
namespace zeroloss::internal::verified {

/// The pre-activation of a phi with a kink that is nearest to changing its sign.
struct NearestKink {
  double ratio = std::numeric_limits<double>::infinity();  ///< |z| over what it can move by, rounded down
  Index sample = 0, layer = 0, neuron = 0;                 ///< 0-based
};

struct Lipschitz {
  double constant = 0;  ///< ||J' - J''||_F <= constant ||theta' - theta''||, rounded up
  NearestKink kink;     ///< the constant holds where its ratio is above 1
};

/// In the ball of that radius (all moving weights together) around the weights that were evaluated. One pass
/// over all rows of J.
Lipschitz lipschitz(const DeepNetwork& network, const std::vector<LayerNorms>& norms, const DeepEvaluation& e,
                    const Moving& moving, double radius);

}  // namespace zeroloss::internal::verified
