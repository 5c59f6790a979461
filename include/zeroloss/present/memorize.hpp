#pragma once
#include <string>
#include <vector>

#include "zeroloss/base/run.hpp"
#include "zeroloss/memorize/memorizer.hpp"
#include "zeroloss/present/next.hpp"

/// The answer of memorize as text, as JSON and as a run folder.
namespace zeroloss {

/// For people: the conclusion first, then the facts.
std::string memorize_text(const Dataset& data, const MemorizeOptions& options, const MemorizeResult& result);

/// For programs: one JSON object; every key is always there. A number that is infinite is null.
std::string memorize_json(const Dataset& data, const MemorizeOptions& options, const MemorizeResult& result,
                          const Next& next = {});

/// result.json and manifest.json, where `command` is what was asked; where there is a network also
/// model.safetensors, metrics.csv (margin of each block) and the figure margins.vl.json. Finishes the folder.
void write_memorize(RunFolder& folder, const Dataset& data, const ReadOptions& read,
                    const MemorizeOptions& options, const MemorizeResult& result,
                    const std::vector<std::string>& command, const Next& next = {});

/// What to do after this answer; `out` is the run folder that was written, "" for none.
Next after_memorize(const Dataset& data, const ReadOptions& read, const MemorizeOptions& options,
                    const MemorizeResult& result, const std::string& out);

}  // namespace zeroloss
