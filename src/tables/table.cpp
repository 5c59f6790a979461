#include "zeroloss/tables/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <unordered_set>

#include "tables/cells.hpp"
#include "tables/known_inputs.hpp"
#include "tables/placeholder.hpp"
#include "tables/spelling.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr Index kFewRecords = 10;  // of fewer no column is taken for an identifier by its values

std::size_t to_size(Index i) { return static_cast<std::size_t>(i); }

/// Its columns' names, as a message shows them.
std::vector<std::string> names_of(const DataTable& table) {
  std::vector<std::string> names;
  names.reserve(table.columns.size());
  for (const Column& column : table.columns) names.push_back(excerpt(column.name));
  return names;
}

bool named_like_id(const std::string& name) {
  const std::string plain = lowered(name);
  for (const char* usual :
       {"id", "identifier", "index", "idx", "uid", "uuid", "guid", "key", "rownames", "row", "no", "nr"})
    if (plain == usual) return true;
  return plain.ends_with("_id") || plain.ends_with(" id") || plain.ends_with("-id") ||
         plain.starts_with("id_") || plain.starts_with("unnamed: ") ||
         (name.size() > 2 && name.ends_with("Id")) || (name.size() > 2 && name.ends_with("ID"));
}

Index different(const Column& column) {
  std::unordered_set<std::string_view> seen;
  for (Index i = 0; i < column.cells.size(); ++i) seen.insert(column.cells[i]);
  return std::ssize(seen);
}

bool all_integers(const Column& column) {
  return !column.numbers.empty() && column.missing == 0 &&
         std::ranges::all_of(column.numbers, [](double x) { return x == std::floor(x); });
}

/// 0, 1, 2, .. or 1, 2, 3, ..
bool counts(const Column& column) {
  if (column.numbers.empty() || (column.numbers[0] != 0 && column.numbers[0] != 1)) return false;
  for (std::size_t i = 1; i < column.numbers.size(); ++i)
    if (column.numbers[i] != column.numbers[i - 1] + 1) return false;
  return true;
}

/// Why a column says who a record is, not what it is like; empty if it does not.
std::string identifies(const DataTable& table, const Column& column) {
  const bool unnamed = table.header && column.name.empty();
  if (column.is == CellKind::text) {
    if (!column.fault.empty() || column.missing > 0 || table.n() < kFewRecords) return "";
    const Index seen = different(column);
    return 2 * seen > table.n() ? fmt::format("{} different texts in {} records{}", seen, table.n(),
                                              column.note.empty() ? "" : ": " + column.note)
                                : "";
  }
  if (column.is != CellKind::number || !all_integers(column)) return "";
  if (table.n() > 1 && (unnamed || named_like_id(column.name))) {
    const Index seen = different(column);
    if (seen == table.n()) return "all its integers differ";
    if (!unnamed && 2 * seen > table.n() && table.n() >= kFewRecords)
      return fmt::format("{} different integers in {} records", seen, table.n());
  }
  return column.place == 0 && table.n() >= kFewRecords && counts(column) ? "it counts the records" : "";
}

/// Whether no two records have the same cell: what recurs names none of them.
bool names_each(const DataTable& table, const Column& column) {
  return column.missing == 0 && different(column) == table.n();
}

std::vector<std::string> categories_of(const Column& column, const std::vector<Index>& records) {
  std::set<std::string> found;
  for (const Index i : records)
    if (!is_missing(column.cells[i])) found.insert(std::string(column.cells[i]));
  return {found.begin(), found.end()};
}

/// The lower one of the two in the middle, so that it is one of the numbers.
double median_of(const Column& column, const std::vector<Index>& records) {
  std::vector<double> there;
  for (const Index i : records)
    if (!std::isnan(column.numbers[to_size(i)])) there.push_back(column.numbers[to_size(i)]);
  if (there.empty()) return 0;
  const auto middle = there.begin() + (std::ssize(there) - 1) / 2;
  std::ranges::nth_element(there, middle);
  return *middle;
}

