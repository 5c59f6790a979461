#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "zeroloss/core/run.hpp"
#include "zeroloss/memorize/memorizer.hpp"

namespace zeroloss::app {

/// The answer for people: the conclusion first, then the facts.
std::string memorize_text(const Dataset& data, const MemorizeOptions& options, const MemorizeResult& result);

/// The answer for programs: one JSON object; every key is always there. A number that is infinite is null.
std::string memorize_json(const Dataset& data, const MemorizeOptions& options, const MemorizeResult& result);

nlohmann::ordered_json memorize_options_json(const MemorizeOptions& options);

/// result.json; where there is a network also model.safetensors, metrics.csv (margin of each block) and the
/// figure margins.vl.json.
void write_memorize(RunFolder& folder, const Dataset& data, const MemorizeOptions& options,
                    const MemorizeResult& result);

}  // namespace zeroloss::app
