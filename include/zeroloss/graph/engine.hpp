#pragma once
#include <string>
#include <vector>

#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/progress.hpp"

/// Graphs evaluated somewhere else than on this processor.
namespace zeroloss {

struct GraphOutputs;
namespace internal::graph {
struct Step;
}

/// A device that evaluates graphs.
class GraphEngine {
 public:
  GraphEngine() = default;
  virtual ~GraphEngine() = default;
  GraphEngine(const GraphEngine&) = delete;
  GraphEngine& operator=(const GraphEngine&) = delete;

  virtual std::string name() const = 0;  ///< "LibTorch 1.13.0, no CUDA on cpu"

  /// What the last of `steps` gives at each row of X, in exact arithmetic, with bounds of the errors:
  /// infinite where nothing is known. Throws DataError naming a step that the device does not know,
  /// BackendError where its products are not those of double precision, ResourceError, Interrupted.
  virtual GraphOutputs outputs(const std::vector<internal::graph::Step>& steps,
                               const Eigen::Ref<const RowMatrix>& X, Progress& progress) const = 0;
};

/// A network that is no graph of operators and encloses its outputs itself.
class GraphEnclosure {
 public:
  GraphEnclosure() = default;
  virtual ~GraphEnclosure() = default;
  GraphEnclosure(const GraphEnclosure&) = delete;
  GraphEnclosure& operator=(const GraphEnclosure&) = delete;

  virtual Index features() const = 0;

  /// At each row of X, in exact arithmetic (`exact`) or in that of the network's numbers with sums in any
  /// order: infinite errors where nothing is known. Throws std::invalid_argument for other executions,
  /// Interrupted.
  virtual GraphOutputs outputs(const Eigen::Ref<const RowMatrix>& X, const std::string& execution,
                               Progress& progress) const = 0;
};

}  // namespace zeroloss
