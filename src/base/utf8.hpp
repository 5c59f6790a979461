#pragma once
#include <cstdint>
#include <string>

namespace zeroloss::internal {

/// Appends the character of a code point, 0 to 0x10FFFF.
inline void append_utf8(std::string& text, std::uint32_t code) {
  const auto more = [&](int shift) { text += static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0 | code >> 6);
    more(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xE0 | code >> 12);
    more(6), more(0);
  } else {
    text += static_cast<char>(0xF0 | (code >> 18 & 7));
    more(12), more(6), more(0);
  }
}

}  // namespace zeroloss::internal
