#pragma once
#include <optional>
#include <string_view>

/// Dates and times as people write them.
namespace zeroloss::internal {

/// Days since 1970-01-01: 2020-01-31, 2020/01/31 13:59:59, 31.01.2020, 31 Jan 2020, January 31, 2020; of a
/// month (2020-01, Jan 2020), a week (2020-W05) or a quarter (2020Q1) its first day. A time may follow, with
/// an offset from UTC. Nothing for anything else.
std::optional<double> days_of(std::string_view cell);

/// Whether it is a day of the calendar in digits, perhaps with a time: 2020-01-31, 31.01.2020.
bool is_day(std::string_view cell);

/// The same of 1/31/2020 or 31/1/2020, with slashes or hyphens.
std::optional<double> days_of_short(std::string_view cell, bool month_first);

/// Hours: 9:13 AM, 21:13:05.2, 36:15:00, 2 days 01:30:00, P1DT2H30M. Nothing for anything else.
std::optional<double> hours_of(std::string_view cell);

}  // namespace zeroloss::internal
