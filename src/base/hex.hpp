#pragma once
#include <cstddef>
#include <string>

namespace zeroloss::internal {

/// Two lower-case hexadecimal digits for each byte.
inline std::string hex(const unsigned char* bytes, std::size_t count) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

}  // namespace zeroloss::internal
