#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <unordered_set>

#include "tables/cells.hpp"
#include "tables/dates.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/tables/table.hpp"

/// What the cells of a column are: of the same kind all of them, or nearly all, or text.
namespace zeroloss {
using namespace internal;
namespace {

/// Calls use(i, cell) for the cells that are there; until it returns false.
template <class Use>
bool for_each_cell(const Column& column, Use use) {
  for (Index i = 0; i < column.cells.size(); ++i)
    if (const std::string_view cell = column.cells[i]; !is_missing_number(cell) && !use(i, cell))
      return false;
  return true;
}

bool all_are(const Column& column, CellKind is) {
  return for_each_cell(column, [&](Index, std::string_view cell) { return value_of(cell, is).has_value(); });
}

/// The first record whose cell is one number as `a` and another one as `b`.
std::optional<Index> differs(const Column& column, CellKind a, CellKind b) {
  std::optional<Index> found;
  for_each_cell(column, [&](Index i, std::string_view cell) {
    const auto one = value_of(cell, a), other = value_of(cell, b);
    if (one && other && *one != *other) found = i;
    return !found;
  });
  return found;
}

/// Whether a list may name it so on a command line, and a message print it.
bool can_be_typed(std::string_view name) {
  return !name.empty() && excerpt(name) == name && name.find_first_of(",`'\"") == std::string_view::npos;
}

std::string quoted(std::string_view cell) { return fmt::format("'{}'", excerpt(cell)); }

std::string leave_out(const Column& column) {
  return fmt::format("leave the column out: `drop={}`",
                     can_be_typed(column.name) ? column.name : fmt::format("{}", column.place));
}

/// 1.200 has a decimal point or a thousand, 1/2/2020 has the month first or the day: the two ways in which
/// all cells of a column can be read, or neither.
struct Ways {
  bool first = false, second = false;
};

struct Readings {
  CellKind is = CellKind::text;  ///< number, truth or date; text: none of them
  Ways decimals{};               ///< as an amount, with a decimal comma
  Ways days{};                   ///< with the month first, with the day first
};

/// Whether all cells are two years, 2000-01, 2001-02, .., and no months.
bool are_seasons(const Column& column) {
  return for_each_cell(column, [](Index, std::string_view cell) {
    constexpr int kCentury = 100;
    if (cell.size() != 7 || cell[4] != '-') return false;
    const auto first = number_of(cell.substr(2, 2)), second = number_of(cell.substr(5));
    return first && second && second->value == static_cast<int>(first->value + 1) % kCentury;
  });
}

Readings readings_of(const Column& column) {
  Readings ways;
  if (for_each_cell(column, [](Index, std::string_view) { return false; })) {
    ways.is = CellKind::number;  // nothing but missing cells
    return ways;
  }
  for (const CellKind kind : {CellKind::number, CellKind::truth, CellKind::date, CellKind::time})
    if (ways.is == CellKind::text && all_are(column, kind) &&
        !(kind == CellKind::date && are_seasons(column)))
      ways.is = kind;
  if (ways.is == CellKind::number) ways.decimals.first = true;
  if (ways.is != CellKind::text) return ways;
  ways.days = {all_are(column, CellKind::month_day_year), all_are(column, CellKind::day_month_year)};
  if (!ways.days.first && !ways.days.second)
    ways.decimals = {all_are(column, CellKind::amount), all_are(column, CellKind::decimal_comma)};
  return ways;
}

/// The ways of the columns that can be read in one way alone: a column that could be read in both is read
/// like them.
Ways only(const std::vector<Readings>& columns, Ways Readings::*ways) {
  Ways only;
  for (const Readings& column : columns) {
    only.first |= (column.*ways).first && !(column.*ways).second;
    only.second |= (column.*ways).second && !(column.*ways).first;
  }
  return only;
}

/// What a column is read as, as Column has it.
struct Verdict {
  CellKind is = CellKind::text;
  std::string fault{}, note{};
};

std::string refuse_two_ways(const DataTable& table, const Column& column, Index record, CellKind a,
                            CellKind b) {
  const std::string_view cell = column.cells[record];
  const double one = *value_of(cell, a), other = *value_of(cell, b);
  return fmt::format(
      "{}: {} is {} as {} and {} as {}, and other columns are written in both ways; write all in one "
      "way, or {}",
      table.where(record, column), quoted(cell), one, name(a), other, name(b), leave_out(column));
}

/// 38% beside 0.38, or dollars beside euros: why such a column is no list of numbers; empty where it is one.
std::string refuse_two_units(const DataTable& table, const Column& column, CellKind is) {
  std::optional<Index> first;
  std::string fault;
  for_each_cell(column, [&](Index i, std::string_view cell) {
    if (*value_of(cell, is) == 0) return true;
    if (!first) first = i;
    const std::string_view unit = unit_of(cell), before = unit_of(column.cells[*first]);
    if (unit != before && ((!unit.empty() && !before.empty()) || unit == "%" || before == "%"))
      fault = fmt::format("{}: found {}, and {} in {}; write all in one unit, or {}", table.where(i, column),
                          quoted(cell), quoted(column.cells[*first]), table.place(*first), leave_out(column));
    if (before.empty()) first = i;
    return fault.empty();
  });
  return fault;
}

/// A kind of cells, as a message says it.
std::string several(CellKind is, std::string_view example) {
  if (is == CellKind::number) return "numbers";
  return fmt::format("{} such as {}",
                     is_date(is)            ? "dates"
                     : is == CellKind::time ? "times"
                                            : "numbers",
                     quoted(example));
}

/// `strays` are the records whose cells are not of this kind.
std::string refuse_words(const DataTable& table, const Column& column, const std::vector<Index>& strays,
                         CellKind is, std::string_view example) {
  constexpr std::size_t kShown = 5;
  std::vector<std::string> more;
  for (std::size_t k = 1; k < std::min(strays.size(), kShown); ++k)
    more.push_back(fmt::format("{} in {}", quoted(column.cells[strays[k]]), table.place(strays[k])));
  if (strays.size() > kShown) more.push_back(fmt::format("{} in all", strays.size()));
  const std::string_view first = column.cells[strays[0]];
  const std::string also = more.empty() ? "" : fmt::format(" (also {})", fmt::join(more, ", "));
  const std::string found = fmt::format("{}: found text {} among {}, expected {}{}",
                                        table.where(strays[0], column), quoted(first), several(is, example),
                                        is_date(is)            ? "a date"
                                        : is == CellKind::time ? "a time"
                                                               : "a number",
                                        also);
  constexpr Index kAtEdge = 5;
  std::string edge;
  if (!table.header && strays.back() < kAtEdge && !table.lines.empty())
    edge = fmt::format("; if the table begins below: `skip={}`",
                       table.lines[static_cast<std::size_t>(strays.back())]);
  else if (strays.front() >= table.n() - kAtEdge && table.n() > 2 * kAtEdge)
    edge = fmt::format("; if the table ends above: `skip_end={}`", table.n() - strays.front());
  if (!can_be_typed(first)) return fmt::format("{}; correct it, or {}{}", found, leave_out(column), edge);
  return fmt::format("{}; correct it, say that it means a missing cell: `na_values={}`, or {}{}", found,
                     first, leave_out(column), edge);
}

/// The unit behind a number: "kg" of "27 kg"; empty where there is none, or digits are in it.
std::string_view letters_behind(std::string_view cell) {
  const std::size_t end = cell.find_first_not_of("+-0123456789., ");
  if (end == 0 || end >= cell.size() || !value_of(trimmed(cell.substr(0, end)), CellKind::number)) return {};
  const std::string_view rest = cell.substr(end);
  return rest.find_first_of("0123456789 ") == std::string_view::npos ? rest : std::string_view{};
}

/// A hint on cells that are all written in a way that is not read: how they could be written.
std::string unreadable(const Column& column) {
  std::string_view unit;
  const bool units = for_each_cell(column, [&](Index, std::string_view cell) {
    const std::string_view behind = letters_behind(cell);
    if (unit.empty()) unit = behind;
    return !behind.empty() && behind == unit;
  });
  return units ? fmt::format("numbers with a unit are not read; leave {} out of the cells", quoted(unit))
               : "";
}

/// A column of text; but a word among cells of another kind is a mistake, and so are both in a handful of
/// records: unless the same few cells come again and again, and are categories.
Verdict text_or_mistake(const DataTable& table, const Column& column) {
  constexpr std::size_t kFew = 10;
  const bool commas = !table.comma_separates;
  const std::array kinds{CellKind::number,
                         CellKind::date,
                         CellKind::month_day_year,
                         CellKind::day_month_year,
                         commas ? CellKind::decimal_comma : CellKind::amount,
                         commas ? CellKind::amount : CellKind::decimal_comma};
  std::array<Index, kinds.size()> of{};
  Index words = 0, others = 0;
  constexpr std::size_t kFewWords = 3;
  std::unordered_set<std::string_view> different;
  std::set<std::string_view> different_words;
  for_each_cell(column, [&](Index, std::string_view cell) {
    bool word = true;
    for (std::size_t k = 0; k < kinds.size(); ++k)
      if (kinds[k] == CellKind::date ? is_day(cell) : value_of(cell, kinds[k]).has_value()) {
        ++of[k];
        word = false;
      }
    ++(word ? words : others);
    if (word && different_words.size() <= kFewWords) different_words.insert(cell);
    if (different.size() <= kFew) different.insert(cell);
    return true;
  });
  const bool few_words = table.n() < 10 || 10 * words <= table.n();
  if (!few_words || others == 0 || (others < 9 * words && table.n() >= 10)) {
    if (others > words && different_words.size() <= kFewWords && different.size() > kFew)
      return {
          CellKind::text, "",
          fmt::format("all but {} are numbers or dates (`na_values` takes words that mean a missing cell)",
                      excerpt(std::vector<std::string>(different_words.begin(), different_words.end())))};
    return {CellKind::text, "", unreadable(column)};
  }
  const CellKind is = kinds[static_cast<std::size_t>(std::ranges::max_element(of) - of.begin())];
  std::vector<Index> strays;
  std::string_view example;
  for_each_cell(column, [&](Index i, std::string_view cell) {
    if (!value_of(cell, is))
      strays.push_back(i);
    else if (example.empty())
      example = cell;
    return true;
  });
  if (different.size() > kFew || 5 * std::ssize(different) > table.n())
    return {CellKind::text, refuse_words(table, column, strays, is, example)};
  const std::string_view first = column.cells[strays[0]];
  const std::string advice =
      can_be_typed(first) ? fmt::format(" (`na_values={}` if it means a missing cell)", first) : "";
  return {CellKind::text, "",
          fmt::format("all but {} are {}{}", quoted(first), several(is, example), advice)};
}

/// That a cell could be another number.
std::string in_two_ways(const Column& column, Index record, CellKind other) {
  const std::string_view cell = column.cells[record];
  return fmt::format("{} could be {}, if `decimal={}`", quoted(cell), *value_of(cell, other),
                     other == CellKind::decimal_comma ? ',' : '.');
}

/// The same of a column of numbers such as 1.369 and 851, where no comma separates and nothing else decides.
std::string may_be_thousands(const DataTable& table, const Column& column, bool points) {
  if (table.comma_separates || table.decimal != 0 || points) return "";
  std::optional<Index> record;
  const bool all = for_each_cell(column, [&](Index i, std::string_view cell) {
    const auto other = value_of(cell, CellKind::decimal_comma);
    if (other && *other != *value_of(cell, CellKind::number)) record = i;
    return other.has_value();
  });
  return all && record ? in_two_ways(column, *record, CellKind::decimal_comma) : "";
}

/// `points`: other columns have decimal points beyond doubt.
Verdict verdict_of(const DataTable& table, const Column& column, const Readings& ways, Ways decimals,
                   Ways days, bool points) {
  constexpr auto kPoint = CellKind::amount, kComma = CellKind::decimal_comma;
  if (ways.is == CellKind::number && !(decimals.second && ways.decimals.first))
    return {ways.is, "", may_be_thousands(table, column, points)};
  if (ways.is == CellKind::truth || ways.is == CellKind::date || ways.is == CellKind::time) return {ways.is};
  if (ways.days.first && ways.days.second && days.second) {
    const auto record = differs(column, CellKind::month_day_year, CellKind::day_month_year);
    if (record && days.first)
      return {CellKind::text,
              refuse_two_ways(table, column, *record, CellKind::month_day_year, CellKind::day_month_year)};
    if (record) return {CellKind::day_month_year};
  }
  if (ways.days.first || ways.days.second)
    return {ways.days.first ? CellKind::month_day_year : CellKind::day_month_year};
  if (ways.decimals.first && (ways.decimals.second || ways.is == CellKind::number)) {
    const auto record = differs(column, kPoint, kComma);
    if (record && decimals.first && decimals.second)
      return {CellKind::text, refuse_two_ways(table, column, *record, kPoint, kComma)};
    if (record && decimals.second) return {kComma};
    if (ways.is == CellKind::number) return {ways.is};
    if (record && (decimals.first || column.cells[*record].find(',') == std::string_view::npos))
      return {kPoint};
    const CellKind is = table.comma_separates ? kPoint : kComma;
    return {is, "",
            record && table.decimal == 0 ? in_two_ways(column, *record, is == kPoint ? kComma : kPoint) : ""};
  }
  if (ways.decimals.first) return {kPoint};
  if (ways.decimals.second) return {kComma};
  return text_or_mistake(table, column);
}

/// Whether a whole number is not the double that it becomes.
bool is_rounded(std::string_view cell, double value) {
  constexpr std::size_t kExact = 15;  // digits that every double keeps
  if (cell.starts_with('-') || cell.starts_with('+')) cell.remove_prefix(1);
  cell.remove_prefix(std::min(cell.find_first_not_of('0'), cell.size()));
  return cell.size() > kExact && cell.find_first_not_of("0123456789") == std::string_view::npos &&
         cell != fmt::format("{:.0f}", std::abs(value));
}

std::string refuse_number(const DataTable& table, const Column& column, Index record) {
  const std::string_view cell = column.cells[record];
  const std::string which = fmt::format("{}: {}", table.where(record, column), quoted(cell));
  return lowered(cell).find("inf") != std::string::npos
             ? fmt::format(
                   "{} is not finite; expected a finite number, or `na_values={}` if it means a missing cell",
                   which, cell)
             : fmt::format("{} is outside the range of double precision", which);
}

void read_as(const DataTable& table, Column& column, CellKind is) {
  column.is = is;
  column.missing = column.rounded = 0;
  column.numbers.clear();
  for (Index i = 0; i < column.cells.size(); ++i) {
    const std::string_view cell = column.cells[i];
    const bool absent = is == CellKind::text ? is_missing(cell) : is_missing_number(cell);
    if (absent) ++column.missing;
    if (is == CellKind::text) continue;
    const auto value = absent ? std::nullopt : value_of(cell, is);
    column.numbers.push_back(value.value_or(std::numeric_limits<double>::quiet_NaN()));
    if (!absent && is_rounded(cell, column.numbers.back())) ++column.rounded;
    if (!absent && !std::isfinite(column.numbers.back()) && column.fault.empty())
      column.fault = refuse_number(table, column, i);
  }
  if (!column.fault.empty() && is != CellKind::text) read_as(table, column, CellKind::text);
}

}  // namespace

void read_cells(DataTable& table) {
  std::vector<Readings> ways;
  for (const Column& column : table.columns) ways.push_back(readings_of(column));
  const bool commas = table.decimal != '.' &&
                      (table.decimal == ',' ||
                       std::ranges::any_of(ways, [](const Readings& is) { return is.decimals.second; }));
  for (std::size_t j = 0; commas && j < ways.size(); ++j)
    if (ways[j].is == CellKind::number && ways[j].decimals.first)
      ways[j].decimals.second = all_are(table.columns[j], CellKind::decimal_comma);
  Ways decimals = only(ways, &Readings::decimals);
  const Ways days = only(ways, &Readings::days);
  if (table.decimal != 0) {
    decimals = {table.decimal == '.', table.decimal == ','};
    for (Readings& is : ways)
      if (is.is != CellKind::number) (decimals.first ? is.decimals.second : is.decimals.first) = false;
  }
  bool points = false;
  for (std::size_t j = 0; j < ways.size() && !table.comma_separates && !points; ++j)
    points =
        ways[j].is == CellKind::number && !for_each_cell(table.columns[j], [](Index, std::string_view cell) {
          return cell.find('.') == std::string_view::npos || value_of(cell, CellKind::decimal_comma);
        });
  for (std::size_t j = 0; j < ways.size(); ++j) {
    Column& column = table.columns[j];
    if (column.categories) {
      column.fault.clear(), column.note.clear();
      read_as(table, column, CellKind::text);
      continue;
    }
    Verdict verdict = verdict_of(table, column, ways[j], decimals, days, points);
    if (verdict.is == CellKind::amount || verdict.is == CellKind::decimal_comma)
      if (std::string fault = refuse_two_units(table, column, verdict.is); !fault.empty())
        verdict = {CellKind::text, std::move(fault)};
    column.fault = verdict.fault;
    column.note = verdict.note;
    read_as(table, column, verdict.is);
  }
}

void take_as_missing(DataTable& table, const std::vector<std::string>& words) {
  if (words.empty()) return;
  const auto means_missing = [&](std::string_view cell) {
    return std::ranges::any_of(words, [&](const std::string& word) {
      if (cell == word) return true;
      const auto number = number_of(cell), meant = number_of(word);
      return number && meant && number->in_range && meant->in_range && number->value == meant->value;
    });
  };
  for (Column& column : table.columns) {
    Cells cells;
    for (Index i = 0; i < column.cells.size(); ++i)
      cells.add(means_missing(column.cells[i]) ? std::string_view() : column.cells[i]);
    column.cells = std::move(cells);
  }
}

}  // namespace zeroloss
