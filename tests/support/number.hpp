#pragma once
#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>

namespace zeroloss::test {

/// The number that `text` begins with, whatever the locale that the test runs in.
inline double number(std::string_view text) {
  double value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc::invalid_argument)
    throw std::invalid_argument("no number: " + std::string(text));
  return value;
}

}  // namespace zeroloss::test
