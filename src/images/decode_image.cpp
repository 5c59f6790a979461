#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/hex.hpp"
#include "images/decode.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n";

}  // namespace

void internal::check_image_size(const std::string& path, Index height, Index width) {
  constexpr Index kMostPixels = 100'000'000;
  if (height < 1 || width < 1 || height > kMostPixels / width)
    throw DataError(
        fmt::format("{}: {} x {} pixels; expected 1 to {} in all", path, height, width, kMostPixels));
}

Image internal::decode_image(const std::string& path, std::string_view bytes) {
  if (bytes.starts_with("\xff\xd8\xff")) return decode_jpeg(path, bytes);
  if (bytes.starts_with(kPng)) return decode_png(path, bytes);
  if (bytes.empty()) throw DataError(path + ": the file is empty");
  const std::size_t count = std::min<std::size_t>(bytes.size(), 8);
  throw DataError(fmt::format("{}: neither JPEG nor PNG: it begins with {}", path,
                              hex(reinterpret_cast<const unsigned char*>(bytes.data()), count)));
}

internal::DeepImage internal::decode_deep(const std::string& path) {
  const std::string bytes = image_bytes(path);
  if (bytes.starts_with(kPng)) return decode_deep_png(path, bytes);
  const Image image = decode_image(path, bytes);
  return {image.height, image.width, {image.pixels.begin(), image.pixels.end()}};
}

Image decode_image(const std::string& path) { return decode_image(path, image_bytes(path)); }

}  // namespace zeroloss
