#pragma once
#include <string>
#include <vector>

#include "zeroloss/base/run.hpp"
#include "zeroloss/present/next.hpp"
#include "zeroloss/width/width.hpp"

/// The answer of width as text, as JSON and as a run folder.
namespace zeroloss {

/// The command line that trains the network of a row, which ends certified; no words for a row that has none.
std::vector<std::string> fit_of(const Dataset& data, const ReadOptions& read, const WidthOptions& options,
                                const WidthResult& result, const std::string& row);

/// For people: the conclusion first, then the rows and the widths that were tried. Printed bounds are rounded
/// to the safe side.
std::string width_text(const Dataset& data, const WidthOptions& options, const WidthResult& result);

/// The lines of fit_of, for every row that has one; "" if none has.
std::string fits_text(const Dataset& data, const ReadOptions& read, const WidthOptions& options,
                      const WidthResult& result);

/// For programs: one JSON object; every key is always there. A number that is infinite is null.
std::string width_json(const Dataset& data, const WidthOptions& options, const WidthResult& result,
                       const Next& next = {});

/// result.json, metrics.csv (the networks of pairs by width), figures and manifest.json, where `command` is
/// what was asked; finishes the folder.
void write_width(RunFolder& folder, const Dataset& data, const ReadOptions& read, const WidthOptions& options,
                 const WidthResult& result, const std::vector<std::string>& command, const Next& next = {});

/// What to do after this answer.
Next after_width(const Dataset& data, const ReadOptions& read, const WidthOptions& options,
                 const WidthResult& result);

}  // namespace zeroloss
