#pragma once
#include <optional>
#include <string>

#include "network/prepare.hpp"
#include "theory/theorems.hpp"
#include "train/fit_options.hpp"
#include "zeroloss/base/progress.hpp"
#include "zeroloss/proof/certificate.hpp"
#include "zeroloss/theory/guarantee.hpp"

/// What theory says about a run before it begins: the infinitely wide network's curve from the drawn outputs,
/// and the bounds of the theorem that covers the run.
namespace zeroloss::internal {

/// Of the points alone; one for all outputs.
struct PointTheory {
  std::optional<PointBounds> bounds;  ///< empty if not computed; of G o G where the run's theorem asks for it
  double norm_X = 0;                  ///< ||X||, proven upper bound
  Vector values;                      ///< eigenvalues of Sigma of all samples; empty if not computed
  Matrix vectors;
  std::string missing;  ///< why values are missing
};

/// What the optimizer shows: bounds and norm_X where a theorem stands beside it, values where the infinitely
/// wide network's curve does (for drawn weights). Up to 3,000 points; beyond, bounds and norm_X only if
/// `step` is "theorem". Two or three factorisations and one eigendecomposition. The bounds are those of the
/// distinct points.
PointTheory point_theory(const TrainingSet& set, const Activation& activation, const CheckedOptions& options,
                         Progress& progress);

/// Of one output.
class TheoryCurve {
 public:
  /// `outputs` are trained in all: the failure probability is shared among them.
  TheoryCurve(const PointTheory& theory, const Activation& activation, const CheckedOptions& options,
              const RowMatrix& X, const Vector& y, Index outputs);

  /// The theorem for this activation, scaling and optimizer; its `step` is 0 if lambda is not known.
  const TheoremBeside& theorem() const { return theorem_; }

  /// Once the network is drawn (||v||^2, residual) and the step is known (flow: 0): decides whether the
  /// theorem holds for this run: for a start that was given none does.
  void begin(double v_squares, const Vector& r0, double step);

  /// A certificate of descent that the start has: its bounds stand beside the run unless a theorem's do. The
  /// step has to be one that it allows.
  void begin(const Certificate& start);

  /// Fills in the forecast and the bounds at point.step (flow: point.time).
  void complete(CurvePoint& point) const;

 private:
  bool flow() const;
  void fails(const std::string& why);  // the theorem, for one more reason

  const PointTheory& theory_;
  const CheckedOptions& options_;
  TheoremBeside theorem_;
  double n_, norm_y_, unit_;  // unit_: what relative misfits are divided by
  double lambda_ = 0;         // the theorem's
  double rate_ = 0;           // of ||r||, a step (flow: of time), at the step that counts
  double step_ = 0, r0_ = 0, scale_ = 0;
  double radius_ = 0;  // of the start's certificate; 0: none stands beside the run
  Vector weights_;     // squared components of r0 along the eigenvectors
};

}  // namespace zeroloss::internal
