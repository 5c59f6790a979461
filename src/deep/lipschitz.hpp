#pragma once
#include <limits>

#include "deep/sensitivity.hpp"

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
  double least = 0;     ///< what norms of products come to at least, where they were tried; else constant
};

/// In the ball of that radius (all moving weights together) around the weights that were evaluated, by
/// products of norms. One pass over all rows of J.
Lipschitz lipschitz(const DeepNetwork& network, const std::vector<LayerNorms>& norms, const DeepEvaluation& e,
                    const Moving& moving, double radius);

/// The same, or where that is above `enough` the same or less, by norms of products at the weights. Those are
/// computed point by point until their sum is above `enough` too, which `least` then says; not at all where
/// that would take more than 4e12 multiply-adds.
Lipschitz lipschitz(const DeepNetwork& network, const std::vector<LayerNorms>& norms, const DeepEvaluation& e,
                    const Moving& moving, double radius, double enough, Sensitivities& sensitivities,
                    Progress& progress);

}  // namespace zeroloss::internal::verified
