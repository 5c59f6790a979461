#include "tables/framing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tables/cells.hpp"
#include "tables/first_line.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

bool is_quantity(std::string_view cell) {
  return value_of(cell, CellKind::number) || value_of(cell, CellKind::amount) ||
         value_of(cell, CellKind::decimal_comma);
}

/// Whether row `units` has words alone, above numbers in two columns or more.
bool are_units(const DataTable& table, Index units) {
  if (table.n() < units + 2) return false;
  Index above_numbers = 0;
  for (const Column& column : table.columns) {
    const std::string_view cell = column.cells[units], below = column.cells[units + 1];
    if (is_quantity(cell)) return false;
    if (!is_missing_number(cell) && is_quantity(below)) ++above_numbers;
  }
  return above_numbers >= 2;
}

/// Whether a row could be the names of the columns above their units: different words.
bool are_names(const DataTable& table, Index row) {
  std::vector<std::string_view> names;
  for (const Column& column : table.columns) names.push_back(column.cells[row]);
  std::ranges::sort(names);
  return std::ranges::adjacent_find(names) == names.end() &&
         std::ranges::none_of(names,
                              [](std::string_view n) { return is_missing_number(n) || is_quantity(n); });
}

void leave_out_units(DataTable& table) {
  if (!table.header && table.n() > 2 && are_names(table, 0) && are_units(table, 1)) take_names(table);
  if (!table.header || !are_units(table, 0)) return;
  table.remarks.push_back(
      fmt::format("left out: {}, units ('{}', ..)", table.place(0), excerpt(table.columns[0].cells[0])));
  for (Column& column : table.columns) column.cells.drop_first();
  table.lines.erase(table.lines.begin());
}

/// The word that makes a row a total: its first one, above which all cells are numbers, or beside which a
/// cell is empty. Empty: it is none.
std::string_view total_in(const DataTable& table, Index row) {
  constexpr std::array<std::string_view, 11> kTotals{"total",    "totals",    "grand total", "sum",
                                                     "subtotal", "average",   "mean",        "summe",
                                                     "gesamt",   "insgesamt", "count"};
  for (const Column& column : table.columns) {
    std::string_view word = column.cells[row];
    if (word.empty()) continue;
    std::string plain = lowered(word);
    if (plain.ends_with(':')) plain.pop_back();
    if (std::ranges::find(kTotals, plain) == kTotals.end()) return {};
    bool numbers = true, empty = false;
    for (Index i = 0; i < row && numbers; ++i)
      numbers = is_missing_number(column.cells[i]) || is_quantity(column.cells[i]);
    for (const Column& other : table.columns) empty |= other.cells[row].empty();
    for (Index i = 0; i < row && !numbers; ++i)
      if (column.cells[i] == word) return {};
    return numbers || empty ? word : std::string_view{};
  }
  return {};
}

void drop_last(DataTable& table, Index rows) {
  for (Column& column : table.columns) column.cells.drop_last(rows);
  table.lines.resize(table.lines.size() - std::min(table.lines.size(), static_cast<std::size_t>(rows)));
}

void leave_out_totals(DataTable& table) {
  constexpr Index kMost = 3;
  Index last = table.n();
  while (last > 1 && table.n() - last < kMost && !total_in(table, last - 1).empty()) --last;
  if (last == table.n()) return;
  table.remarks.push_back(fmt::format("left out: {}, a total ('{}'); `skip_end=0` keeps it",
                                      table.place(last), excerpt(total_in(table, last))));
  drop_last(table, table.n() - last);
}

}  // namespace

void leave_out_framing(DataTable& table, std::optional<Index> skip_end) {
  leave_out_units(table);
  if (!skip_end) return leave_out_totals(table);
  if (*skip_end >= table.n())
    throw DataError(
        fmt::format("{}: `skip_end={}` leaves no record of {}", table.name, *skip_end, table.n()));
  if (*skip_end > 0) {
    table.remarks.push_back(fmt::format("left out: {} at the end", count(*skip_end, "record", "records")));
    drop_last(table, *skip_end);
  }
}

}  // namespace zeroloss::internal
