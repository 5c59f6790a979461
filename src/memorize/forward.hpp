#pragma once
#include <functional>

#include "zeroloss/base/progress.hpp"
#include "zeroloss/memorize/memorizer.hpp"

/// Points through a network, in its own precision. What becomes of a point depends on the point and the
/// network alone.
namespace zeroloss::internal {

/// h_0 of every point, n x k; of the network only A_0, b_0 and precision are used.
RowMatrix first_layer(const Memorizer& network, const RowMatrix& X, Progress& progress);

/// Calls use(first, Y) with the outputs (count x r) of points first, first + 1, .., for tiles that together
/// are all points; from several threads at once, in any order.
using UseOutputs = std::function<void(Index first, const Eigen::Ref<const Matrix>& Y)>;
void each_output(const Memorizer& network, const Eigen::Ref<const RowMatrix>& X, Progress& progress,
                 const UseOutputs& use);

}  // namespace zeroloss::internal
