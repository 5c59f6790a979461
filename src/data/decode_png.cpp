#include <fmt/format.h>
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "data/decode.hpp"
#include "zeroloss/core/error.hpp"

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

  /// The header, and what is to become of the pixels. False: `message` says what is wrong.
  bool begin() {
    if (setjmp(png_jmpbuf(png)) != 0) return false;
    png_set_read_fn(png, this, on_read);
    png_set_user_limits(png, 0x7fffffff, 0x7fffffff);
    png_read_info(png, info);
    png_set_palette_to_rgb(png);
    png_set_expand_gray_1_2_4_to_8(png);
    png_set_scale_16(png);
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

}  // namespace

Image decode_png(const std::string& path, std::string_view bytes) {
  PngDecoder decoder(bytes);
  if (decoder.info == nullptr) throw BackendError("libpng cannot start: png_create_read_struct failed");
  const auto fail = [&] {
    throw DataError(fmt::format("{}: {} PNG file: {}", path, decoder.truncated ? "truncated" : "damaged",
                                decoder.message));
  };
  if (!decoder.begin()) fail();
  Image image{
      png_get_image_height(decoder.png, decoder.info), png_get_image_width(decoder.png, decoder.info), {}};
  check_image_size(path, image.height, image.width);
  const auto row_bytes = static_cast<std::size_t>(3 * image.width);
  image.pixels.resize(static_cast<std::size_t>(image.height) * row_bytes);
  if (!decoder.decode(image.pixels.data(), row_bytes)) fail();
  return image;
}

}  // namespace zeroloss::internal
