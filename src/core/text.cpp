#include "zeroloss/core/text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace zeroloss {
namespace {

bool is_utf8(std::string_view text) {
  try {
    (void)nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

}  // namespace

std::string decimal(double x, int digits, Rounding rounding) {
  const auto nearest = [digits](double value) { return fmt::format("{:.{}g}", value, digits); };
  std::string text = nearest(x);
  if (x == 0 || !std::isfinite(x) || rounding == Rounding::nearest) return text;
  const double sign = rounding == Rounding::up ? 1 : -1;
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(x))) + 1 - digits);
  // Nearest on the wrong side lies within half a unit of x, so the next one over is the one wanted.
  for (int half = 1; sign * (std::strtod(text.c_str(), nullptr) - x) < 0 && half <= 3; ++half)
    text = nearest(x + sign * half * 0.5 * unit);
  return text;
}

std::string with_commas(long long value) {
  std::string digits = std::to_string(value < 0 ? -value : value);
  for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3)
    digits.insert(static_cast<std::size_t>(i), 1, ',');
  return (value < 0 ? "-" : "") + digits;
}

std::string utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string result;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x80) {
      result += c;
    } else {
      result += static_cast<char>(0xC0 | code >> 6);
      result += static_cast<char>(0x80 | (code & 0x3F));
    }
  }
  return result;
}

}  // namespace zeroloss