/// The unit of its cells, which is one of those that have any; nothing is nothing in any unit.
std::string unit_in(const Column& column) {
  for (Index i = 0; i < column.cells.size(); ++i)
    if (column.numbers[to_size(i)] == 0)
      continue;
    else if (const std::string_view unit = unit_of(column.cells[i]); !unit.empty())
      return std::string(unit);
  return "";
}

bool is_hole(const Column& column, Index record) {
  return column.missing > 0 && (column.numbers.empty() ? is_missing(column.cells[record])
                                                       : std::isnan(column.numbers[to_size(record)]));
}

Index missing_in(const Column& column, const std::vector<Index>& records) {
  return std::ranges::count_if(records, [&](Index i) { return is_hole(column, i); });
}

void check_missing(const std::string& missing) {
  if (missing != "median" && missing != "drop" && missing != "error")
    throw std::invalid_argument(
        fmt::format("read_dataset: missing must be median, drop or error; got '{}'", missing));
}

[[noreturn]] void refuse_missing(const DataTable& table, Index record, const Column& column) {
  throw DataError(
      fmt::format("{}: missing value '{}'; fill it in, remove the record, or say `missing=median`",
                  table.where(record, column), column.cells[record]));
}

std::string have_holes(Index records) {
  return fmt::format("{} have missing cells (`missing=median` fills them)", records);
}

std::string far_from_others(const Column& column, const Placeholder& odd) {
  return fmt::format(
      "far off: '{0}' in {1} of {2}, all others are from {3} to {4}: `na_values={0}` if it means a "
      "missing cell",
      odd.cell, count(odd.cells, "cell", "cells"), column.called(), odd.least, odd.greatest);
}

DataError none_left(const DataTable& table, const std::string& why) {
  return DataError(fmt::format("{}: no record of {} is left: {}", table.name, table.n(), why));
}

std::string left_out_for_holes(Index records) {
  return fmt::format("left out: {} with missing cells", count(records, "record", "records"));
}

/// Every column's use.
struct Uses {
  std::vector<Index> features;  ///< columns
  std::optional<Index> id;
};

DataError named_and_dropped(const DataTable& table, Index column, const char* option) {
  return DataError(fmt::format("{}: {} is named in `{}` and in `drop`; leave it out of one of them",
                               table.name, table.columns[to_size(column)].called(), option));
}

/// What is both wanted and left out is a mistake in one of the two.
void refuse_dropped(const DataTable& table, std::optional<Index> target, const TableChoice& choice,
                    const std::set<Index>& dropped) {
  if (target && dropped.contains(*target))
    throw DataError(
        fmt::format("{}: {} is the target, and `drop` names it; name another `target`, say `target=none`, or "
                    "leave it out of `drop`",
                    table.name, table.columns[to_size(*target)].called()));
  for (const std::string& name : choice.categories)
    if (const Index column = column_of(table, name, "one_hot"); dropped.contains(column))
      throw named_and_dropped(table, column, "one_hot");
}

/// What was done to the columns: a line each, and all of them in one.
class ColumnRemarks {
 public:
  explicit ColumnRemarks(Choice& to) : to_(to) {}

  /// What concerns more than how a column is read: it is said in any case.
  void say(const std::string& remark) {
    to_.remarks.push_back(remark);
    to_.brief.push_back(remark);
  }
  void left_out(const Column& column, const std::string& remark) {
    add(remark);
    left_out_.push_back(column.name.empty() ? fmt::format("{}", column.place) : excerpt(column.name));
  }
  void read(const Column& column) {
    add(fmt::format("read: {} as {}", column.called(), name(column.is)));
    ++read_[name(column.is)];
  }
  void in_two_ways(const std::string& remark) {
    if (two_ways_++ == 0) first_of_two_ways_ = remark;
    add(remark);
  }
  void categories(Index indicators, const std::string& remark) {
    add(remark);
    ++categories_;
    indicators_ += indicators;
  }
  void filled(Index cells, const std::string& remark) {
    add(remark);
    ++filled_;
    cells_ += cells;
  }

