#include <fmt/format.h>

#include <csetjmp>
#include <cstdio>
// libjpeg's headers need <cstdio> before them.
#include <jerror.h>
#include <jpeglib.h>

#include "images/decode.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss::internal {
namespace {

constexpr int kMostScans = 500;  // a small progressive file could keep a decoder busy for hours

/// One decoder. libjpeg reports by calls: errors leave by longjmp, past frames that have nothing to destroy.
struct JpegDecoder {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr monitor{};
  std::jmp_buf escape{};
  char message[JMSG_LENGTH_MAX] = {};

  JpegDecoder() {
    info.err = jpeg_std_error(&errors);
    info.client_data = this;
    errors.error_exit = [](j_common_ptr any) { of(any).leave(); };
    errors.emit_message = [](j_common_ptr any, int level) {
      if (level < 0 && is_damage(any->err->msg_code)) of(any).leave();
    };
    errors.output_message = [](j_common_ptr) {};
    monitor.progress_monitor = [](j_common_ptr any) {
      if (any->is_decompressor == 0 || of(any).info.input_scan_number <= kMostScans) return;
      std::snprintf(of(any).message, JMSG_LENGTH_MAX, "more than %d scans", kMostScans);
      std::longjmp(of(any).escape, 1);
    };
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&info); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  static JpegDecoder& of(j_common_ptr any) { return *static_cast<JpegDecoder*>(any->client_data); }

  [[noreturn]] void leave() {
    errors.format_message(reinterpret_cast<j_common_ptr>(&info), message);
    std::longjmp(escape, 1);
  }

  /// Warnings after which pixels may be wrong: all but those about harmless oddities of a file.
  static bool is_damage(int code) {
    return code != JWRN_EXTRANEOUS_DATA && code != JWRN_JFIF_MAJOR && code != JWRN_ADOBE_XFORM &&
           code != JWRN_BOGUS_PROGRESSION && code != JWRN_BOGUS_ICC && code != JWRN_TOO_MUCH_DATA;
  }

  /// Header, up to size and colour space. False: `message` says what is wrong.
  bool begin(std::string_view bytes) {
    if (setjmp(escape) != 0) return false;
    jpeg_create_decompress(&info);
    info.progress = &monitor;
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_save_markers(&info, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&info, TRUE);
    const bool four = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
    info.out_color_space = four ? JCS_CMYK : JCS_RGB;
    return true;
  }

  /// The rows, each out_color_components numbers a pixel, to their places in `to`.
  bool decode(unsigned char* to) {
    if (setjmp(escape) != 0) return false;
    jpeg_start_decompress(&info);
    const std::size_t row = std::size_t{info.output_width} * static_cast<std::size_t>(info.output_components);
    while (info.output_scanline < info.output_height) {
      JSAMPROW at = to + info.output_scanline * row;
      jpeg_read_scanlines(&info, &at, 1);
    }
    jpeg_finish_decompress(&info);
    return true;
  }
};

/// Adobe's CMYK: 255 means no ink.
std::vector<std::uint8_t> rgb_of(const std::vector<std::uint8_t>& cmyk) {
  std::vector<std::uint8_t> rgb(cmyk.size() / 4 * 3);
  for (std::size_t i = 0; i < cmyk.size() / 4; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      rgb[3 * i + c] = static_cast<std::uint8_t>((cmyk[4 * i + c] * cmyk[4 * i + 3] + 127) / 255);
  return rgb;
}

}  // namespace

Image decode_jpeg(const std::string& path, std::string_view bytes) {
  JpegDecoder decoder;
  const auto fail = [&] {
    throw DataError(fmt::format("{}: {} JPEG file: {}", path,
                                decoder.info.err->msg_code == JWRN_JPEG_EOF ? "truncated" : "damaged",
                                decoder.message));
  };
  if (!decoder.begin(bytes)) fail();
  int orientation = 1;
  for (jpeg_saved_marker_ptr marker = decoder.info.marker_list; marker != nullptr; marker = marker->next)
    if (orientation == 1)
      orientation =
          exif_orientation({reinterpret_cast<const char*>(marker->data), std::size_t{marker->data_length}});
  Image image{decoder.info.image_height, decoder.info.image_width, {}};
  check_image_size(path, image.height, image.width);
  const bool four = decoder.info.out_color_space == JCS_CMYK;
  image.pixels.resize(static_cast<std::size_t>((four ? 4 : 3) * image.height * image.width));
  if (!decoder.decode(image.pixels.data())) fail();
  if (four) image.pixels = rgb_of(image.pixels);
  orient(image, orientation);
  return image;
}

}  // namespace zeroloss::internal
