#pragma once
#include "zeroloss/network/tangent_steps.hpp"
#include "zeroloss/train/fit.hpp"

namespace zeroloss::internal {

struct Method;
class Outputs;

/// What FitOptions::step says.
struct Step {
  enum class Kind { automatic, theorem, number } kind = Kind::automatic;
  double value = 0;  ///< of a number: > 0 and finite

  /// Throws std::invalid_argument for a text that is none of the three.
  explicit Step(const std::string& text);
};

/// Options in force: in range, each goes with the others, the default tolerance is filled in, and what their
/// texts name is found.
struct CheckedOptions : FitOptions {
  Step rule;
  const Method* method;                   ///< of `optimizer`
  Outputs* outputs = nullptr;             ///< who trains them; null: one after the other here
  const TangentEngine* engine = nullptr;  ///< what takes the steps; null: this process
  bool proved =
      true;  ///< with what theory says of the run, and certificates; a trial of a sweep goes without
};

/// Throws std::invalid_argument that says what an option must be, if it is not `met`.
void require_fit(bool met, const std::string& what);

/// Throws std::invalid_argument naming an option that is out of range or does not go with another.
CheckedOptions checked(const FitOptions& options);

/// Throws std::invalid_argument naming an option that does not go with a device.
void check_engine(const CheckedOptions& options);

/// fit() with them.
FitResult fit_checked(const Dataset& data, CheckedOptions options, Progress& progress);

/// Gradient descent on this many points is taken by SmallTrainer: quicker there, and the same bits in fit and
/// sweep.
bool trains_small(const FitOptions& options, Index n, Index d);

}  // namespace zeroloss::internal
