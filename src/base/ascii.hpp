#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

/// Letters, digits and blanks of ASCII. Those of <cctype> are the locale's: in Turkey an I has no i, and
/// where letters have 8 bits, half a character of UTF-8 is one.
namespace zeroloss::internal {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

inline std::string lowered(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

/// What stands between blanks.
inline std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const auto begin = std::ranges::find_if_not(text, is_blank);
    const auto end = std::find_if(begin, text.end(), is_blank);
    if (begin == end) return words;
    words.emplace_back(begin, end);
    text = {end, text.end()};
  }
}

}  // namespace zeroloss::internal
