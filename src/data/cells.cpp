#include "data/cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <unordered_set>

#include "zeroloss/core/error.hpp"
#include "zeroloss/core/text.hpp"

namespace zeroloss {
using namespace internal;
namespace internal {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
}

bool is_missing(std::string_view cell) {
  if (cell.size() > 4) return false;
  const std::string plain = lowered(cell);
  constexpr std::array<std::string_view, 8> kMissing{"", "na", "n/a", "nan", "-nan", "null", "?", "#n/a"};
  return std::ranges::find(kMissing, plain) != kMissing.end() || plain == "<na>";
}

bool is_missing_number(std::string_view cell) {
  if (is_missing(cell)) return true;
  const std::string plain = cell.size() > 4 ? "" : lowered(cell);
  return plain == "none" || plain == "nil" || plain == "-" || plain == "--" || plain == ".";
}

std::optional<CellNumber> number_of(std::string_view cell) {
  if (cell.starts_with('+') && !cell.starts_with("+-")) cell.remove_prefix(1);
  CellNumber result;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), result.value);
  if (cell.empty() || end != cell.data() + cell.size() || error == std::errc::invalid_argument)
    return std::nullopt;
  result.in_range = error == std::errc{};
  return result;
}

namespace {

bool digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// Infinite where a double does not hold it.
std::optional<double> plain(std::string_view cell) {
  const auto found = number_of(cell);
  if (!found) return {};
  return found->in_range ? found->value : std::numeric_limits<double>::infinity();
}

/// "1,234,567" without what separates its groups of three digits; as it is where nothing does, nothing where
/// they are no such groups.
std::optional<std::string> ungrouped(std::string_view whole, char separates) {
  if (whole.find(separates) == std::string_view::npos) return std::string(whole);
  std::string text;
  if (whole.starts_with('-')) {
    text = '-';
    whole.remove_prefix(1);
  }
  if (whole.starts_with('0') || whole.ends_with(separates)) return {};
  for (bool first = true; !whole.empty(); first = false) {
    const std::string_view group = whole.substr(0, whole.find(separates));
    if (!digits(group) || (first ? group.size() > 3 : group.size() != 3)) return {};
    text += group;
    whole.remove_prefix(std::min(whole.size(), group.size() + 1));
  }
  return text;
}

/// Without the signs of money and per cent and the commas between groups of three digits.
std::optional<double> amount(std::string_view cell) {
  const bool negative = cell.starts_with('-') || cell.starts_with('(');
  if (negative) cell.remove_prefix(1);
  if (negative && cell.ends_with(')')) cell.remove_suffix(1);
  for (const std::string_view sign : {"$", "€", "£", "¥", "USD", "EUR", "GBP"}) {
    if (cell.starts_with(sign)) cell.remove_prefix(sign.size());
    if (cell.ends_with(sign)) cell.remove_suffix(sign.size());
  }
  if (cell.ends_with('%')) cell.remove_suffix(1);
  cell = trimmed(cell);
  if (negative && cell.starts_with('-')) return {};
  const std::size_t point = std::min(cell.find('.'), cell.size());
  const auto whole = ungrouped(cell.substr(0, point), ',');
  if (!whole) return {};
  const auto value = plain(fmt::format("{}{}", *whole, cell.substr(point)));
  if (!value) return {};
  return negative ? -*value : *value;
}

/// With a comma for the point, and perhaps points between groups of three digits.
std::optional<double> decimal_comma(std::string_view cell) {
  const auto whole = ungrouped(cell.substr(0, cell.find(',')), '.');
  if (!whole) return {};
  std::string_view rest = cell.substr(std::min(cell.find(','), cell.size()));
  if (rest.empty()) return plain(*whole);
  rest.remove_prefix(1);
  if (rest.find_first_of(",.") != std::string_view::npos) return {};
  return plain(fmt::format("{}.{}", *whole, rest));
}

std::optional<double> truth(std::string_view cell) {
  if (cell.size() > 5) return {};
  const std::string word = lowered(cell);
  if (word == "true" || word == "t" || word == "yes" || word == "y") return 1;
  if (word == "false" || word == "f" || word == "no" || word == "n") return 0;
  return {};
}

/// yyyy-mm-dd, yyyy/mm/dd or dd.mm.yyyy, then perhaps T or a space and hh:mm, :ss, .fff and Z.
std::optional<double> date(std::string_view cell) {
  if (cell.size() >= 10 && cell[2] == '.' && cell[5] == '.')
    return date(
        fmt::format("{}-{}-{}{}", cell.substr(6, 4), cell.substr(3, 2), cell.substr(0, 2), cell.substr(10)));
  if (cell.size() < 10 || (cell[4] != '-' && cell[4] != '/') || cell[7] != cell[4]) return {};
  const auto part = [&](std::size_t from, std::size_t count) {
    const std::string_view text = cell.substr(std::min(from, cell.size()), count);
    return digits(text) && text.size() == count ? static_cast<int>(*plain(text)) : -1;
  };
  const std::chrono::year_month_day day{std::chrono::year(part(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(part(5, 2))),
                                        std::chrono::day(static_cast<unsigned>(part(8, 2)))};
  if (part(0, 4) < 0 || !day.ok()) return {};
  const auto days = static_cast<double>(std::chrono::sys_days(day).time_since_epoch().count());
  if (cell.size() == 10) return days;
  if (cell.size() < 16 || (cell[10] != 'T' && cell[10] != ' ') || cell[13] != ':') return {};
  const int hours = part(11, 2), minutes = part(14, 2);
  if (hours < 0 || hours > 24 || minutes < 0 || minutes > 59) return {};
  double seconds = 0;
  std::string_view rest = cell.substr(16);
  if (rest.ends_with('Z')) rest.remove_suffix(1);
  if (rest.starts_with(':')) {
    const auto found = plain(rest.substr(1));
    if (!found || !(*found >= 0 && *found < 61)) return {};
    seconds = *found;
  } else if (!rest.empty()) {
    return {};
  }
  return days + (hours * 3600 + minutes * 60 + seconds) / 86400;
}

/// 1/31/2020 or 31/1/2020, with slashes or hyphens, then perhaps a time as above.
std::optional<double> short_date(std::string_view cell, bool month_first) {
  const std::size_t first = std::min(cell.find_first_of("/-"), cell.size());
  const std::string_view rest = cell.substr(std::min(first + 1, cell.size()));
  const std::size_t second = first < cell.size() ? std::min(rest.find(cell[first]), rest.size()) : 0;
  const std::string_view a = cell.substr(0, first), b = rest.substr(0, second);
  if (!digits(a) || a.size() > 2 || !digits(b) || b.size() > 2 || rest.size() < second + 5) return {};
  return date(fmt::format("{}-{:0>2}-{:0>2}{}", rest.substr(second + 1, 4), month_first ? a : b,
                          month_first ? b : a, rest.substr(second + 5)));
}

/// Whether all cells that are there are of this kind, and at least one is.
bool all_are(const Column& column, CellKind is) {
  bool any = false;
  for (Index i = 0; i < column.cells.size(); ++i) {
    const std::string_view cell = column.cells[i];
    if (is_missing_number(cell)) continue;
    if (!value_of(cell, is)) return false;
    any = true;
  }
  return any || is == CellKind::number;  // nothing but missing cells: numbers
}

/// Whether a list of columns may name it so, and a message print it.
bool can_be_typed(const std::string& name) {
  return !name.empty() && excerpt(name) == name && name.find(',') == std::string::npos;
}

std::string quoted_cell(std::string_view cell) { return fmt::format("'{}'", excerpt(cell)); }

/// A word among numbers is a mistake, and so are both in a handful of records: but where the same few cells
/// come again and again, they are categories.
void check_words(const DataTable& table, const Column& column) {
  constexpr std::size_t kFew = 10;
  Index numbers = 0, words = 0, first = 0;
  std::unordered_set<std::string_view> different;
  for (Index i = 0; i < column.cells.size(); ++i) {
    const std::string_view cell = column.cells[i];
    if (is_missing_number(cell)) continue;
    different.insert(cell);
    if (number_of(cell)) {
      ++numbers;
    } else if (words++ == 0) {
      first = i;
    }
  }
  if (different.size() <= kFew && 5 * std::ssize(different) <= table.n()) return;
  if (words > 0 && numbers > 0 && (numbers >= 9 * words || table.n() < 10))
    throw DataError(fmt::format(
        "{}: found text {} among numbers, expected a number; correct it, or leave the column out: `drop={}`",
        table.where(first, column), quoted_cell(column.cells[first]),
        can_be_typed(column.name) ? column.name : fmt::format("{}", column.place)));
}

/// Whether a whole number is not the double that it becomes.
bool is_rounded(std::string_view cell, double value) {
  constexpr std::size_t kExact = 15;  // digits that every double keeps
  if (cell.starts_with('-') || cell.starts_with('+')) cell.remove_prefix(1);
  cell.remove_prefix(std::min(cell.find_first_not_of('0'), cell.size()));
  return cell.size() > kExact && digits(cell) && cell != fmt::format("{:.0f}", std::abs(value));
}

void read_column(const DataTable& table, Column& column, CellKind is) {
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
    if (absent || std::isfinite(column.numbers.back())) continue;
    const bool named = lowered(cell).find("inf") != std::string::npos;
    throw DataError(fmt::format(
        "{}: {} is {}", table.where(i, column), quoted_cell(cell),
        named ? "not finite; expected a finite number" : "outside the range of double precision"));
  }
}

}  // namespace

