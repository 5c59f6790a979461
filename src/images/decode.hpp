#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "zeroloss/images/images.hpp"

/// Image formats, from bytes in memory. `path` is for messages.
namespace zeroloss::internal {

Image decode_image(const std::string& path, std::string_view bytes);  ///< as decode_image(path)
Image decode_jpeg(const std::string& path, std::string_view bytes);
Image decode_png(const std::string& path, std::string_view bytes);

/// The same with all bits of its pixels: numbers 0..255, the 65,536 of 16 bits divided by 257.
struct DeepImage {
  Index height = 0, width = 0;
  std::vector<double> pixels{};  ///< height x width x 3
};
DeepImage decode_deep(const std::string& path);
DeepImage decode_deep_png(const std::string& path, std::string_view bytes);

/// The bytes of a file, at most 2^30. DataError if it is larger or cannot be read.
std::string image_bytes(const std::string& path);

/// DataError unless an image of this size should be decoded: a small file can announce a huge one.
void check_image_size(const std::string& path, Index height, Index width);

/// Turns an image as orientation 1..8 of EXIF says; any other number leaves it alone.
void orient(Image& image, int orientation);

/// The orientation in an EXIF segment ("Exif\0\0", then TIFF); 1 if it has none or is damaged.
int exif_orientation(std::string_view segment);

}  // namespace zeroloss::internal
