#include "images/decode.hpp"
#include "zeroloss/base/error.hpp"

/// In place of decode_image.cpp, decode_jpeg.cpp and decode_png.cpp where their libraries are absent.
namespace zeroloss {
using namespace internal;

Image internal::decode_image(const std::string& path, std::string_view) {
  throw BackendError(path +
                     ": this build cannot decode images; install libjpeg-turbo and libpng (Debian: "
                     "libjpeg62-turbo-dev, libpng-dev) and build zeroloss again");
}

internal::DeepImage internal::decode_deep(const std::string& path) {
  decode_image(path, {});
  return {};
}

Image decode_image(const std::string& path) { return decode_image(path, {}); }

}  // namespace zeroloss
