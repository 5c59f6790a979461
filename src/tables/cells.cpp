#include "tables/cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/ascii.hpp"
#include "tables/dates.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

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
  constexpr std::array<std::string_view, 7> kDashes{"none", "nil", "-", "--", ".", "\u2013", "\u2014"};
  return std::ranges::find(kDashes, plain) != kDashes.end();
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

std::string_view unit_of(std::string_view cell) {
  cell = trimmed(cell);
  if (cell.starts_with('(') && cell.ends_with(')')) cell = cell.substr(1, cell.size() - 2);
  if (cell.starts_with('-')) cell.remove_prefix(1);
  for (const std::string_view sign :
       {"$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "CHF", "SFr.", "Fr.", "INR", "kr", "zł"})
    if (cell.starts_with(sign) || cell.ends_with(sign)) return sign;
  return cell.ends_with('%') ? "%" : "";
}

namespace {

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
    if (!all_digits(group) || (first ? group.size() > 3 : group.size() != 3)) return {};
    text += group;
    whole.remove_prefix(std::min(whole.size(), group.size() + 1));
  }
  return text;
}

/// Blanks that do not break lines, and the typographic apostrophe, as those of a keyboard.
std::string on_a_keyboard(std::string_view cell) {
  constexpr std::array<std::pair<std::string_view, char>, 6> kSame{{{"\u00A0", ' '},
                                                                    {"\u202F", ' '},
                                                                    {"\u2009", ' '},
                                                                    {"\u2019", '\''},
                                                                    {"\u2212", '-'},
                                                                    {"\u2013", '-'}}};
  std::string text;
  while (!cell.empty()) {
    const auto found =
        std::ranges::find_if(kSame, [&](const auto& is) { return cell.starts_with(is.first); });
    text += found == kSame.end() ? cell.front() : found->second;
    cell.remove_prefix(found == kSame.end() ? 1 : found->first.size());
  }
  return text;
}

/// A number with signs of money or per cent and groups of three digits. `point` begins its fraction; `mark`,
/// a blank or an apostrophe stands between the groups.
std::optional<double> written_number(std::string_view written, char point, char mark) {
  if (written.find_first_of("0123456789") == std::string_view::npos) return plain(written);
  const std::string text = on_a_keyboard(written);
  std::string_view cell = trimmed(text);
  const bool enclosed = cell.starts_with('(') && cell.ends_with(')');
  const bool negative = cell.starts_with('-') || enclosed;
  if (negative) cell.remove_prefix(1);
  if (enclosed) cell.remove_suffix(1);
  const std::string_view unit = unit_of(cell);
  if (cell.starts_with(unit)) cell.remove_prefix(unit.size());
  if (cell.ends_with(unit)) cell.remove_suffix(unit.size());
  cell = trimmed(cell);
  if (negative && cell.starts_with('-')) return {};
  bool behind = false;  // a minus behind the number, or in place of cents
  while (cell.ends_with('-') && cell.size() > 1) {
    cell.remove_suffix(1);
    behind = true;
  }
  if (behind && (cell.ends_with(point) || cell.ends_with(mark)) && !is_digit(cell.back())) {
    cell.remove_suffix(1);
    behind = false;
  }
  if (behind && (negative || cell.empty() || !is_digit(cell.back()))) return {};
  std::string_view fraction = cell.substr(std::min(cell.find(point), cell.size()));
  std::string_view grouped = cell.substr(0, cell.size() - fraction.size());
  if (!fraction.empty()) fraction.remove_prefix(1);
  if (fraction.find_first_of(",.") != std::string_view::npos) return {};
  const std::size_t groups = grouped.find_first_of(std::string{mark, ' ', '\''});
  const auto whole =
      groups == std::string_view::npos ? std::string(grouped) : ungrouped(grouped, grouped[groups]);
  if (!whole) return {};
  const bool whole_number = cell.find(point) == std::string_view::npos;
  const char* hundredth = unit == "%" ? "e-2" : "";
  const auto value =
      plain(whole_number ? *whole + hundredth : fmt::format("{}.{}{}", *whole, fraction, hundredth));
  if (!value) return {};
  return negative || behind ? -*value : *value;
}

std::optional<double> truth(std::string_view cell) {
  if (cell.size() > 5) return {};
  const std::string word = lowered(cell);
  if (word == "true" || word == "t" || word == "yes" || word == "y") return 1;
  if (word == "false" || word == "f" || word == "no" || word == "n") return 0;
  return {};
}

}  // namespace

std::optional<double> value_of(std::string_view cell, CellKind is) {
  switch (is) {
    case CellKind::number:
      return plain(cell);
    case CellKind::amount:
      return written_number(cell, '.', ',');
    case CellKind::decimal_comma:
      return written_number(cell, ',', '.');
    case CellKind::truth:
      return truth(cell);
    case CellKind::date:
      return days_of(cell);
    case CellKind::month_day_year:
      return days_of_short(cell, true);
    case CellKind::day_month_year:
      return days_of_short(cell, false);
    case CellKind::time:
      return hours_of(cell);
    case CellKind::text:
      return {};
  }
  __builtin_unreachable();
}

bool is_quantity(std::string_view cell) {
  return value_of(cell, CellKind::number) || value_of(cell, CellKind::amount) ||
         value_of(cell, CellKind::decimal_comma) || is_day(cell);
}

bool all_digits(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_digit); }

}  // namespace internal
}  // namespace zeroloss
