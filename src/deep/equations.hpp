#pragma once
#include "deep/jacobian.hpp"
#include "zeroloss/deep/certificate.hpp"

/// What proofs and training of a network of layers ask of their equations first.
namespace zeroloss::internal {

/// Throws std::invalid_argument for sizes that do not agree, values that are not finite, counts below 1.
void check_equations(const DeepNetwork& network, const DeepEquations& equations);

Moving moving_layers(const DeepNetwork& network, const DeepEquations& equations);
Vector root_counts(const DeepEquations& equations);  ///< n; ones where there are no counts

/// Numbers in the layers that move.
Index moving_parameters(const DeepNetwork& network, const Moving& moving);

}  // namespace zeroloss::internal
