// A small all-convolutional residual network learns 32 images of noise by heart.
#include <cstdint>
#include <cstdio>

#include "zeroloss/base/random.hpp"
#include "zeroloss/conv/train.hpp"

int main() {
  zeroloss::ImageSet images;
  images.name = "noise";
  images.height = images.width = 32;
  images.class_names = {"heads", "tails"};
  zeroloss::Random random(1, zeroloss::Stream::points);
  for (int i = 0; i < 32; ++i) {
    images.labels.push_back(i % 2);
    for (int k = 0; k < 32 * 32 * 3; ++k)
      images.pixels.push_back(static_cast<std::uint8_t>(random.below(256)));
  }

  zeroloss::ConvOptions options;
  options.depth = 1;
  options.width = 16;
  options.batch = 32;
  options.steps = 300;
  options.learning_rate = 0.1;
  options.schedule = "cosine";
  options.clip_norm = 1;
  options.weight_decay = 0;
  options.crop = "none";
  options.flip = false;
  options.stop = "memorized";
  zeroloss::Progress progress;
  const zeroloss::ConvResult result = zeroloss::train(images, {}, options, progress);
  std::printf("%s after %ld steps of %s\n", result.conclusion.c_str(), static_cast<long>(result.steps),
              result.device.c_str());
  return result.status == zeroloss::ConvStatus::memorized ? 0 : 1;
}
