#pragma once
#include "zeroloss/images/images.hpp"

namespace zeroloss::internal {

/// As zeroloss::resize(), of the window `height` x `width` at (top, left) of an image.
struct Window {
  Index top = 0, left = 0, height = 0, width = 0;
};
Image resize_window(const ImageView& image, const Window& window, Index height, Index width);

}  // namespace zeroloss::internal
