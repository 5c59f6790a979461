#pragma once
#include <string>
#include <vector>

#include "zeroloss/base/run.hpp"
#include "zeroloss/present/next.hpp"
#include "zeroloss/train/fit.hpp"

/// The answer of fit as text, as JSON and as a run folder.
namespace zeroloss {

/// For people: the conclusion first, then what is proved, then the measurements.
std::string fit_text(const Dataset& data, const FitOptions& options, const FitResult& result);

/// For programs: one JSON object; every key is always there. A number that is infinite is null, as is an
/// empty text.
std::string fit_json(const Dataset& data, const FitOptions& options, const FitResult& result,
                     const Next& next = {});

/// result.json, metrics.csv, model.safetensors, polished.safetensors (if there is such a network), figures
/// and manifest.json, where `command` is what was asked; finishes the folder. Of an interrupted run
/// result.json and metrics.csv alone, and it is not finished.
void write_fit(RunFolder& folder, const Dataset& data, const ReadOptions& read, const FitOptions& options,
               const FitResult& result, const std::vector<std::string>& command, const Next& next = {});

/// Of a finished run that is to go on: throws std::invalid_argument naming the data or the option by which it
/// differs from what is asked for.
void check_same_run(const FinishedRun& run, const Dataset& data, const FitOptions& options);

/// What to do after this answer; `out` is the run folder that was written, "" for none.
Next after_fit(const Dataset& data, const ReadOptions& read, const FitOptions& options,
               const FitResult& result, const std::string& out);

}  // namespace zeroloss
