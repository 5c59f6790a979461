#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "zeroloss/core/run.hpp"
#include "zeroloss/sweep/sweep.hpp"

/// The answer of a sweep as text, as JSON and as the files of its run folder.
namespace zeroloss::app {

nlohmann::ordered_json sweep_options_json(const SweepOptions& options);

std::string sweep_text(const SweepOptions& options, const SweepResult& result);
std::string sweep_json(const SweepOptions& options, const SweepResult& result);

/// result.json, metrics.csv (a row a cell), and a figure for each panel: heat.vl.json, or heat-1.vl.json, ..
void write_sweep(RunFolder& folder, const SweepOptions& options, const SweepResult& result);

}  // namespace zeroloss::app