  /// Writes the one line, in place of more than three.
  void finish() {
    constexpr std::size_t kFew = 3;
    if (lines_.size() <= kFew) {
      to_.brief.insert(to_.brief.end(), lines_.begin(), lines_.end());
      return;
    }
    if (two_ways_ > 0)
      to_.brief.push_back(
          first_of_two_ways_ +
          (two_ways_ > 1 ? fmt::format("; so in {}", count(two_ways_ - 1, "more column", "more columns"))
                         : ""));
    std::vector<std::string> parts;
    for (const auto& [kind, columns] : read_) parts.push_back(fmt::format("{} read as {}", columns, kind));
    if (categories_ > 0)
      parts.push_back(
          fmt::format("{} of categories ({})", categories_, count(indicators_, "indicator", "indicators")));
    if (filled_ > 0)
      parts.push_back(fmt::format("{} of {} filled by medians and flagged",
                                  count(cells_, "missing cell", "missing cells"), filled_));
    if (!left_out_.empty())
      parts.push_back(fmt::format("{} left out ({})", left_out_.size(), excerpt(left_out_)));
    if (!parts.empty())
      to_.brief.push_back(fmt::format("columns: {}; `verbose` says it of each", fmt::join(parts, ", ")));
  }

 private:
  void add(const std::string& remark) {
    to_.remarks.push_back(remark);
    lines_.push_back(remark);
  }

  Choice& to_;
  std::vector<std::string> lines_, left_out_;
  std::map<std::string, Index> read_;
  std::string first_of_two_ways_;
  Index categories_ = 0, indicators_ = 0, filled_ = 0, cells_ = 0, two_ways_ = 0;
};

Uses uses_of(const DataTable& table, std::optional<Index> target, const TableChoice& choice,
             ColumnRemarks& remarks) {
  Uses uses;
  if (!choice.id.empty()) uses.id = column_of(table, choice.id, "id");
  const std::optional<Index> named = uses.id;
  std::set<Index> dropped;
  for (const std::string& name : choice.drop) dropped.insert(column_of(table, name, "drop"));
  refuse_dropped(table, target, choice, dropped);
  if (!choice.features.empty() && choice.features != "all") {
    std::string_view rest = choice.features;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      const Index column = column_of(table, std::string(trimmed(rest.substr(0, end))), "features");
      if (column == target)
        throw DataError(fmt::format("{}: {} is the target; it cannot be a feature too", table.name,
                                    table.columns[to_size(column)].called()));
      if (dropped.contains(column)) throw named_and_dropped(table, column, "features");
      uses.features.push_back(column);
      rest.remove_prefix(std::min(rest.size(), end + 1));
    }
    return uses;
  }
  std::map<Index, std::string> left_out;  // and why
  for (Index j = 0; j < std::ssize(table.columns); ++j) {
    const Column& column = table.columns[to_size(j)];
    if (j == target || j == uses.id || dropped.contains(j)) continue;
    const std::string why = choice.features == "all"      ? ""
                            : column.missing == table.n() ? "it has no values"
                                                          : identifies(table, column);
    if (why.empty())
      uses.features.push_back(j);
    else {
      left_out[j] = why;
      if (!uses.id && names_each(table, column)) uses.id = j;
    }
  }
  std::map<Index, std::string> kept;
  if (uses.features.empty())  // all that there is
    for (Index j = 0; j < std::ssize(table.columns); ++j) {
      const Column& column = table.columns[to_size(j)];
      if (j == target || j == named || dropped.contains(j) || column.is == CellKind::text ||
          column.missing == table.n())
        continue;
      uses.features.push_back(j);
      if (const auto found = left_out.find(j); found != left_out.end()) kept.insert(left_out.extract(found));
      uses.id = named;
    }
  for (const auto& [j, why] : left_out) {
    const Column& column = table.columns[to_size(j)];
    remarks.left_out(column, fmt::format("left out: {}, {}; `features=all` keeps it", column.called(), why));
  }
  if (left_out.empty()) return uses;
  for (const auto& [j, why] : kept)
    remarks.say(fmt::format("kept: {}, although {}: no other column is a number",
                            table.columns[to_size(j)].called(), why));
  return uses;
}

}  // namespace

