#pragma once
#include <optional>
#include <string>

#include "zeroloss/data/summary.hpp"
#include "zeroloss/download/fetch.hpp"
#include "zeroloss/present/next.hpp"
#include "zeroloss/sources/columns.hpp"

/// What there is to say of data sets, as text and as JSON.
namespace zeroloss {

/// All that have names, and which of them lie in the folder `cache`.
std::string known_sets_text(const std::string& cache);
std::string known_sets_json(const std::string& cache);

/// Of a table with its columns.
std::string summary_text(const Dataset& data, const Summary& summary,
                         const std::optional<TableFacts>& table = {});
std::string summary_json(const Dataset& data, const Summary& summary,
                         const std::optional<TableFacts>& table = {}, const Next& next = {});

/// What to do after this answer: certify, with the target that is proposed.
Next after_summary(const Dataset& data, const ReadOptions& read, const std::optional<TableFacts>& table);

/// Where a set is now; `downloaded`: it was not there before.
std::string fetched_text(const KnownSet& set, const std::string& cache, bool downloaded);
std::string fetched_json(const KnownSet& set, const std::string& cache, bool downloaded);

/// That `file` has the points of `data` as `model` takes them, and what its columns are.
std::string encoded_text(const std::string& file, const std::string& model, const Dataset& data);

}  // namespace zeroloss
