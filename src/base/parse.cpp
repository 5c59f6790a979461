#include "zeroloss/base/parse.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace zeroloss {
namespace {

/// What a number counts as that a double does not hold: infinite or 0, by the place of its first digit that
/// is not 0.
double beyond(std::string_view text) {
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  const std::string_view digits = text.substr(0, e);
  const auto first = static_cast<std::int64_t>(digits.find_first_of("123456789"));
  const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
  std::int64_t exponent = 0;
  if (e < text.size()) {
    text.remove_prefix(e + 1);
    if (text.starts_with('+')) text.remove_prefix(1);
    if (std::from_chars(text.data(), text.data() + text.size(), exponent).ec != std::errc{})
      exponent = std::numeric_limits<std::int64_t>::max() / (text.starts_with('-') ? -2 : 2);
  }
  const double size = point - first + exponent > 0 ? std::numeric_limits<double>::infinity() : 0;
  return digits.starts_with('-') ? -size : size;
}

}  // namespace

std::optional<double> parsed_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size()));
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec == std::errc::invalid_argument || read.ptr != end) return std::nullopt;
  return read.ec == std::errc{} ? value : beyond(text);
}

int leading_integer(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace zeroloss
