#include "tables/spelling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tables/cells.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {

std::string spelling_key(std::string_view name) {
  std::string key;
  for (const std::string_view word : words_of(name)) key += (key.empty() ? "" : " ") + lowered(word);
  while (key.size() > 1 && key.ends_with('.')) key.pop_back();
  return key;
}

NameIndex::NameIndex(const std::vector<std::string>& names, bool joined) {
  for (std::size_t k = 0; k < names.size(); ++k) {
    const auto place = static_cast<Index>(k);
    exact_.emplace(names[k], place);
    if (joined) keys_.emplace(spelling_key(names[k]), place);
    if (const auto number = number_of(names[k]); number && !std::isnan(number->value))
      numbers_.emplace(number->value, place);
  }
}

Index NameIndex::place(std::string_view name) const {
  if (const auto found = exact_.find(std::string(name)); found != exact_.end()) return found->second;
  if (!keys_.empty())
    if (const auto found = keys_.find(spelling_key(name)); found != keys_.end()) return found->second;
  if (const auto number = number_of(name); number && !std::isnan(number->value))  // 3.0 is 3
    if (const auto found = numbers_.find(number->value); found != numbers_.end()) return found->second;
  return -1;
}

std::string several_spellings(const std::string& where, const std::vector<std::string>& names) {
  std::map<std::string, std::vector<std::string>> written;
  for (const std::string& name : names) written[spelling_key(name)].push_back(name);
  std::vector<std::string> several;
  for (const auto& [key, of] : written)
    if (of.size() > 1) several.insert(several.end(), of.begin(), of.end());
  if (several.empty()) return "";
  return fmt::format(
      "spellings: {} in {} differ in case, blanks or a final period alone; `spelling=joined` makes one name "
      "of "
      "such",
      excerpt(several), where);
}

void join_spellings(DataTable& table) {
  for (Column& column : table.columns) {
    if (column.is != CellKind::text) continue;
    std::map<std::string, std::map<std::string, Index>> written;
    for (Index i = 0; i < column.cells.size(); ++i)
      if (!is_missing(column.cells[i]))
        ++written[spelling_key(column.cells[i])][std::string(column.cells[i])];
    std::map<std::string, std::string> usual;
    std::size_t spellings = 0;
    for (const auto& [key, of] : written) {
      usual[key] =
          std::ranges::max_element(of, {}, [](const auto& spelling) { return spelling.second; })->first;
      spellings += of.size();
    }
    if (spellings == usual.size()) continue;
    Cells cells;
    for (Index i = 0; i < column.cells.size(); ++i)
      cells.add(is_missing(column.cells[i]) ? column.cells[i]
                                            : std::string_view(usual[spelling_key(column.cells[i])]));
    column.cells = std::move(cells);
    table.remarks.push_back(fmt::format("joined: {}, {} spellings of {}", column.called(), spellings,
                                        count(static_cast<Index>(usual.size()), "name", "names")));
  }
}

}  // namespace zeroloss::internal
