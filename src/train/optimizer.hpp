#pragma once
#include <map>
#include <memory>
#include <string>

#include "proof/certificate.hpp"
#include "train/engine/trainer.hpp"
#include "zeroloss/base/progress.hpp"
#include "zeroloss/train/fit.hpp"

/// Ways to move weights towards r = 0.
namespace zeroloss::internal {

/// An output's start and aim.
struct Problem {
  const RowMatrix& X;  ///< n x d, unit rows: every sample
  const Vector& y;     ///< n
  const TwoLayer& start;
  const Activation& activation;
  const CertifiedPoints& points;  ///< what is to be proved: of these, the distinct points,
  const Vector& distinct_y;       ///< and these targets
};

/// All that an optimizer needs to go on exactly as it would have: named matrices (floats are exact in them).
using Snapshot = std::map<std::string, Matrix>;

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// Takes at least one and at most `most` steps, `done` having been taken before; returns how many, 0 if no
  /// step makes progress any more. Interrupted may leave only before anything has moved.
  virtual Index advance(Index done, Index most, Progress& progress) = 0;

  /// Whether a step more is worth its while although ||f - y|| is at most this: certificates are wider then.
  virtual bool goes_on(double /*reached*/) const { return false; }

  /// Why advance() returned 0.
  virtual std::string obstacle() const { return "no step makes progress"; }

  virtual const Vector& f() const = 0;  ///< outputs for the weights as they are
  virtual double residual_norm(const Vector& y) const { return (f() - y).norm(); }  ///< ||f - y||
  virtual void refresh() = 0;         ///< f from the weights themselves, where f is kept by updates
  virtual Travel travel() const = 0;  ///< since the start
  virtual Snapshot snapshot() const = 0;
  virtual void restore(const Snapshot& snapshot) = 0;

  double path_length = 0;  ///< sum of ||W_{k+1} - W_k||_F
  double time = 0;         ///< sum of step sizes
};

/// Of one output of a two-layer network.
class TwoLayerOptimizer : public Optimizer {
 public:
  virtual TwoLayer network() const = 0;  ///< the weights as they are

  /// What is proved about them: certify_output, unless v is what was trained.
  virtual CertifiedOutput certify(const Problem& problem, bool polish, Progress& progress) const {
    return certify_output(network(), problem.activation, problem.points, problem.distinct_y, progress,
                          polish);
  }
};

}  // namespace zeroloss::internal
