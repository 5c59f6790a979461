#pragma once
#include <optional>
#include <string>

#include "zeroloss/data/columns.hpp"
#include "zeroloss/data/fetch.hpp"
#include "zeroloss/data/summary.hpp"

/// What there is to say of data sets, as text and as JSON.
namespace zeroloss {

/// All that have names, and which of them lie in the folder `cache`.
std::string known_sets_text(const std::string& cache);
std::string known_sets_json(const std::string& cache);

/// Of a table with its columns. `next`: the command, or the call, that follows from it.
std::string summary_text(const Dataset& data, const Summary& summary,
                         const std::optional<TableFacts>& table = {}, const std::string& next = {});
std::string summary_json(const Dataset& data, const Summary& summary,
                         const std::optional<TableFacts>& table = {}, const std::string& next = {});

/// Where a set is now; `downloaded`: it was not there before.
std::string fetched_text(const KnownSet& set, const std::string& cache, bool downloaded);
std::string fetched_json(const KnownSet& set, const std::string& cache, bool downloaded);

}  // namespace zeroloss
