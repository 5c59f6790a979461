#include "tables/framing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tables/cells.hpp"
#include "tables/dates.hpp"
#include "tables/first_line.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

/// The number in a cell, however it is written; nothing for a word or a missing cell.
std::optional<double> quantity_in(std::string_view cell) {
  if (is_missing_number(cell)) return {};
  for (const CellKind kind : {CellKind::number, CellKind::amount, CellKind::decimal_comma})
    if (const auto value = value_of(cell, kind); value && std::isfinite(*value)) return value;
  return {};
}

/// Whether row `units` has words alone, above numbers in two columns or more, and none above words.
bool are_units(const DataTable& table, Index units) {
  if (table.n() < units + 2) return false;
  Index above_numbers = 0;
  for (const Column& column : table.columns) {
    const std::string_view cell = column.cells[units], below = column.cells[units + 1];
    if (is_missing_number(cell)) continue;
    if (quantity_in(cell) || is_day(cell) || !quantity_in(below)) return false;
    ++above_numbers;
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
                              [](std::string_view n) { return is_missing_number(n) || quantity_in(n); });
}

void leave_out_units(DataTable& table, bool names) {
  if (names && !table.header && table.n() > 2 && are_names(table, 0) && are_units(table, 1))
    take_names(table);
  if (!table.header || !are_units(table, 0)) return;
  std::string unit;
  for (const Column& column : table.columns)
    if (unit.empty()) unit = column.cells[0];
  table.remarks.push_back(
      fmt::format("left out: {}, units ('{}', ..); `skip=0` keeps it", table.place(0), excerpt(unit)));
  for (Column& column : table.columns) column.cells.drop_first();
  table.lines.erase(table.lines.begin());
}

/// Whether a number of row `row` is the sum, the mean or the count of those above it.
bool sums_up(const Column& column, Index row) {
  const auto value = quantity_in(column.cells[row]);
  if (!value) return false;
  double sum = 0, size = 0;
  Index there = 0;
  for (Index i = 0; i < row; ++i)
    if (const auto above = quantity_in(column.cells[i])) {
      sum += *above;
      size += std::abs(*above);
      ++there;
    }
  constexpr double kPrinted = 1e-3;  // sums of rounded numbers are rounded too
  const auto near = [&](double x, double of) { return std::abs(*value - x) <= kPrinted * of; };
  return *value == static_cast<double>(row) ||
         (there > 1 &&
          (near(sum, size) || near(sum / static_cast<double>(there), size / static_cast<double>(there))));
}

/// The word that makes a row a total: its first one, below nothing but numbers, or beside a number that sums
/// up those above it. Empty: it is none.
std::string_view total_in(const DataTable& table, Index row) {
  constexpr std::array<std::string_view, 19> kTotals{
      "total", "totals", "grand total", "sum",       "subtotal",    "average",    "mean",
      "count", "summe",  "gesamt",      "insgesamt", "gesamtsumme", "mittelwert", "totale",
      "somme", "suma",   "totaal",      "\u03A3",    "\u2211"};
  for (const Column& column : table.columns) {
    const std::string_view word = column.cells[row];
    if (word.empty()) continue;
    std::string plain = lowered(word);
    if (plain.ends_with(':')) plain.pop_back();
    if (std::ranges::find(kTotals, plain) == kTotals.end()) return {};
    bool numbers = true;
    for (Index i = 0; i < row && numbers; ++i)
      numbers = is_missing_number(column.cells[i]) || quantity_in(column.cells[i]);
    const bool sums = std::ranges::any_of(
        table.columns, [&](const Column& other) { return &other != &column && sums_up(other, row); });
    return numbers || sums ? word : std::string_view{};
  }
  return {};
}

void leave_out_totals(DataTable& table) {
  constexpr Index kMost = 3;
  Index last = table.n();
  while (last > 1 && table.n() - last < kMost && !total_in(table, last - 1).empty()) --last;
  if (last == table.n()) return;
  table.remarks.push_back(fmt::format("left out: {}, a total ('{}'); `skip_end=0` keeps it",
                                      table.place(last), excerpt(total_in(table, last))));
  const Index rows = table.n() - last;
  for (Column& column : table.columns) column.cells.drop_last(rows);
  table.lines.resize(table.lines.size() - std::min(table.lines.size(), static_cast<std::size_t>(rows)));
}

}  // namespace

void leave_out_framing(DataTable& table, const Framing& framing) {
  if (framing.units) leave_out_units(table, framing.names);
  if (framing.totals) leave_out_totals(table);
}

}  // namespace zeroloss::internal
