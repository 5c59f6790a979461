#include "sources/table_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "tables/cells.hpp"
#include "tables/spelling.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

/// Integers beyond 2^53 are names: as doubles some of them are the same.
bool are_names(const Column& column) {
  return column.is == CellKind::number && std::ranges::any_of(column.numbers, [](double x) {
           return x == std::floor(x) && std::abs(x) >= 0x1p53 && std::abs(x) < 0x1p70;
         });
}

void set_column(Source& source, const Column& column, const std::string& task) {
  check_usable(column);
  source.target_name = column.called();
  source.numbers.clear();
  source.texts.clear();
  const bool numbers = column.is != CellKind::text && column.is != CellKind::truth;
  if (numbers && (task == "regression" || !are_names(column))) {
    source.numbers = column.numbers;
    if (is_date(column.is)) source.task = Task::regression;
    return;
  }
  if (column.is == CellKind::truth && task == "regression") {
    source.numbers = column.numbers;
    return;
  }
  for (Index i = 0; i < column.cells.size(); ++i) {
    const std::string_view cell = column.cells[i];
    source.texts.emplace_back(is_missing(cell) ? std::string_view() : cell);
  }
}

}  // namespace

std::optional<Index> target_of(const DataTable& table, const std::string& target) {
  if (target == "none") return {};
  if (!target.empty()) return column_of(table, target, "target");
  for (const char* usual : {"label", "target", "class", "y"}) {
    const auto matches = [&](const Column& column) { return lowered(column.name) == usual; };
    const auto found = std::ranges::find_if(table.columns, matches);
    if (found == table.columns.end()) continue;
    if (std::find_if(found + 1, table.columns.end(), matches) != table.columns.end())
      throw DataError(fmt::format(
          "{}: more than one column is called '{}'; give the target by its 0-based number: `target={}`",
          table.name, excerpt(found->name), found - table.columns.begin()));
    return found - table.columns.begin();
  }
  return {};
}

void take_target(Source& source, const DataTable& table, std::optional<Index> target,
                 const std::string& task) {
  source.target = target;
  if (target && table.columns.size() == 1)
    throw DataError(table.name + ": found only the target column; expected feature columns too");
  if (target) set_column(source, table.columns[static_cast<std::size_t>(*target)], task);
  source.d = static_cast<Index>(table.columns.size()) - (target ? 1 : 0);
}

Source source_of(DataTable table, const ReadOptions& options) {
  Source source;
  if (options.spelling == "joined") join_spellings(table);
  source.n = table.n();
  take_target(source, table, target_of(table, options.target), options.task);
  source.remarks = table.remarks;
  source.table = std::make_shared<const DataTable>(std::move(table));
  source.standardize = "yes";
  source.bias = 1;
  return source;
}

Source plain_source_of(DataTable table, const ReadOptions& options) {
  Source source = source_of(std::move(table), options);
  Choice choice = choose_columns(*source.table, source.target, {.features = "all", .missing = "error"});
  source.feature_names = choice.encoding.features();
  source.points = [table = source.table, encoding = std::move(choice.encoding)](
                      const std::vector<Index>& records) { return encode(*table, encoding, records); };
  source.table.reset();
  source.target.reset();
  source.standardize = "no";
  source.bias = 0;
  return source;
}

}  // namespace zeroloss::internal
