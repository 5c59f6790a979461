#include "zeroloss/base/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "zeroloss/base/parse.hpp"

namespace zeroloss {
namespace {

/// The length of the character that UTF-8 begins with; 0 if it begins with none (RFC 3629).
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const int first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4 || !follows(1)) return 0;
  if (first < 0xE0) return 2;
  // Neither longer than it need be, nor half of a pair, nor beyond the last character.
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90) || !follows(2))
    return 0;
  if (first < 0xF0) return 3;
  return follows(3) ? 4 : 0;
}

// One byte where it begins no character.
std::string_view first_character(std::string_view text) {
  return text.substr(0, std::max<std::size_t>(character(text), 1));
}

// A character as it is, or its bytes if a terminal would obey it or cannot show it.
std::string shown(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes.front()),
             last = static_cast<unsigned char>(bytes.back());
  const bool late_control = bytes.size() == 2 && first == 0xC2 && last < 0xA0;  // U+0080..
  if (character(bytes) != 0 && first >= 0x20 && first != 0x7F && !late_control) return std::string(bytes);
  std::string said;
  for (const char byte : bytes) said += fmt::format("\\x{:02X}", static_cast<unsigned char>(byte));
  return said;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = character(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string decimal(double x, int digits, Rounding rounding) {
  const auto nearest = [digits](double value) { return fmt::format("{:.{}g}", value, digits); };
  std::string text = nearest(x);
  if (x == 0 || !std::isfinite(x) || rounding == Rounding::nearest) return text;
  const double sign = rounding == Rounding::up ? 1 : -1;
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(x))) + 1 - digits);
  // Nearest on the wrong side lies within half a unit of x, so the next one over is the one wanted.
  for (int half = 1; sign * (parsed_number(text).value() - x) < 0 && half <= 3; ++half)
    text = nearest(x + sign * half * 0.5 * unit);
  return text;
}

std::string with_commas(long long value) {
  std::string digits = fmt::to_string(value < 0 ? -value : value);
  for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3)
    digits.insert(static_cast<std::size_t>(i), 1, ',');
  return (value < 0 ? "-" : "") + digits;
}

std::string count(long long value, const char* one, const char* many) {
  return fmt::format("{} {}", with_commas(value), value == 1 ? one : many);
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

std::string excerpt(std::string_view text) {
  constexpr int kMost = 80;
  std::string said;
  for (int count = 0; !text.empty(); ++count) {
    if (count == kMost) return said + "..";
    const std::string_view bytes = first_character(text);
    if (bytes == "\n" || bytes == "\t")
      said += bytes == "\n" ? "\\n" : "\\t";
    else
      said += shown(bytes);
    text.remove_prefix(bytes.size());
  }
  return said;
}

std::string printable(std::string_view text) {
  std::string said;
  said.reserve(text.size());
  while (!text.empty()) {
    const std::string_view bytes = first_character(text);
    if (bytes == "\n" || bytes == "\t")
      said += bytes;
    else
      said += shown(bytes);
    text.remove_prefix(bytes.size());
  }
  return said;
}

std::string excerpt(const std::vector<std::string>& words) {
  return excerpt(fmt::format("{}", fmt::join(words, ", ")));
}

std::string shell_word(std::string_view text) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+-@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_command(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += shell_word(word);
  }
  return line;
}

}  // namespace zeroloss
