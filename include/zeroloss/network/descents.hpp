#pragma once
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "zeroloss/base/progress.hpp"
#include "zeroloss/network/network.hpp"

/// Gradient descent on many two-layer networks at once, wherever that is done.
namespace zeroloss {

/// One of them: what it starts from and when it ends.
struct Descent {
  const RowMatrix* X = nullptr;  ///< n x d, the points as they are
  Vector y = {};                 ///< n targets
  TwoLayer start = {};           ///< W m x d, v m
  double step = 0;               ///< eta of W <- W - eta J^T r, the loss being ||r||^2/2, r = f - y; >= 0
  double residual = 0;           ///< ||r|| at which it has converged; >= 0
  Index max_steps = 0;           ///< >= 0
};

/// How large a network is, and its points.
struct DescentShape {
  Index n = 1, d = 1, m = 1;

  /// Numbers that a step goes through, more or less.
  double numbers() const {
    const auto N = static_cast<double>(n), D = static_cast<double>(d), M = static_cast<double>(m);
    return N * D + 2 * M * D + 2 * N * M;
  }
  /// The least in which both have a place.
  DescentShape with(const DescentShape& other) const {
    return {std::max(n, other.n), std::max(d, other.d), std::max(m, other.m)};
  }
};

/// How it ended: converged, diverged, or neither after max_steps.
struct Descended {
  RowMatrix W = {};
  Index steps = 0;
  bool converged = false;
  bool diverged = false;  ///< ||r|| is not finite, or above `growth` times what it was at the start
};

/// What holds for all of them.
struct DescentRules {
  std::string precision = "float64";  ///< float64 | float32, of every number but the sums of squares
  double growth = 1000;               ///< > 1
};

/// A device that trains them.
class DescentEngine {
 public:
  DescentEngine() = default;
  virtual ~DescentEngine() = default;
  DescentEngine(const DescentEngine&) = delete;
  DescentEngine& operator=(const DescentEngine&) = delete;

  virtual std::string name() const = 0;  ///< "LibTorch 1.13.0, no CUDA on cpu"

  /// How many of this shape it takes at once, as the memory is now: >= 1. Throws ResourceError where there is
  /// no place for one.
  virtual Index at_once(const DescentShape& shape, const DescentRules& rules) const = 0;

  /// Networks that have ended since the last call, and their places in the list.
  using Done = std::function<void(std::vector<std::pair<std::size_t, Descended>>)>;

  /// Trains those of `list`, relu networks, each as if it were alone: what becomes of one does not depend on
  /// the others but for roundings. Each takes the time and the memory of the shape in which all have a place.
  /// `done` hears of each once, some at a time and soon after they have ended. Throws what `done` throws,
  /// Interrupted once cancelled, ResourceError where memory is short after all.
  virtual void train(const std::vector<Descent>& list, const DescentRules& rules, const Done& done,
                     Progress& progress) = 0;
};

}  // namespace zeroloss
