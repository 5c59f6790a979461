#pragma once
#include "zeroloss/audit/audit.hpp"
#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/progress.hpp"

namespace zeroloss::internal {

/// How a caveat begins that says more than what follows.
constexpr const char* kSayLittle = "The features say ";

/// How one ends that explains what the list names.
constexpr const char* kPlaceholder = " leaves them out.";

/// The class of this name.
Index class_of(const Dataset& data, const std::string& name);

/// What is predicted of samples, each without its own: f, n x c or n x 1 in the units of the targets, and how
/// precise numbers are, up to a factor.
struct Predicted {
  Matrix f;
  Vector precision;
};

/// Fills scores, predicted, confidence, issues (without reasons), noise_rate, confusions and error. Where the
/// samples asked about are others than those of the predictor, `own` is what is predicted of these: how sure
/// predictions may be is learnt from them. Throws Interrupted once cancelled.
void judge(const Dataset& train, const Predicted& own, const Dataset& asked, const Predicted& predicted,
           const AuditOptions& options, AuditResult& result, Progress& progress);

}  // namespace zeroloss::internal
