#include "tables/spelling.hpp"

#include <fmt/format.h>

#include <algorithm>
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

Index place_of(const std::vector<std::string>& names, std::string_view name, bool joined) {
  auto found = std::ranges::find(names, name);
  if (found == names.end() && joined)
    found =
        std::ranges::find(names, spelling_key(name), [](const std::string& n) { return spelling_key(n); });
  return found == names.end() ? -1 : found - names.begin();
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
