#include <algorithm>

#include "images/decode.hpp"

/// EXIF 2.3, section 4.6.4: tag 0x0112 says where the stored first row and column belong.
namespace zeroloss::internal {
namespace {

/// Numbers of a TIFF structure; 0 beyond its end.
struct Tiff {
  std::string_view bytes;
  bool big_endian;

  unsigned number(std::size_t at, std::size_t size) const {
    if (at > bytes.size() || size > bytes.size() - at) return 0;
    unsigned value = 0;
    for (std::size_t k = 0; k < size; ++k)
      value = value << 8 | static_cast<unsigned char>(bytes[at + (big_endian ? k : size - 1 - k)]);
    return value;
  }
};

}  // namespace

int exif_orientation(std::string_view segment) {
  constexpr std::string_view kMark("Exif\0\0", 6);
  if (!segment.starts_with(kMark)) return 1;
  segment.remove_prefix(kMark.size());
  if (!segment.starts_with("II") && !segment.starts_with("MM")) return 1;
  const Tiff tiff{segment, segment.starts_with("MM")};
  if (tiff.number(2, 2) != 42) return 1;
  const std::size_t directory = tiff.number(4, 4);
  for (std::size_t k = 0; k < tiff.number(directory, 2); ++k) {
    const std::size_t entry = directory + 2 + 12 * k;
    if (tiff.number(entry, 2) != 0x0112) continue;
    const unsigned value = tiff.number(entry + 8, 2);
    return tiff.number(entry + 2, 2) == 3 && value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

void orient(Image& image, int orientation) {
  if (orientation < 2 || orientation > 8) return;
  const bool transposed = orientation >= 5;
  const bool bottom_up = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  const bool right_left = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  Image turned{transposed ? image.width : image.height, transposed ? image.height : image.width, {}};
  turned.pixels.resize(image.pixels.size());
  std::uint8_t* to = turned.pixels.data();
  for (Index row = 0; row < turned.height; ++row)
    for (Index column = 0; column < turned.width; ++column, to += 3) {
      const Index y = bottom_up ? turned.height - 1 - row : row;
      const Index x = right_left ? turned.width - 1 - column : column;
      const Index pixel = transposed ? x * image.width + y : y * image.width + x;
      std::copy_n(image.pixels.data() + 3 * pixel, 3, to);
    }
  image = std::move(turned);
}

}  // namespace zeroloss::internal
