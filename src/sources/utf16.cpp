#include "sources/utf16.hpp"

#include "base/utf8.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss::internal {

bool is_utf16(std::string_view start) {
  return start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF");
}

Bytes from_utf16(const Bytes& bytes) {
  ByteReader reader = bytes.open();
  unsigned char mark[2] = {};
  const std::size_t got = reader.read(mark, 2);
  if (!is_utf16({reinterpret_cast<const char*>(mark), got})) return bytes;
  const bool big_endian = mark[0] == 0xFE;
  const DataError damaged(bytes.name + ": damaged UTF-16 text: half a character");
  std::string text;
  std::uint32_t high = 0;  // the first half of a character that has two
  for (unsigned char unit[2]; const std::size_t size = reader.read(unit, 2);) {
    if (size < 2) throw damaged;
    const std::uint32_t code =
        static_cast<std::uint32_t>(unit[big_endian ? 0 : 1]) << 8 | unit[big_endian ? 1 : 0];
    const bool first = code >= 0xD800 && code < 0xDC00, second = code >= 0xDC00 && code < 0xE000;
    if (second != (high != 0)) throw damaged;
    if (first)
      high = code;
    else
      append_utf8(text, second ? 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00) : code);
    if (second) high = 0;
  }
  if (high != 0) throw damaged;
  return memory_bytes(bytes.name, std::move(text));
}

}  // namespace zeroloss::internal
