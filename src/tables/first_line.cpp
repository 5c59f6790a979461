#include "tables/first_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "tables/cells.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

/// What may be a name. Truth values may: f, n, t and y are also letters.
bool is_word(std::string_view cell) { return !is_missing(cell) && !is_quantity(cell); }

/// A whole number below 10^9 without signs; -1 for anything else.
Index count_in(std::string_view cell) {
  if (cell.empty() || cell.size() > 9) return -1;
  Index value = 0;
  for (const char c : cell) {
    if (c < '0' || c > '9') return -1;
    value = 10 * value + (c - '0');
  }
  return value;
}

}  // namespace

bool counts_columns(const Words& first, const Words& second) {
  const std::size_t unnamed = first[0].empty() ? 1 : 0;
  if (first.size() < 3 || first.size() != second.size() || second[0].empty()) return false;
  for (std::size_t j = unnamed; j < first.size(); ++j)
    if (first[j] != fmt::format("{}", j - unnamed)) return false;
  return first != second;
}

bool names_columns(const Words& first, const Words& second) {
  const bool has_numbers = std::ranges::any_of(
      first, [](std::string_view cell) { return !is_missing(cell) && is_quantity(cell); });
  for (std::size_t j = 0; j < first.size(); ++j)
    if (is_word(first[j]) &&
        (j >= second.size() || (is_missing(second[j]) ? !has_numbers : !is_word(second[j]))))
      return true;
  // R leaves the column of its row names, which count from 1, without a name.
  return !second.empty() && first[0].empty() && second[0] == "1" && first.size() > 1 &&
         std::all_of(first.begin() + 1, first.end(), is_word);
}

Words without_quotes(Words names) {
  const auto quoted = [](std::string_view name) {
    return name.size() > 2 && name.starts_with('\'') && name.ends_with('\'');
  };
  if (std::ranges::all_of(names, quoted))
    for (std::string& name : names) name = name.substr(1, name.size() - 2);
  return names;
}

bool names_texts(const Words& first, const DataTable& table) {
  const std::set<std::string> different(first.begin(), first.end());
  Index year = 0;  // those of a header grow
  const auto is_year = [&](const std::string& cell) {
    const Index number = cell.size() == 4 ? count_in(cell) : -1;
    if (number < 1000 || number <= year) return false;
    year = number;
    return true;
  };
  if (different.size() != first.size() ||
      !std::ranges::all_of(first, [&](const std::string& cell) { return is_word(cell) || is_year(cell); }))
    return false;
  bool others_recur = false;
  for (const Column& column : table.columns) {
    if (!is_word(column.cells[0])) continue;
    std::map<std::string_view, Index> times;
    for (Index i = 0; i < column.cells.size(); ++i) ++times[column.cells[i]];
    if (times[column.cells[0]] > 1) return false;
    others_recur |= times.size() > 1 &&
                    std::ranges::count_if(times, [](const auto& cell) { return cell.second == 1; }) == 1;
  }
  return others_recur;
}

void take_names(DataTable& table) {
  for (Column& column : table.columns) {
    column.name = column.cells[0];
    column.cells.drop_first();
  }
  table.lines.erase(table.lines.begin());
  table.header = true;
}

std::optional<Counts> counts_in(const Words& first, const Words& second) {
  if (first.size() < 2) return {};
  Counts counts{count_in(first[0]), count_in(first[1]), {first.begin() + 2, first.end()}};
  if (counts.n < 1 || counts.d < 1 || std::ssize(second) != counts.d + 1) return {};
  const bool classes = counts.classes.size() >= 2 && std::ranges::all_of(counts.classes, is_word);
  if (!classes && (!counts.classes.empty() || first.size() == second.size())) return {};
  return counts;
}

void use_counts(const Counts& counts, DataTable& table) {
  table.remarks.push_back(fmt::format("first line: {} records of {} features{}", counts.n, counts.d,
                                      counts.classes.empty() ? "" : ", classes " + excerpt(counts.classes)));
  Column& last = table.columns.back();
  Cells named;
  for (Index i = 0; i < last.cells.size(); ++i) {
    const Index k = count_in(last.cells[i]);
    if (k < 0 || k >= std::ssize(counts.classes)) return;
    named.add(counts.classes[static_cast<std::size_t>(k)]);
  }
  last.cells = std::move(named);
  last.name = "class";
}

}  // namespace zeroloss::internal
