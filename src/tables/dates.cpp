#include "tables/dates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "base/ascii.hpp"
#include "tables/cells.hpp"

namespace zeroloss::internal {
namespace {

/// A number of digits alone, perhaps with a fraction.
std::optional<double> unsigned_number(std::string_view text) {
  const auto found = number_of(text);
  if (!found || !found->in_range || !is_digit(text.front())) return {};
  return found->value;
}

int whole(std::string_view text) {
  return all_digits(text) && text.size() < 9 ? static_cast<int>(*unsigned_number(text)) : -1;
}

std::optional<double> days(int year, int month, int day) {
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (year < 0 || month < 0 || day < 0 || !date.ok()) return {};
  return static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
}

/// The seconds by which a time is ahead of UTC, as its end says, Z, +hh:mm, -hhmm or +hh, which is taken off.
std::optional<double> offset(std::string_view& time) {
  if (time.ends_with('Z')) {
    time.remove_suffix(1);
    return 0;
  }
  const std::size_t sign = time.find_first_of("+-");
  if (sign == std::string_view::npos) return 0;
  std::string ahead(time.substr(sign + 1));
  if (ahead.size() == 5 && ahead[2] == ':') ahead.erase(2, 1);
  if (!all_digits(ahead) || (ahead.size() != 2 && ahead.size() != 4)) return {};
  const double hours = *unsigned_number(ahead.substr(0, 2)),
               minutes = ahead.size() == 4 ? *unsigned_number(ahead.substr(2)) : 0;
  if (hours > 15 || minutes > 59) return {};
  const bool behind = time[sign] == '-';
  time = time.substr(0, sign);
  return (behind ? -60 : 60) * (60 * hours + minutes);
}

/// yyyy-mm-dd, yyyy/mm/dd or dd.mm.yyyy, then perhaps T or a space and h:mm, :ss, .fff, AM or PM, and Z or
/// an offset.
std::optional<double> day_and_time(std::string_view cell) {
  if (cell.size() < 10 || (cell[4] != '-' && cell[4] != '/') || cell[7] != cell[4]) return {};
  const auto part = [&](std::size_t from, std::size_t count) {
    const std::string_view text = cell.substr(std::min(from, cell.size()), count);
    return all_digits(text) && text.size() == count ? static_cast<int>(*unsigned_number(text)) : -1;
  };
  const std::chrono::year_month_day day{std::chrono::year(part(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(part(5, 2))),
                                        std::chrono::day(static_cast<unsigned>(part(8, 2)))};
  if (part(0, 4) < 0 || !day.ok()) return {};
  const auto days = static_cast<double>(std::chrono::sys_days(day).time_since_epoch().count());
  if (cell.size() == 10) return days;
  if (cell.size() > 12 && cell[12] == ':')
    return day_and_time(fmt::format("{}0{}", cell.substr(0, 11), cell.substr(11)));
  if (cell.size() < 16 || (cell[10] != 'T' && cell[10] != ' ') || cell[13] != ':') return {};
  int hours = part(11, 2);
  const int minutes = part(14, 2);
  if (hours < 0 || hours > 24 || minutes < 0 || minutes > 59 || (hours == 24 && minutes > 0)) return {};
  double seconds = 0;
  std::string_view rest = cell.substr(16);
  if (const std::string half = lowered(rest.substr(rest.size() - std::min<std::size_t>(rest.size(), 2)));
      half == "am" || half == "pm") {
    if (hours < 1 || hours > 12) return {};
    hours = hours % 12 + (half == "pm" ? 12 : 0);
    rest = trimmed(rest.substr(0, rest.size() - 2));
  }
  const auto ahead = offset(rest);
  if (!ahead) return {};
  if (rest.starts_with(':')) {
    const auto found = unsigned_number(rest.substr(1));
    if (!found || !(*found >= 0 && *found < 61)) return {};
    seconds = *found;
  } else if (!rest.empty()) {
    return {};
  }
  return days + (hours * 3600 + minutes * 60 + seconds - *ahead) / 86400;
}

/// The number of a month by its English name or the first three letters or more of it; 0 for another word.
int month_called(std::string_view word) {
  constexpr std::array<std::string_view, 12> kMonths{"january",   "february", "march",    "april",
                                                     "may",       "june",     "july",     "august",
                                                     "september", "october",  "november", "december"};
  if (word.ends_with('.')) word.remove_suffix(1);
  const std::string plain_word = lowered(word);
  if (plain_word.size() < 3) return 0;
  const auto found =
      std::ranges::find_if(kMonths, [&](std::string_view month) { return month.starts_with(plain_word); });
  return found == kMonths.end() ? 0 : static_cast<int>(found - kMonths.begin()) + 1;
}

bool is_weekday(std::string_view word) {
  const std::string plain_word = lowered(word);
  return word.size() >= 3 &&
         std::ranges::any_of(std::array<std::string_view, 7>{"monday", "tuesday", "wednesday", "thursday",
                                                             "friday", "saturday", "sunday"},
                             [&](std::string_view day) { return day.starts_with(plain_word); });
}

/// Of four digits, or of two as POSIX reads them: 69 to 99 are of the last century.
int year_in(std::string_view word) {
  const int year = whole(word);
  if (word.size() == 4) return year;
  return word.size() != 2 || year < 0 ? -1 : year + (year < 69 ? 2000 : 1900);
}

/// 8 Feb 2020, 08-Feb-20, February 8th, 2020, Feb 2020; a weekday before it, a time behind it.
std::optional<double> with_name_of_month(std::string_view cell) {
  if (cell.size() > 40 || std::ranges::none_of(cell, is_letter)) return {};
  const std::size_t colon = cell.find(':');
  const std::size_t end = colon == std::string_view::npos ? cell.size() : cell.rfind(' ', colon);
  if (end == std::string_view::npos) return {};
  std::string text(cell.substr(0, end));
  std::ranges::replace_if(
      text, [](char c) { return c == ',' || c == '-' || c == '/'; }, ' ');
  std::vector<std::string_view> words = words_of(text);
  if (words.size() > 1 && is_weekday(words[0]) && month_called(words[0]) == 0) words.erase(words.begin());
  if (words.size() < 2 || words.size() > 3) return {};
  const bool no_day = words.size() == 2;
  const bool month_first = month_called(words[0]) > 0;
  const int month = month_called(words[month_first ? 0 : 1]);
  if (month == 0 || (no_day && !month_first)) return {};
  std::string_view day = no_day ? "1" : words[month_first ? 1 : 0];
  for (const std::string_view ending : {".", "st", "nd", "rd", "th"})
    if (day.ends_with(ending)) day.remove_suffix(ending.size());
  const int year = no_day && words[1].size() != 4 ? -1 : year_in(words.back());
  if (day.size() > 2 || !days(year, month, whole(day))) return {};
  return day_and_time(fmt::format("{:04}-{:02}-{:02}{}", year, month, whole(day), cell.substr(end)));
}

/// 31.01.2020, 1.2.2020 and 31.01.20, then perhaps a time.
std::optional<double> with_points(std::string_view cell) {
  const std::size_t first = cell.find('.'), second = cell.find('.', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos || first > 2 || second - first > 3)
    return {};
  const std::size_t end = std::min(cell.find_first_not_of("0123456789", second + 1), cell.size());
  const int day = whole(cell.substr(0, first)), month = whole(cell.substr(first + 1, second - first - 1)),
            year = year_in(cell.substr(second + 1, end - second - 1));
  if (!days(year, month, day)) return {};
  return day_and_time(fmt::format("{:04}-{:02}-{:02}{}", year, month, day, cell.substr(end)));
}

/// The first day of a month, week or quarter: 2020-01, 2020-W05, 2020W05, 2020-Q1, 2020Q1; or a day of a
/// week, 2020-W05-3.
std::optional<double> first_day(std::string_view cell) {
  if (cell.size() == 7 && cell[0] == 'Q' && cell[2] == ' ')
    return first_day(fmt::format("{}{}", cell.substr(3), cell.substr(0, 2)));
  if (cell.size() == 10 && cell[4] == '-' && cell[5] == 'W' && cell[8] == '-') {
    const int weekday = whole(cell.substr(9));
    const auto monday = first_day(cell.substr(0, 8));
    return monday && weekday >= 1 && weekday <= 7 ? std::optional(*monday + weekday - 1) : std::nullopt;
  }
  if (cell.size() < 6 || cell.size() > 8 || !all_digits(cell.substr(0, 4))) return {};
  constexpr int kFirst = 1800, kLast = 2200;  // other numbers of four digits are none of a calendar
  const int year = whole(cell.substr(0, 4));
  if (year < kFirst || year > kLast) return {};
  std::string_view rest = cell.substr(4);
  const bool hyphen = rest.starts_with('-');
  if (hyphen) rest.remove_prefix(1);
  if (rest.starts_with('W') && rest.size() == 3) {
    const int week = whole(rest.substr(1));
    const auto fourth = days(year, 1, 4);  // is in the first week
    const auto next = days(year + 1, 1, 4);
    if (!fourth || !next || week < 1) return {};
    const auto monday = [](double day) {
      return day - (static_cast<int>(day) % 7 + 10) % 7;
    };  // day 0: a Thursday
    const double found = monday(*fourth) + 7 * (week - 1);
    return found < monday(*next) ? std::optional(found) : std::nullopt;
  }
  if (rest.starts_with('Q') && rest.size() == 2) {
    const int quarter = whole(rest.substr(1));
    return quarter < 1 || quarter > 4 ? std::nullopt : days(year, 3 * quarter - 2, 1);
  }
  return hyphen && rest.size() == 2 ? days(year, whole(rest), 1) : std::nullopt;
}

/// h:mm or h:mm:ss.fff
std::optional<double> clock(std::string_view cell, int most_hours) {
  const std::size_t colon = cell.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon > 4) return {};
  const int hours = whole(cell.substr(0, colon)), minutes = whole(cell.substr(colon + 1, 2));
  std::string_view rest = cell.substr(std::min(colon + 3, cell.size()));
  double seconds = 0;
  if (!rest.empty()) {
    const auto found = rest.size() > 2 && rest[0] == ':' && is_digit(rest[1]) && is_digit(rest[2]) &&
                               rest.find_first_not_of("0123456789.", 1) == std::string_view::npos
                           ? unsigned_number(rest.substr(1))
                           : std::nullopt;
    if (!found || !(*found < 61)) return {};
    seconds = *found;
  }
  const int most =
      rest.empty() ? std::min(most_hours, 24) : most_hours;  // 28:25 is a score, 28:25:00 a duration
  if (hours < 0 || hours > most || minutes < 0 || minutes > 59 || cell.substr(colon + 1, 2).size() < 2)
    return {};
  return hours + (60 * minutes + seconds) / 3600;
}

/// P1DT2H30M5.5S, any part of it.
std::optional<double> iso_duration(std::string_view cell) {
  if (!cell.starts_with('P') || cell.find('T') == std::string_view::npos) return {};
  cell.remove_prefix(1);
  constexpr std::array<std::pair<char, double>, 4> kUnits{
      {{'D', 24}, {'H', 1}, {'M', 1 / 60.0}, {'S', 1 / 3600.0}}};
  double hours = 0;
  bool time = false, any = false;
  for (const auto& [letter, unit] : kUnits) {
    if (!time && cell.starts_with('T')) {
      time = true;
      cell.remove_prefix(1);
    }
    if (letter != 'D' && !time) continue;
    const std::size_t end = cell.find(letter);
    if (end == std::string_view::npos) continue;
    const auto value = end == 0 ? std::nullopt : unsigned_number(cell.substr(0, end));
    if (!value) return {};
    hours += *value * unit;
    any = true;
    cell.remove_prefix(end + 1);
  }
  return any && cell.empty() ? std::optional(hours) : std::nullopt;
}

}  // namespace

bool is_day(std::string_view cell) { return day_and_time(cell) || with_points(cell); }

std::optional<double> days_of(std::string_view cell) {
  if (const auto found = day_and_time(cell)) return found;
  if (const auto found = with_points(cell)) return found;
  if (const auto found = first_day(cell)) return found;
  return with_name_of_month(cell);
}

/// 1/31/2020 or 31/1/2020, with slashes or hyphens, then perhaps a time as above.
std::optional<double> days_of_short(std::string_view cell, bool month_first) {
  const std::size_t first = std::min(cell.find_first_of("/-"), cell.size());
  const std::string_view rest = cell.substr(std::min(first + 1, cell.size()));
  const std::size_t second = first < cell.size() ? std::min(rest.find(cell[first]), rest.size()) : 0;
  const std::string_view a = cell.substr(0, first), b = rest.substr(0, second);
  if (!all_digits(a) || a.size() > 2 || !all_digits(b) || b.size() > 2 || rest.size() < second + 3) return {};
  const std::size_t end = std::min(rest.find_first_not_of("0123456789", second + 1), rest.size());
  const std::string_view year = rest.substr(second + 1, end - second - 1);
  if (year.size() != 4 && (cell[first] != '/' || year.size() != 2)) return {};
  return day_and_time(fmt::format("{:04}-{:0>2}-{:0>2}{}", year_in(year), month_first ? a : b,
                                  month_first ? b : a, rest.substr(end)));
}

std::optional<double> hours_of(std::string_view cell) {
  if (cell.size() > 40 || cell.size() < 3) return {};
  const bool negative = cell.starts_with('-');
  if (negative) cell.remove_prefix(1);
  const double sign = negative ? -1 : 1;
  if (const auto found = iso_duration(cell)) return sign * *found;
  const std::string half = lowered(cell.substr(cell.size() - 2));
  if (half == "am" || half == "pm") {
    const auto found = clock(trimmed(cell.substr(0, cell.size() - 2)), 12);
    if (negative || !found || *found < 1) return {};
    return (*found >= 12 ? *found - 12 : *found) + (half == "pm" ? 12 : 0);
  }
  const auto words = words_of(cell);
  if (words.size() == 3 &&
      (words[1] == "day" || words[1] == "days" || words[1] == "day,")) {  // of a Timedelta: -1 days +22:00:00
    const auto count = unsigned_number(words[0]);
    const auto rest = clock(words[2].starts_with('+') ? words[2].substr(1) : words[2], 23);
    return count && rest ? std::optional(sign * *count * 24 + *rest) : std::nullopt;
  }
  const auto found = clock(cell, 9999);
  return found ? std::optional(sign * *found) : std::nullopt;
}

}  // namespace zeroloss::internal