std::optional<Index> internal::id_of(const DataTable& table, std::optional<Index> target,
                                     const Encoding& encoding, const std::string& id) {
  if (!id.empty()) return column_of(table, id, "id");
  for (Index j = 0; j < std::ssize(table.columns); ++j) {
    const Column& column = table.columns[to_size(j)];
    const bool used = std::ranges::any_of(encoding.inputs, [&](const Input& input) {
      return input.name.empty() ? input.place == column.place : input.name == column.name;
    });
    if (j != target && !used && names_each(table, column) && !identifies(table, column).empty()) return j;
  }
  return {};
}

std::string Column::called() const {
  return name.empty() ? fmt::format("column {}", place)
                      : fmt::format("column {} ('{}')", place, excerpt(name));
}

std::string DataTable::place(Index record) const {
  return lines.empty() ? fmt::format("record {}", record) : fmt::format("line {}", lines[to_size(record)]);
}

std::string DataTable::where(Index record, const Column& column) const {
  return fmt::format("{}: {}: {}", name, place(record), column.called());
}

void check_usable(const Column& column) {
  if (!column.fault.empty()) throw DataError(column.fault);
}

Index column_of(const DataTable& table, const std::string& wanted, const std::string& option) {
  const auto count = std::ssize(table.columns);
  const auto called = [&](const Column& column) { return table.header && column.name == wanted; };
  const auto found = std::ranges::find_if(table.columns, called);
  if (found != table.columns.end()) {
    if (std::find_if(found + 1, table.columns.end(), called) != table.columns.end())
      throw DataError(fmt::format("{}: more than one column is called '{}'; give its 0-based number: `{}={}`",
                                  table.name, excerpt(wanted), option, found - table.columns.begin()));
    return found - table.columns.begin();
  }
  const auto number = parsed_integer<Index>(wanted);
  if (number && *number < count && *number >= -count) return *number < 0 ? *number + count : *number;
  throw DataError(
      fmt::format("{}: no {} column '{}'; expected a name or a 0-based number; the file has {} columns{}",
                  table.name, option, excerpt(wanted), count,
                  table.header ? fmt::format(": {}", fmt::join(names_of(table), ", ")) : " and no header"));
}

Index Encoding::d() const { return std::ssize(features()); }

std::vector<std::string> Encoding::features() const {
  std::vector<std::string> names;
  for (const Input& input : inputs) {
    const std::string called = input.name.empty() ? fmt::format("column {}", input.place) : input.name;
    if (input.categories.size() == 2)
      names.push_back(fmt::format("{} = {}", called, input.categories[1]));
    else if (!input.categories.empty())
      for (const std::string& category : input.categories)
        names.push_back(fmt::format("{} = {}", called, category));
    else
      names.push_back(called);
    if (input.flag) names.push_back(called + " is missing");
  }
  return names;
}

