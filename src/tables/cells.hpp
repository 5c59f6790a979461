#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/ascii.hpp"
#include "zeroloss/tables/table.hpp"

/// One cell of a table: what people write.
namespace zeroloss::internal {

std::string_view trimmed(std::string_view text);

/// "", NA, N/A, NaN, NULL, ?, #N/A.
bool is_missing(std::string_view cell);
/// Of a column of numbers also none, nil, - and the full stop.
bool is_missing_number(std::string_view cell);

/// A whole cell as a number; nothing if it is none. "inf" and "nan" are numbers here, and one out of range is
/// infinite or 0.
struct CellNumber {
  double value = 0;
  bool in_range = true;
};
std::optional<CellNumber> number_of(std::string_view cell);

/// The same of another kind of cell (number to date).
/// "%", "$", "EUR", .. before or behind a number; empty where there is none.
std::string_view unit_of(std::string_view cell);

std::optional<double> value_of(std::string_view cell, CellKind is);

/// Whether it is a number, however it is written, or a day of the calendar in digits; months by name and
/// times are words here.
bool is_quantity(std::string_view cell);

/// Whether there is nothing but digits, one or more.
bool all_digits(std::string_view text);

}  // namespace zeroloss::internal
