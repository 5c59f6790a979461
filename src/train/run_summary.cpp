#include "train/run_summary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/field_json.hpp"
#include "base/field_text.hpp"
#include "network/prepare.hpp"
#include "train/combine.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {

// Proofs are about the data as given, not about the unit rows made of them.
Checkpoint::Identity run_identity(const CheckedOptions& o, const RowMatrix& X,
                                  const Standardization& standard, const Matrix& Y) {
  Checkpoint::Identity parts{{"data (SHA-256 of the points and targets)", points_digest(X, Y)},
                             {"proofs about", "exact points"}};
  if (!standard.empty()) parts.emplace_back("standardization", told(standard).dump());
  if (o.engine != nullptr) parts.emplace_back("device", o.engine->device());
  fields(static_cast<const FitOptions&>(o), [&](const Field& field, const auto& value) {
    if (field.affects_run) parts.emplace_back(field.name, text_of(value));
  });
  return parts;
}

void gather_results(RunState& state, const Matrix& Y, bool together, FitResult& result) {
  std::vector<double> misfits;
  std::vector<Certificate> certificates;
  result.status = Status::certified;
  result.certified_at = 0;
  for (OutputState& output : state.finished) {
    OutputResult& r = output.result;
    misfits.push_back(r.relative_misfit);
    certificates.push_back(r.certificate);
    result.status = std::max(result.status, r.status);
    result.steps = std::max(result.steps, r.steps);
    if (!r.curve.empty()) {
      result.max_distance = std::max(result.max_distance, r.curve.back().max_distance);
      result.flipped_fraction = std::max(result.flipped_fraction, r.curve.back().flipped_fraction);
    }
    if (!r.certified_at || !result.certified_at)
      result.certified_at.reset();
    else
      result.certified_at = std::max(*result.certified_at, *r.certified_at);
    result.outputs.push_back(std::move(r));
  }
  result.relative_misfit = together ? misfits.front() : combined_misfit(misfits, Y);
  result.step = result.outputs.front().step;
  result.certificate = combined(certificates);
}

void conclude(FitResult& result, std::size_t expected) {
  const std::string misfit = decimal(result.relative_misfit, 2, Rounding::up);
  const bool several = expected > 1;
  const auto failed = std::find_if(result.outputs.begin(), result.outputs.end(),
                                   [&](const OutputResult& o) { return o.status == result.status; });
  const std::string whose = several && failed != result.outputs.end() && !failed->label.empty()
                                ? fmt::format(" (class {})", failed->label)
                                : "";
  const auto first = result.certified_at.value_or(result.steps);
  switch (result.status) {
    case Status::certified:
      result.conclusion =
          fmt::format("zero loss: certified at step {}{}{}: {} within {} of these weights", result.steps,
                      first < result.steps ? fmt::format(" (first at step {})", first) : "",
                      several ? fmt::format(" for all {} classes", expected) : "",
                      several ? "exact solutions lie" : "an exact solution lies",
                      decimal(result.certificate.radius, 2, Rounding::up));
      break;
    case Status::converged:
      result.conclusion = fmt::format("converged to misfit {} in {} steps, not certified{}: {}", misfit,
                                      result.steps, whose, failed->certificate.reason);
      break;
    case Status::solved:  // of kernel alone, which says so itself
    case Status::budget_spent:
    case Status::stalled:
      result.conclusion = fmt::format("not converged{}: misfit {}: {}", whose, misfit, failed->reason);
      break;
    case Status::diverged:
      result.conclusion =
          fmt::format("diverged after {} steps{}{}: {}", failed->steps,
                      failed->step > 0 ? fmt::format(" of {:.4g}", failed->step) : "", whose, failed->reason);
      break;
    case Status::interrupted:
      result.conclusion =
          fmt::format("interrupted at step {}{}, misfit {}", result.outputs.back().steps,
                      several ? fmt::format(" of output {} of {}", result.outputs.size(), expected) : "",
                      decimal(result.outputs.back().relative_misfit, 2, Rounding::up));
  }
  if (!result.conflicts.empty())
    result.conclusion =
        "zero loss is impossible on points divided by their length: " + conflict_text(result.conflicts) +
        more_conflicts(result.conflicts) + "\n" + result.conclusion;
  else if (result.nearest && result.status != Status::certified)
    result.conclusion += "\n" + nearness(*result.nearest, result.d);
}

}  // namespace zeroloss::internal