Choice choose_columns(const DataTable& table, std::optional<Index> target, const TableChoice& choice) {
  check_missing(choice.missing);
  Choice made;
  ColumnRemarks remarks(made);
  const Uses uses = uses_of(table, target, choice, remarks);
  made.id = uses.id;
  if (uses.features.empty())
    throw DataError(fmt::format("{}: no column is left for features; `features=all` takes all of them{}",
                                table.name,
                                table.columns.size() == 1 ? ", `delimiter` says what separates cells" : ""));
  if (target) {
    const Column& column = table.columns[to_size(*target)];
    made.encoding.target = column.name;
    if (column.is != CellKind::number && column.is != CellKind::truth && column.is != CellKind::text)
      remarks.read(column);
  }
  made.encoding.na_values = choice.na_values;
  made.encoding.joined = choice.joined;
  std::set<Index> forced;
  for (const std::string& name : choice.categories) forced.insert(column_of(table, name, "one_hot"));
  for (const Index j : uses.features)
    if (!forced.contains(j)) check_usable(table.columns[to_size(j)]);

  Index dropped = 0, without_target = 0, empty = 0;
  for (Index i = 0; i < table.n(); ++i) {
    const auto absent = [&](Index j) { return is_hole(table.columns[to_size(j)], i); };
    if (target && absent(*target)) {
      if (choice.missing == "error")
        throw DataError(fmt::format("{}: missing target '{}'; fill it in or remove the record",
                                    table.where(i, table.columns[to_size(*target)]),
                                    table.columns[to_size(*target)].cells[i]));
      ++without_target;
      continue;
    }
    const bool may_be_empty = table.columns.size() > 1 && choice.missing != "error";
    if (may_be_empty &&
        std::ranges::all_of(table.columns, [&](const Column& column) { return is_hole(column, i); })) {
      ++empty;
      continue;
    }
    const auto hole = std::ranges::find_if(uses.features, absent);
    if (hole != uses.features.end() && choice.missing != "median") {
      if (choice.missing == "error") refuse_missing(table, i, table.columns[to_size(*hole)]);
      ++dropped;
      continue;
    }
    made.records.push_back(i);
  }
  if (without_target > 0)
    remarks.say(fmt::format("left out: {} without a target", count(without_target, "record", "records")));
  if (empty > 0)
    remarks.say(fmt::format("left out: {} of nothing but missing cells", count(empty, "record", "records")));
  if (dropped > 0) remarks.say(left_out_for_holes(dropped));
  if (made.records.empty()) {
    std::string why;
    if (without_target > 0)
      why = fmt::format("{} have no target (name another `target`, or say `target=none`)", without_target);
    if (dropped > 0) why += (why.empty() ? "" : ", ") + have_holes(dropped);
    throw none_left(table, why);
  }

  for (const Index j : uses.features) {
    const Column& column = table.columns[to_size(j)];
    Input input{.name = column.name, .place = column.place, .is = column.is};
    const Index missing = missing_in(column, made.records);
    if (column.is == CellKind::text || forced.contains(j)) {
      input.is = CellKind::text;
      input.categories = categories_of(column, made.records);
      if (input.categories.empty()) input.categories = {""};
      input.flag = missing > 0;
    } else {
      if (column.is == CellKind::amount || column.is == CellKind::decimal_comma) input.unit = unit_in(column);
      input.fill = median_of(column, made.records);  // other tables may have missing cells
      input.flag = missing > 0;
    }
    if (input.is == CellKind::text) {
      const Index indicators = std::ssize(input.categories);
      const bool noted = !column.note.empty() && !forced.contains(j);
      const std::string remark =
          fmt::format("categories: {}, {}{}{}", column.called(), count(indicators, "indicator", "indicators"),
                      missing > 0 ? fmt::format(" and a flag of {} missing", missing) : "",
                      noted ? ": " + column.note : "");
      if (noted)
        remarks.say(remark);
      else
        remarks.categories(indicators, remark);
      if (const std::string several = several_spellings(column.called(), input.categories); !several.empty())
        remarks.say(several);
    } else if (missing > 0) {
      remarks.filled(missing, fmt::format("filled: {}, {} by the median {} and a flag", column.called(),
                                          count(missing, "cell", "cells"), input.fill));
    }
    if (input.is != CellKind::text && !column.note.empty())
      remarks.in_two_ways(fmt::format("read: {} as {}: {}", column.called(), name(column.is), column.note));
    else if (input.is != CellKind::text && column.is != CellKind::number)
      remarks.read(column);
    if (input.is != CellKind::text && column.rounded > 0)
      remarks.say(fmt::format(
          "rounded: {} of {} to the nearest double: what differs in later digits alone is the same",
          count(column.rounded, "whole number", "whole numbers"), column.called()));
    if (input.is == CellKind::number || input.is == CellKind::decimal_comma)
      if (const auto odd = placeholder_in(column); odd && odd->cell.find(',') == std::string::npos)
        remarks.say(far_from_others(column, *odd));
    made.encoding.inputs.push_back(std::move(input));
  }
  remarks.finish();
  return made;
}

