#include "zeroloss/conv/whiten.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "conv/images.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/conv/batches.hpp"

namespace zeroloss {
namespace {

/// Random images whose pixels are close to their neighbours, as photographs are.
ImageSet smooth_images(Index n, Index size) {
  ImageSet set = test::random_images(n, size, 7);
  for (std::size_t i = 3; i < set.pixels.size(); ++i)
    set.pixels[i] = static_cast<std::uint8_t>((7 * set.pixels[i - 3] + 3 * set.pixels[i]) / 10);
  return set;
}

/// The mean of the products of all channels of the stem over the places where it sees no edge, by plain
/// loops.
Eigen::MatrixXd second_moments(const ConvNetwork& network, const ImageSet& images) {
  const ConvLayer stem = layers(network.architecture).front();
  const Index size = images.height, k = stem.kernel, numbers = 3 * k * k;
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(stem.out, stem.out);
  std::vector<float> x(static_cast<std::size_t>(3 * size * size));
  Index count = 0;
  for (Index i = 0; i < images.n(); ++i) {
    fill_evaluation(images, {}, {&i, 1}, x.data());
    for (Index top = 0; top + k <= size; ++top)
      for (Index left = 0; left + k <= size; ++left, ++count) {
        Eigen::VectorXd seen = Eigen::VectorXd::Zero(stem.out);
        for (Index o = 0; o < stem.out; ++o)
          for (Index at = 0; at < numbers; ++at) {
            const Index row = top + at / (3 * k), column = left + at / 3 % k;
            seen[o] += static_cast<double>(network.weights[static_cast<std::size_t>(o * numbers + at)]) *
                       static_cast<double>(x[static_cast<std::size_t>(3 * (row * size + column) + at % 3)]);
          }
        sum += seen * seen.transpose();
      }
  }
  return sum / static_cast<double>(count);
}

TEST(Whiten, ChannelsAreUncorrelated) {
  ConvArchitecture a = small_architecture(3, 1, 56);  // 28 channels: one more than a patch has numbers
  a.image_size = 8;
  const ImageSet images = smooth_images(40, 8);
  const ConvNetwork drawn = draw_network(a, 1, "whitened");
  ConvNetwork network = drawn;
  whiten_stem(network, images);
  const Eigen::MatrixXd found = second_moments(network, images);
  // Kernels and images are rounded to float32, 27 products each with |p| up to 4, divided by 0.1 or more.
  const double rounding = 27 * 4 * 10 * 0x1p-24;
  double energy = 0;  // of a patch: the sum of all lambda, which d = lambda / (lambda + 0.01) gives back
  for (Index i = 0; i < 27; ++i) {
    const double d = found(i, i);
    ASSERT_TRUE(d > 0 && d < 1) << i;
    if (i > 0) {
      EXPECT_LE(d, found(i - 1, i - 1) + rounding);
    }
    energy += 0.01 * d / (1 - d);
    for (Index j = 0; j < i; ++j) EXPECT_LT(std::abs(found(i, j)), rounding) << i << ", " << j;
  }
  double expected = 0;
  Index count = 0;
  std::vector<float> x(3 * 8 * 8);
  for (Index i = 0; i < images.n(); ++i) {
    fill_evaluation(images, {}, {&i, 1}, x.data());
    for (Index top = 0; top < 6; ++top)
      for (Index left = 0; left < 6; ++left, ++count)
        for (Index at = 0; at < 27; ++at) {
          const double p = static_cast<double>(
              x[static_cast<std::size_t>(3 * ((top + at / 9) * 8 + left + at / 3 % 3) + at % 3)]);
          expected += p * p;
        }
  }
  expected /= static_cast<double>(count);
  EXPECT_NEAR(energy, expected, 1e-2 * expected);  // d near 1 loses digits: 1 - d is 0.01/lambda
  EXPECT_TRUE(
      std::equal(drawn.weights.begin() + 27 * 27, drawn.weights.end(), network.weights.begin() + 27 * 27))
      << "the channel beyond and all blocks stay as they were drawn";
}

TEST(Whiten, TakesFewChannelsAndEqualImages) {
  ConvArchitecture a = small_architecture(3, 1, 8);  // 4 channels
  a.image_size = 8;
  ImageSet images = smooth_images(1, 8);
  ConvNetwork network = draw_network(a, 1, "whitened");
  whiten_stem(network, images);
  const Eigen::MatrixXd found = second_moments(network, images);
  EXPECT_GT(found(3, 3), 0.5);
  std::fill(images.pixels.begin(), images.pixels.end(), std::uint8_t{9});  // all patches are 0
  whiten_stem(network, images);
  for (const float w : network.weights) ASSERT_TRUE(std::isfinite(w));
  images = {};
  EXPECT_MESSAGE(std::invalid_argument, whiten_stem(network, images), "needs images");
}

}  // namespace
}  // namespace zeroloss
