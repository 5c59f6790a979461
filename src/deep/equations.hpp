#pragma once
#include <string>

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

/// Bytes of J J^T at n points, in so many matrices (8 N^2 each), beside what it is made of: backward()'s
/// factors, 8 N a unit of a layer that moves, twice that where it has U, with what it holds at a time, and
/// the values of two passes. The first matrix stands beside the factors, the others behind them; half a
/// matrix is a packed one, none the factors alone.
double bytes_of_gram(const DeepNetwork& network, const Moving& moving, Index n, double matrices);

/// Throws ResourceError, which says how many points fit, and the `hint` where there is one, if memory for
/// these does not suffice.
void require_gram_memory(const DeepNetwork& network, const Moving& moving, Index n, double matrices,
                         const std::string& what, const std::string& hint = "");

}  // namespace zeroloss::internal