std::optional<double> value_of(std::string_view cell, CellKind is) {
  switch (is) {
    case CellKind::number:
      return plain(cell);
    case CellKind::amount:
      return amount(cell);
    case CellKind::decimal_comma:
      return decimal_comma(cell);
    case CellKind::truth:
      return truth(cell);
    case CellKind::date:
      return date(cell);
    case CellKind::month_day_year:
      return short_date(cell, true);
    case CellKind::day_month_year:
      return short_date(cell, false);
    case CellKind::text:
      return {};
  }
  __builtin_unreachable();
}

}  // namespace internal

void read_cells(DataTable& table, bool comma_separates) {
  const CellKind with_commas[] = {comma_separates ? CellKind::amount : CellKind::decimal_comma,
                                  comma_separates ? CellKind::decimal_comma : CellKind::amount};
  for (Column& column : table.columns) {
    CellKind is = CellKind::text;
    for (const CellKind kind : {CellKind::number, CellKind::truth, CellKind::date, CellKind::month_day_year,
                                CellKind::day_month_year, with_commas[0], with_commas[1]})
      if (is == CellKind::text && all_are(column, kind)) is = kind;
    if (is == CellKind::text) check_words(table, column);
    read_column(table, column, is);
  }
}

}  // namespace zeroloss
