#pragma once
#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>

/// Numbers are read here and nowhere else as text of the C locale, whatever the locale of the program that
/// the library is part of: under de_DE, strtod would take "0.5" for 0.
namespace zeroloss {

/// The number that `text` is, all of it: decimal, "inf" or "nan", with blanks and a sign before it or
/// without; nothing if it is none. What a double does not hold is infinite or 0.
std::optional<double> parsed_number(std::string_view text);

/// The whole number that `text` is, all of it, in digits behind a minus or none; nothing if it is no number
/// or T does not hold it.
template <std::integral T>
std::optional<T> parsed_integer(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return value;
}

/// The whole number that `text` begins with; 0 if there is none, or an int does not hold it.
int leading_integer(std::string_view text);

}  // namespace zeroloss
