#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "zeroloss/tables/table.hpp"

/// Names that differ in case, blanks or a final period alone: "No", " NO" and "no.".
namespace zeroloss::internal {

/// The same text for all such names.
std::string spelling_key(std::string_view name);

/// The place of a name among others: of itself, or if `joined` of the first with the same key; -1 for none.
Index place_of(const std::vector<std::string>& names, std::string_view name, bool joined);

/// What there is to say of `where` whose names are these: those that one name is written in. Empty: none.
std::string several_spellings(const std::string& where, const std::vector<std::string>& names);

/// Writes the names in columns of text as they are written most often, and says so in the remarks.
void join_spellings(DataTable& table);

}  // namespace zeroloss::internal
