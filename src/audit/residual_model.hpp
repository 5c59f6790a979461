#pragma once
#include <cstdint>

#include "zeroloss/audit/audit.hpp"
#include "zeroloss/base/matrix.hpp"

/// From residuals that know nothing of their own targets to the probability that each target is right:
/// numbers.
namespace zeroloss::internal {

/// Residuals over their standard deviations are t with five degrees of freedom times a scale if
/// right, and uniform over the range of the targets if wrong. The scale is 2 % of the range at least; where
/// it is above 15 %, nothing is said. `right` is with at least 1 % wrong.
struct ResidualModel {
  double scale = 0;  ///< of a residual of precision 1
  double rate = 0;
  Vector right;              ///< n: P(right | residual)
  bool like_others = false;  ///< scale is that of other samples
  double least = 0;          ///< scale that was allowed
  double share = 0;          ///< of the range that the scale is
  bool judges = true;        ///< it is narrow enough to tell right from wrong
};
/// residuals: without their own samples; precision: of each, up to a factor; range: of the targets, > 0.
/// `scale`: as it is, of other samples; 0: to be found.
ResidualModel residual_model(const Vector& residuals, const Vector& precision, double range,
                             double scale = 0);
Estimate estimate_rate(const Vector& residuals, const Vector& precision, double range,
                       const ResidualModel& model, Index draws, std::uint64_t seed);

}  // namespace zeroloss::internal
