#pragma once
#include <chrono>
#include <limits>
#include <string>

#include "train/checkpoint.hpp"
#include "train/fit_options.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/train/optimizers.hpp"

/// The training loop, whatever is trained: steps, records, certificates, stops and checkpoints.
namespace zeroloss::internal {

/// Whether a misfit ends a run: at most the tolerance, or not finite or above 1000 times the start's.
enum class Ending { none, converged, diverged };
constexpr double kDiverged = 1000;
Ending ended(double misfit, double start, double tolerance);

/// Which training of a run this is, what its result is called, and on how many points.
struct Part {
  Index index = 0, of = 1;
  std::string label = {};
  Index points = 1;
};

class Training {
 public:
  virtual ~Training() = default;

  /// From `state.current` if there is one; appends to state.finished. Leaves it in state.current, with status
  /// interrupted, once `progress` is cancelled.
  void run();

 protected:
  Training(const CheckedOptions& options, Part part, const Vector& y, RunState& state, Checkpoint& checkpoint,
           Progress& progress);

  /// Once there is an optimizer: the misfit of the start, and where an interrupted run was.
  void begin();

  virtual Optimizer& optimizer() = 0;
  virtual double step_work() const = 0;             ///< multiply-adds of a step, more or less
  virtual double final_residual_norm() const = 0;   ///< of the weights as kept, in double
  virtual void keep(OutputState& state) const = 0;  ///< the weights as they are, and polished ones
  virtual Certificate proved(bool polish, Progress& progress) = 0;  ///< of the weights as they are
  virtual void expect(const Certificate& start) = 0;                ///< what it says of the run
  virtual void complete(CurvePoint& point) const = 0;  ///< with what theory and the test points say

  const CheckedOptions& options_;
  const OptimizerFacts& facts_;
  const Part part_;
  const Vector& y_;
  double unit_ = 1;  ///< what misfits are relative to
  RunState& state_;
  Progress& progress_;
  OutputResult result_;

 private:
  double elapsed_s() const;
  double misfit();
  Index passes() const;
  double measured();
  bool ended(double now);
  double seconds() const;
  bool hopeless_start() const;
  bool look();
  void certify(bool polish);
  void record();
  void step();
  OutputState snapshot();
  void resume(const OutputState& from);
  void restore_schedule(const Matrix& schedule);
  void restore_start(const Matrix& known);

  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  const SerialBlas serial_;  // our loops are the threads
  Checkpoint& checkpoint_;
  Certificate at_start_;
  double start_misfit_ = 0, best_misfit_ = std::numeric_limits<double>::infinity();
  Index best_step_ = 0;
  Index next_certificate_ = 0, certified_step_ = -1;
  double next_misfit_;
  bool refreshed_ = false, stuck_ = false;
};

}  // namespace zeroloss::internal
