#pragma once
#include "zeroloss/audit/audit.hpp"
#include "zeroloss/core/matrix.hpp"

namespace zeroloss::internal {

/// The class of this name.
Index class_of(const Dataset& data, const std::string& name);

/// Fills scores, predicted, confidence, issues (without reasons), noise_rate, confusions and error from what
/// is predicted of `asked`, each without its own sample: F, n x c or n x 1 in the units of the targets.
/// `precision` of the predicted numbers, up to a factor. range: of the training targets.
void judge(const Dataset& train, const Dataset& asked, const Matrix& F, const Vector& precision,
           const AuditOptions& options, AuditResult& result);

}  // namespace zeroloss::internal
