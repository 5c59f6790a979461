#pragma once
#include <string>
#include <vector>

#include "zeroloss/base/run.hpp"
#include "zeroloss/deep/prove.hpp"
#include "zeroloss/deep/read.hpp"
#include "zeroloss/present/next.hpp"

/// The answer of prove as text, as JSON and as a run folder.
namespace zeroloss {

/// For people: the conclusion first, then what it stands on. Printed bounds are rounded to the safe side.
std::string prove_text(const std::string& model, const ReadNetwork& network, const Dataset& data,
                       const ProveOptions& options, const ProveResult& result);

/// For programs: one JSON object; every key is always there. A number that is infinite is null.
std::string prove_json(const std::string& model, const ReadNetwork& network, const Dataset& data,
                       const ProveOptions& options, const ProveResult& result, const Next& next = {});

/// result.json, outputs.csv (every output of the last network with what it may be off by), manifest.json,
/// where `command` is what was asked, and of a polished network model.safetensors
/// (the numbers that the proof is about) and, where the network came from ONNX, polished.onnx, the same graph
/// with these numbers as the file's type has them, of which result.written says what they are worth where
/// that is float32; finishes the folder.
void write_prove(RunFolder& folder, const std::string& model, const ReadNetwork& network, const Dataset& data,
                 const ReadOptions& read, const ProveOptions& options, ProveResult& result,
                 const std::vector<std::string>& command, const Next& next, Progress& progress);

/// What to do after this answer to `words`; `out` is the run folder, "" for none.
Next after_prove(const std::vector<std::string>& words, const ProveOptions& options,
                 const ProveResult& result, const std::string& out);

}  // namespace zeroloss
