#include "zeroloss/sources/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <unordered_map>

#include "tables/cells.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr Index kShown = 3;  // of the frequent cells

void count_cells(const Column& column, ColumnFacts& facts) {
  std::unordered_map<std::string_view, Index> times;
  for (Index i = 0; i < column.cells.size(); ++i)
    if (!is_missing(column.cells[i])) ++times[column.cells[i]];
  facts.distinct = std::ssize(times);
  std::vector<std::pair<std::string_view, Index>> sorted(times.begin(), times.end());
  const auto shown = sorted.begin() + std::min<Index>(std::ssize(sorted), kShown);
  std::partial_sort(sorted.begin(), shown, sorted.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  facts.frequent.assign(sorted.begin(), shown);
}

void measure_numbers(const Column& column, ColumnFacts& facts) {
  std::vector<double> there;
  for (Index i = 0; i < column.cells.size(); ++i) {
    const double x = column.numbers[static_cast<std::size_t>(i)];
    if (std::isnan(x)) continue;
    const bool first = there.empty();
    there.push_back(x);
    if (first || x < facts.least) {
      facts.least = x;
      facts.least_cell = column.cells[i];
    }
    if (first || x > facts.greatest) {
      facts.greatest = x;
      facts.greatest_cell = column.cells[i];
    }
  }
  std::ranges::sort(there);
  facts.distinct = std::ranges::unique(there).begin() - there.begin();
}

ColumnFacts facts_of(const Column& column) {
  ColumnFacts facts{.place = column.place, .name = column.name, .is = column.is, .missing = column.missing};
  if (!column.numbers.empty()) measure_numbers(column, facts);
  if (column.is == CellKind::text || column.is == CellKind::truth) count_cells(column, facts);
  return facts;
}

/// Whether it looks like classes: a few values that occur more than once each, on average.
bool looks_like_classes(const Column& column, const ColumnFacts& facts) {
  const auto there = static_cast<double>(column.cells.size() - facts.missing);
  const bool whole = column.is == CellKind::text || column.is == CellKind::truth ||
                     (column.is == CellKind::number && std::ranges::all_of(column.numbers, [](double x) {
                        return std::isnan(x) || x == std::floor(x);
                      }));
  const auto distinct = static_cast<double>(facts.distinct);
  return whole && facts.distinct >= 2 && distinct <= std::max(20.0, std::sqrt(there)) &&
         2 * distinct <= there;
}

/// How the last column is named on a command line: by its name where that says it.
std::string word_for(const DataTable& table) {
  const std::string& name = table.columns.back().name;
  const bool clear = table.header && !name.empty() && name != "none" && !name.starts_with('-') &&
                     std::ranges::count(table.columns, name, &Column::name) == 1;
  return clear ? name : "-1";
}

}  // namespace

std::string name(ColumnRole role) {
  constexpr std::array names{"feature", "category", "constant", "id", "target", "left out"};
  return names[static_cast<std::size_t>(role)];
}

std::optional<TableFacts> describe_columns(const Source& source, const Dataset& data,
                                           const ReadOptions& options) {
  if (!source.table) return {};
  const DataTable& table = *source.table;
  std::set<Index> dropped;
  for (const std::string& column : options.drop) dropped.insert(column_of(table, column, "drop"));
  const bool listed = !options.features.empty() && options.features != "all";
  const Index id = options.id.empty() ? -1 : column_of(table, options.id, "id");

  TableFacts facts;
  for (Index j = 0; j < std::ssize(table.columns); ++j) {
    const Column& column = table.columns[static_cast<std::size_t>(j)];
    ColumnFacts of = facts_of(column);
    const auto input = std::ranges::find(data.encoding.inputs, column.place, &Input::place);
    if (source.target == j)
      of.role = ColumnRole::target;
    else if (input == data.encoding.inputs.end())
      of.role = id == j                                                    ? ColumnRole::id
                : listed || dropped.contains(j) || of.distinct < table.n() ? ColumnRole::left_out
                                                                           : ColumnRole::id;
    else if (of.distinct <= 1 && of.missing == 0)
      of.role = ColumnRole::constant;
    else
      of.role = input->categories.empty() ? ColumnRole::feature : ColumnRole::category;
    facts.columns.push_back(std::move(of));
  }
  const ColumnFacts& last = facts.columns.back();
  const bool open = !source.target && options.target.empty() && facts.columns.size() > 1;
  const bool used = last.role == ColumnRole::feature || last.role == ColumnRole::category;
  if (open && used && looks_like_classes(table.columns.back(), last)) facts.proposed = word_for(table);
  return facts;
}

}  // namespace zeroloss
