#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/hex.hpp"
#include "data/decode.hpp"
#include "zeroloss/core/error.hpp"

namespace zeroloss {
using namespace internal;

void internal::check_image_size(const std::string& path, Index height, Index width) {
  constexpr Index kMostPixels = 100'000'000;
  if (height < 1 || width < 1 || height > kMostPixels / width)
    throw DataError(
        fmt::format("{}: {} x {} pixels; expected 1 to {} in all", path, height, width, kMostPixels));
}

Image internal::decode_image(const std::string& path, std::string_view bytes) {
  if (bytes.starts_with("\xff\xd8\xff")) return decode_jpeg(path, bytes);
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return decode_png(path, bytes);
  if (bytes.empty()) throw DataError(path + ": the file is empty");
  const std::size_t count = std::min<std::size_t>(bytes.size(), 8);
  throw DataError(fmt::format("{}: neither JPEG nor PNG: it begins with {}", path,
                              hex(reinterpret_cast<const unsigned char*>(bytes.data()), count)));
}

Image decode_image(const std::string& path) { return decode_image(path, image_bytes(path)); }

}  // namespace zeroloss
