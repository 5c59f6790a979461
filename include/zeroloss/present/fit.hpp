#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "zeroloss/core/run.hpp"
#include "zeroloss/train/fit.hpp"

namespace zeroloss::app {

/// The answer for people: the conclusion first, then what is proved, then the measurements.
std::string fit_text(const Dataset& data, const FitOptions& options, const FitResult& result);

/// The answer for programs: one JSON object; every key is always there. A number that is infinite is null.
std::string fit_json(const Dataset& data, const FitOptions& options, const FitResult& result);

/// The options as fit used them.
nlohmann::ordered_json fit_options_json(const FitOptions& options);

/// result.json, metrics.csv, model.safetensors, polished.safetensors (if there is such a network) and the
/// figure curve.vl.json; of an interrupted run result.json and metrics.csv.
void write_fit(RunFolder& folder, const Dataset& data, const FitOptions& options, const FitResult& result);

}  // namespace zeroloss::app
