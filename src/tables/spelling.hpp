#pragma once
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "zeroloss/tables/table.hpp"

/// NameIndex that differ in case, blanks or a final period alone: "No", " NO" and "no.".
namespace zeroloss::internal {

/// The same text for all such names.
std::string spelling_key(std::string_view name);

/// The place of a name among others: of itself, or if `joined` of the first with the same key, or of the
/// first that is the same number; -1 for none.
class NameIndex {
 public:
  NameIndex(const std::vector<std::string>& names, bool joined);
  Index place(std::string_view name) const;

 private:
  std::unordered_map<std::string, Index> exact_, keys_;
  std::map<double, Index> numbers_;
};

/// What there is to say of `where` whose names are these: those that one name is written in. Empty: none.
std::string several_spellings(const std::string& where, const std::vector<std::string>& names);

/// Writes the names in columns of text as they are written most often, and says so in the remarks.
void join_spellings(DataTable& table);

}  // namespace zeroloss::internal