namespace {

/// Where each input stands in another table.
std::vector<const Column*> find_inputs(const DataTable& table, const Encoding& encoding) {
  std::vector<const Column*> found;
  std::vector<std::string> absent;
  for (const Input& input : encoding.inputs) {
    const Column* at = nullptr;
    if (table.header && !input.name.empty()) {
      for (const Column& column : table.columns)
        if (column.name == input.name && (at == nullptr || column.place == input.place)) at = &column;
    } else if (input.place < std::ssize(table.columns)) {
      at = &table.columns[to_size(input.place)];
    }
    if (at == nullptr)
      absent.push_back(input.name.empty() ? fmt::format("{}", input.place) : excerpt(input.name));
    found.push_back(at);
  }
  if (!absent.empty())
    throw DataError(fmt::format("{}: the model needs {} that {} not there: {}; there are {}", table.name,
                                absent.size() == 1 ? "a column" : "columns",
                                absent.size() == 1 ? "is" : "are", fmt::join(absent, ", "),
                                table.header ? fmt::format("{}", fmt::join(names_of(table), ", "))
                                             : count(std::ssize(table.columns), "column", "columns")));
  return found;
}

/// The number in a cell; NaN where it is missing.
double number_in(const DataTable& table, const Column& column, Index i, const Input& input) {
  const CellKind is = input.is;
  const bool nothing = !column.numbers.empty() && column.numbers[to_size(i)] == 0;
  if (is != CellKind::text && !nothing && !is_missing_number(column.cells[i]))
    if (const std::string_view unit = unit_of(column.cells[i]);
        unit != input.unit && (unit == "%" || input.unit == "%" || (!unit.empty() && !input.unit.empty())))
      throw DataError(fmt::format("{}: found '{}', and the model's data are in {}; write all in one unit",
                                  table.where(i, column), excerpt(column.cells[i]),
                                  input.unit.empty() ? "no unit" : input.unit));
  const bool typed = table.decimal == '.' && column.is == CellKind::number && is != CellKind::text;
  if ((column.is == is || typed) && column.fault.empty()) return column.numbers[to_size(i)];
  const std::string_view cell = column.cells[i];
  if (is_missing_number(cell)) return std::numeric_limits<double>::quiet_NaN();
  const auto value = value_of(cell, is);
  if (!value || !std::isfinite(*value))
    throw DataError(fmt::format("{}: found '{}', expected a {} as in the data of the model",
                                table.where(i, column), cell.substr(0, 80), name(is)));
  // 1.234 is another number where commas stand for points; a date may be read in two ways, as the model does.
  if (column.is != CellKind::text && !is_date(column.is) && *value != column.numbers[to_size(i)])
    throw DataError(
        fmt::format("{}: '{}' is {} as {}, but {} as {}, as in the data of the model; write it as there{}",
                    table.where(i, column), cell.substr(0, 80), column.numbers[to_size(i)], name(column.is),
                    *value, name(is),
                    is == CellKind::decimal_comma ? ", or say `decimal=,`"
                    : is == CellKind::amount      ? ", or say `decimal=.`"
                                                  : ""));
  return *value;
}

/// Of the cell of a record; throws for a cell that is no number of the kind that an input is.
bool is_missing_in(const DataTable& table, const Column& column, Index record, const Input& input) {
  return input.categories.empty() ? std::isnan(number_in(table, column, record, input))
                                  : is_missing(column.cells[record]);
}

/// Whether it is a category that the model's data did not have.
bool is_unknown_in(const Column& column, Index record, const NameIndex& categories) {
  return !is_missing(column.cells[record]) && categories.place(column.cells[record]) < 0;
}

/// The categories of each input.
std::vector<NameIndex> names_of_inputs(const Encoding& encoding) {
  std::vector<NameIndex> names;
  for (const Input& input : encoding.inputs) names.emplace_back(input.categories, encoding.joined);
  return names;
}

}  // namespace

