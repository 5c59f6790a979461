#pragma once
#include <array>
#include <functional>
#include <vector>

#include "memorize/exact_sums.hpp"
#include "zeroloss/base/progress.hpp"
#include "zeroloss/memorize/memorizer.hpp"

/// Points through a network with every error counted (theory 11, "Proof").
namespace zeroloss::internal {

/// ||h||, rounded up.
double length_up(const Eigen::Ref<const Vector>& h);

/// How the network is evaluated: as a function of real numbers, and in its own precision with sums in any
/// order, multiply-adds fused or not. Points of a float32 network are rounded to floats in both.
enum Execution : std::size_t { kExact, kOwn, kExecutions };

/// Of points first, first + 1, ..: outputs, and how far those of each execution are from them at most;
/// infinite where no bound is had.
struct OutputBalls {
  Index first = 0;
  Matrix centers;                          ///< count x r
  std::array<Matrix, kExecutions> errors;  ///< count x r
  std::vector<Index>
      moved_by;  ///< the block of which a neuron may wake in exact arithmetic; -1 none, -2 several
  RowMatrix activations, activation_errors;  ///< count x k, exact ones of that block; one of several
  RowMatrix states;                          ///< count x k, after all blocks
  Vector reach;                              ///< no exact one is further from these
};

/// Calls use(balls) for tiles that together are all points; from several threads at once, in any order.
/// `columns` are those of X: of a float32 network they say which sums of the first layer are exact. Throws
/// Interrupted once cancelled.
using UseBalls = std::function<void(const OutputBalls& balls)>;
void each_ball(const Memorizer& network, const RowMatrix& X, const Columns& columns, Progress& progress,
               const UseBalls& use);

}  // namespace zeroloss::internal
