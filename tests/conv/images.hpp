#pragma once
#include "zeroloss/base/random.hpp"
#include "zeroloss/images/images.hpp"

namespace zeroloss::test {

inline Image random_image(Index height, Index width, std::uint64_t seed) {
  Image image{height, width, std::vector<std::uint8_t>(static_cast<std::size_t>(3 * height * width))};
  Random random(seed, Stream::points);
  for (std::uint8_t& p : image.pixels) p = static_cast<std::uint8_t>(random.below(256));
  return image;
}

/// n random size x size images of three classes, in memory.
inline ImageSet random_images(Index n, Index size, std::uint64_t seed) {
  ImageSet set{.name = "random", .digest = {}, .class_names = {"a", "b", "c"}, .height = size, .width = size};
  for (Index i = 0; i < n; ++i) set.labels.push_back(i % 3);
  set.pixels = random_image(n * size, size, seed).pixels;
  return set;
}

}  // namespace zeroloss::test
