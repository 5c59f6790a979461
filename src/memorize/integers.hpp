#pragma once
#include <optional>

#include "memorize/construct.hpp"

/// A network all of whose numbers are integers, for points that are (theory 11, "Integers"): every sum is
/// exact in float64, whatever its order.
namespace zeroloss::internal {

/// The network of `memory`, whose points become integers by a power of two. Failure: points that are not, or
/// that no sum of columns tells apart. Throws DataError for equal points with different labels,
/// ResourceError, Interrupted.
Construction construct_integers(const Memory& memory, Progress& progress);

/// Outputs n x r of such a network; nothing if one of its numbers is no integer (but for powers of two in
/// A_0), or if sum_j |w_j| |h_j| + |b| may exceed 2^53 for a neuron and a point: otherwise these are the
/// outputs of any order of sums, and of exact arithmetic.
std::optional<Matrix> exact_outputs(const Memorizer& network, const RowMatrix& X, Progress& progress);

}  // namespace zeroloss::internal
