#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "zeroloss/core/run.hpp"
#include "zeroloss/linear/linear.hpp"

namespace zeroloss::app {

/// The answer for people: the conclusion first, then the factorisations, then the descent.
std::string linear_text(const NamedProblem& named, const LinearOptions& options, const LinearResult& result);

/// The answer for programs: one JSON object; every key is always there, those of the descent are null without
/// training. At the top level they speak of the last depth. A number that is infinite is null. gamma,
/// max_norm, largest_norm, reconstruction_error and correction are proved upper bounds, s_least is a proved
/// lower one.
std::string linear_json(const NamedProblem& named, const LinearOptions& options, const LinearResult& result);

nlohmann::ordered_json linear_options_json(const LinearOptions& options);

/// result.json, metrics.csv, model.safetensors of the last depth, and figures: descent.vl.json for one depth,
/// norm.vl.json and convergence.vl.json for several.
void write_linear(RunFolder& folder, const NamedProblem& named, const LinearOptions& options,
                  const LinearResult& result);

}  // namespace zeroloss::app