void internal::treat_missing(const DataTable& table, const Encoding& encoding, const std::string& missing,
                             bool unknown_is_missing, Choice& choice) {
  check_missing(missing);
  const std::vector<const Column*> columns = find_inputs(table, encoding);
  const std::vector<NameIndex> categories = names_of_inputs(encoding);
  std::vector<Index> holes(columns.size()), unknown(columns.size());  // of an input
  std::vector<Index> whole;
  for (const Index i : choice.records) {
    bool any = false;
    for (std::size_t k = 0; k < columns.size(); ++k) {
      const Input& input = encoding.inputs[k];
      if (unknown_is_missing && !input.categories.empty() && is_unknown_in(*columns[k], i, categories[k]))
        ++unknown[k];
      else if (!is_missing_in(table, *columns[k], i, input))
        continue;
      if (missing == "error") refuse_missing(table, i, *columns[k]);
      any = true;
      ++holes[k];
    }
    if (!any) whole.push_back(i);
  }
  for (std::size_t k = 0; k < columns.size(); ++k)
    if (unknown[k] > 0)
      choice.remarks.push_back(
          fmt::format("unknown: {}, {} of categories that the model's data did not have, as "
                      "missing cells",
                      columns[k]->called(), count(unknown[k], "cell", "cells")));
  if (missing == "drop") {
    if (whole.empty()) throw none_left(table, have_holes(std::ssize(choice.records)));
    if (whole.size() < choice.records.size())
      choice.remarks.push_back(left_out_for_holes(std::ssize(choice.records) - std::ssize(whole)));
    choice.records = std::move(whole);
    return;
  }
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const Input& input = encoding.inputs[k];
    if (holes[k] == 0) continue;
    const std::string filled =
        input.categories.empty() ? fmt::format("filled by {}", input.fill) : std::string("of no category");
    choice.remarks.push_back(fmt::format("missing: {}, {} {}, {}", columns[k]->called(),
                                         count(holes[k], "cell", "cells"), filled,
                                         input.flag ? "and flagged" : "as the model's data had none"));
  }
}

RowMatrix encode(const DataTable& table, const Encoding& encoding, const std::vector<Index>& records,
                 bool unknown_is_missing) {
  const std::vector<const Column*> columns = find_inputs(table, encoding);
  RowMatrix X = RowMatrix::Zero(std::ssize(records), encoding.d());
  Index at = 0;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const Input& input = encoding.inputs[k];
    const Column& column = *columns[k];
    const NameIndex categories(input.categories, encoding.joined);
    const auto wide =
        input.categories.size() == 2 ? Index{1} : std::max(Index{1}, std::ssize(input.categories));
    for (Index row = 0; row < X.rows(); ++row) {
      const Index i = records[to_size(row)];
      bool missing = false;
      if (input.categories.empty()) {
        const double value = number_in(table, column, i, input);
        missing = std::isnan(value);
        X(row, at) = missing ? input.fill : value;
      } else if (missing = is_missing(column.cells[i]) ||
                           (unknown_is_missing && is_unknown_in(column, i, categories));
                 !missing) {
        const Index category = categories.place(column.cells[i]);
        if (category < 0)
          throw DataError(fmt::format(
              "{}: '{}' is a category that the model's data did not have: {}; `unknown=missing` takes "
              "such as missing cells",
              table.where(i, column), excerpt(column.cells[i]), excerpt(input.categories)));
        if (wide > 1)
          X(row, at + category) = 1;
        else if (input.categories.size() == 2)
          X(row, at) = static_cast<double>(category);
        else
          X(row, at) = 1;
      }
      if (input.flag) X(row, at + wide) = missing ? 1 : 0;
    }
    at += wide + (input.flag ? 1 : 0);
  }
  return X;
}

}  // namespace zeroloss
