#pragma once
#include <string>
#include <vector>

#include "zeroloss/base/run.hpp"
#include "zeroloss/present/next.hpp"
#include "zeroloss/sweep/sweep.hpp"

/// The answer of a sweep as text, as JSON and as a run folder.
namespace zeroloss {

std::string sweep_text(const SweepOptions& options, const SweepResult& result);
std::string sweep_json(const SweepOptions& options, const SweepResult& result, const Next& next = {});

/// result.json, metrics.csv (a row a cell), a figure for each panel (heat.vl.json, or heat-1.vl.json, ..),
/// trials.db (a copy of options.store where that is elsewhere) and manifest.json, where `command` is what was
/// asked; finishes the folder.
void write_sweep(RunFolder& folder, const SweepOptions& options, const SweepResult& result,
                 const std::vector<std::string>& command, const Next& next = {});

}  // namespace zeroloss
