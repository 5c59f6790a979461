#include <fmt/format.h>
#include <png.h>

#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "images/decode.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss::internal {
namespace {

/// One decoder. libpng reports errors by a call, which leaves by longjmp, past frames that have nothing to
/// destroy.
struct PngDecoder {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::string_view rest;
  char message[256] = {};
  bool truncated = false;

  explicit PngDecoder(std::string_view bytes) : rest(bytes) {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, [](png_structp, png_const_charp) {});
    if (png != nullptr) info = png_create_info_struct(png);
  }
  ~PngDecoder() { png_destroy_read_struct(&png, &info, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  static void on_error(png_structp png, png_const_charp message) {
    auto& self = *static_cast<PngDecoder*>(png_get_error_ptr(png));
    std::snprintf(self.message, sizeof self.message, "%s", message);
    png_longjmp(png, 1);
  }

  static void on_read(png_structp png, png_bytep to, std::size_t count) {
    auto& self = *static_cast<PngDecoder*>(png_get_io_ptr(png));
    if (count > self.rest.size()) {
      self.truncated = true;
      png_error(png, "it ends too early");
    }
    std::memcpy(to, self.rest.data(), count);
    self.rest.remove_prefix(count);
  }

  /// The header, and what is to become of the pixels: three numbers of 8 bits each, of 16 where the file has
  /// them and `deep` asks for them. False: `message` says what is wrong.
  bool begin(bool deep) {
    if (setjmp(png_jmpbuf(png)) != 0) return false;
    png_set_read_fn(png, this, on_read);
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
    png_read_info(png, info);
    png_set_palette_to_rgb(png);
    png_set_expand_gray_1_2_4_to_8(png);
    if (!deep) png_set_scale_16(png);
    png_set_gray_to_rgb(png);
    png_set_strip_alpha(png);
    return true;
  }

  bool decode(unsigned char* to, std::size_t row_bytes) {
    if (setjmp(png_jmpbuf(png)) != 0) return false;
    const int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    if (png_get_rowbytes(png, info) != row_bytes) png_error(png, "its pixels do not become RGB");
    for (int pass = 0; pass < passes; ++pass)
      for (png_uint_32 row = 0; row < png_get_image_height(png, info); ++row)
        png_read_row(png, to + row * row_bytes, nullptr);
    png_read_end(png, nullptr);
    return true;
  }
};

struct Decoded {
  Index height = 0, width = 0;
  bool deep = false;  ///< 16 bits a number, the high byte first
  std::vector<std::uint8_t> bytes{};
};

Decoded decode(const std::string& path, std::string_view bytes, bool deep) {
  PngDecoder decoder(bytes);
  if (decoder.info == nullptr) throw BackendError("libpng cannot start: png_create_read_struct failed");
  const auto fail = [&] {
    throw DataError(fmt::format("{}: {} PNG file: {}", path, decoder.truncated ? "truncated" : "damaged",
                                decoder.message));
  };
  if (!decoder.begin(deep)) fail();
  Decoded image{png_get_image_height(decoder.png, decoder.info),
                png_get_image_width(decoder.png, decoder.info),
                deep && png_get_bit_depth(decoder.png, decoder.info) == 16};
  check_image_size(path, image.height, image.width);
  const auto row_bytes = static_cast<std::size_t>((image.deep ? 6 : 3) * image.width);
  image.bytes.resize(static_cast<std::size_t>(image.height) * row_bytes);
  if (!decoder.decode(image.bytes.data(), row_bytes)) fail();
  return image;
}

}  // namespace

Image decode_png(const std::string& path, std::string_view bytes) {
  Decoded image = decode(path, bytes, false);
  return {image.height, image.width, std::move(image.bytes)};
}

DeepImage decode_deep_png(const std::string& path, std::string_view bytes) {
  const Decoded image = decode(path, bytes, true);
  DeepImage result{image.height, image.width, {}};
  if (!image.deep) {
    result.pixels.assign(image.bytes.begin(), image.bytes.end());
    return result;
  }
  result.pixels.reserve(image.bytes.size() / 2);
  for (std::size_t k = 0; k < image.bytes.size(); k += 2)
    result.pixels.push_back((256.0 * image.bytes[k] + image.bytes[k + 1]) / 257);
  return result;
}

}  // namespace zeroloss::internal
