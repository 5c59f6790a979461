#include "zeroloss/conv/augment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "conv/images.hpp"
#include "support/statistics.hpp"
#include "support/temp_folder.hpp"

/// Crops, flips and standardisation against the same by brute force.
namespace zeroloss {
namespace {

using test::random_image;
using Floats = std::vector<float>;

Floats augmented(const ImageView& image, const Augment& options, Index size, std::uint64_t seed) {
  Floats x(static_cast<std::size_t>(3 * size * size), NAN);
  augment(image, options, size, Random(seed, Stream::augment), x.data());
  return x;
}

Floats prepared(const ImageView& image, const Augment& options, Index size) {
  Floats x(static_cast<std::size_t>(3 * size * size), NAN);
  prepare(image, options, size, x.data());
  return x;
}

/// size x size pixels at (top, left), zeros outside of the image.
Image square(const Image& image, Index top, Index left, Index size) {
  Image result{size, size, {}};
  for (Index y = top; y < top + size; ++y)
    for (Index x = left; x < left + size; ++x)
      for (Index c = 0; c < 3; ++c) {
        const bool inside = y >= 0 && y < image.height && x >= 0 && x < image.width;
        result.pixels.push_back(inside ? image.pixels[static_cast<std::size_t>(3 * (y * image.width + x) + c)]
                                       : std::uint8_t{0});
      }
  return result;
}

Image flipped(const Image& image) {
  Image result = image;
  for (Index y = 0; y < image.height; ++y)
    for (Index x = 0; x < image.width; ++x)
      for (Index c = 0; c < 3; ++c)
        result.pixels[static_cast<std::size_t>(3 * (y * image.width + x) + c)] =
            image.pixels[static_cast<std::size_t>(3 * (y * image.width + image.width - 1 - x) + c)];
  return result;
}

/// In extended precision, two passes.
std::vector<double> standardized(const Image& image) {
  const auto n = static_cast<long double>(image.pixels.size());
  long double mean = 0, variance = 0;
  for (const std::uint8_t p : image.pixels) mean += p / n;
  for (const std::uint8_t p : image.pixels) variance += (p - mean) * (p - mean) / n;
  std::vector<double> x;
  for (const std::uint8_t p : image.pixels)
    x.push_back(static_cast<double>((p - mean) / std::max(std::sqrt(variance), 1 / std::sqrt(n))));
  return x;
}

/// Rounded once: within half a unit of the last of 24 bits, and what double loses, some roundings of numbers
/// up to 2^6.
bool equal(const Floats& x, const std::vector<double>& expected) {
  return std::ranges::equal(
      x, expected, [](float a, double b) { return std::abs(a - b) <= 0x1p-24 * std::abs(b) + 0x1p-45; });
}

const Augment kPlain{.crop = "none", .flip = false};

TEST(Augment, StandardizesOverAllNumbers) {
  for (const Index size : {1, 2, 7, 32, 225}) {
    const Image image = random_image(size, size, 1);
    EXPECT_TRUE(equal(augmented(image, kPlain, size, 0), standardized(image))) << size;
    EXPECT_TRUE(equal(prepared(image, kPlain, size), standardized(image))) << size;
  }
  // Constant but for one pixel: the deviation 1 / N is less than the least one allowed, 1 / sqrt(N).
  Image flat{2, 2, std::vector<std::uint8_t>(12, 255)};
  EXPECT_EQ(prepared(flat, kPlain, 2), Floats(12, 0.0F));
  flat = {20, 20, std::vector<std::uint8_t>(1200, 255)};
  flat.pixels[7] = 254;
  EXPECT_NEAR(prepared(flat, kPlain, 20)[7], (-1 + 1.0 / 1200) * std::sqrt(1200.0),
              1.01 * 0x1p-24 * std::sqrt(1200.0));  // rounded to float32
  EXPECT_TRUE(equal(prepared(flat, kPlain, 20), standardized(flat)));
}

TEST(Augment, PadCropsAreEveryWindowOfThePaddedImage) {
  const Index size = 9, pad = 2;
  const Image image = random_image(size, size, 2);
  std::map<std::pair<Index, bool>, double> seen;
  std::vector<std::vector<double>> windows;
  for (Index k = 0; k < 25; ++k)
    for (const bool flip : {false, true}) {
      const Image window = square(image, k / 5 - pad, k % 5 - pad, size);
      windows.push_back(standardized(flip ? flipped(window) : window));
    }
  std::vector<double> counts(50), flips;
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    const Floats x = augmented(image, {.crop = "pad", .pad = pad}, size, seed);
    const auto found = std::ranges::find_if(windows, [&](const auto& window) { return equal(x, window); });
    ASSERT_NE(found, windows.end()) << "not a window of the padded image";
    ++counts[static_cast<std::size_t>(found - windows.begin())];
    flips.push_back(static_cast<double>((found - windows.begin()) % 2));
  }
  EXPECT_LT(test::chi_square_sigmas(counts), test::kSigmas) << "all 25 places, flipped or not, alike";
  const test::Estimate flip = test::mean(flips);
  EXPECT_LT(std::abs(flip.value - 0.5), test::kSigmas * flip.standard_error);
}

TEST(Augment, DrawsOnlyWhatIsAskedFor) {
  const Image image = random_image(8, 8, 3);
  const std::vector<double> as_it_is = standardized(image);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_TRUE(equal(augmented(image, kPlain, 8, seed), as_it_is));
    EXPECT_TRUE(equal(augmented(image, {.crop = "pad", .pad = 0, .flip = false}, 8, seed), as_it_is));
    EXPECT_EQ(augmented(image, {}, 8, seed), augmented(image, {}, 8, seed));
  }
  EXPECT_TRUE(equal(prepared(image, {}, 8), as_it_is)) << "evaluation images are not varied";
}

TEST(Augment, CutsSquaresOut) {
  const Index size = 10, side = 4;
  const Image image = random_image(size, size, 4);
  const Floats whole = augmented(image, kPlain, size, 0);
  std::vector<double> zeros(static_cast<std::size_t>(size * size));
  const double trials = 4000;
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(trials); ++seed) {
    const Floats x = augmented(image, {.crop = "none", .flip = false, .cutout = side}, size, seed);
    Index top = size, left = size, bottom = -1, right = -1, count = 0;
    for (Index k = 0; k < size * size; ++k) {
      const auto at = static_cast<std::size_t>(3 * k);
      const bool zero = x[at] == 0 && x[at + 1] == 0 && x[at + 2] == 0;
      if (!zero) {
        ASSERT_TRUE(std::equal(x.begin() + 3 * k, x.begin() + 3 * k + 3, whole.begin() + 3 * k));
        continue;
      }
      ++zeros[static_cast<std::size_t>(k)];
      ++count;
      top = std::min(top, k / size), bottom = std::max(bottom, k / size);
      left = std::min(left, k % size), right = std::max(right, k % size);
    }
    ASSERT_EQ(count, (bottom - top + 1) * (right - left + 1)) << "a rectangle";
    const auto full = [&](Index first, Index last) {
      return last - first + 1 == side || ((first == 0 || last == size - 1) && last - first + 1 >= side / 2);
    };
    ASSERT_TRUE(full(top, bottom) && full(left, right))
        << top << " " << bottom << " " << left << " " << right;
  }
  // Centre pixel c covers c - 2 .. c + 1, so pixel k is covered by the centres k - 1 .. k + 2 that exist.
  for (Index k = 0; k < size * size; ++k) {
    const auto covering = [&](Index place) {
      return static_cast<double>(std::min(place + 2, size - 1) - std::max<Index>(place - 1, 0) + 1);
    };
    const double p = covering(k / size) * covering(k % size) / static_cast<double>(size * size);
    EXPECT_LT(std::abs(zeros[static_cast<std::size_t>(k)] - trials * p),
              test::kSigmas * std::sqrt(trials * p * (1 - p)));
  }
}

constexpr Index kSide = 200, kResult = 64;

/// How many rows (columns) a resized crop of a kSide x kSide image shows, to 1.1: red is the number of the
/// row (column), green is 255 and blue 0, which tell what standardisation did.
double rows_shown(bool columns, std::uint64_t seed) {
  Image ramp{kSide, kSide, {}};
  for (Index y = 0; y < kSide; ++y)
    for (Index x = 0; x < kSide; ++x)
      for (const Index value : {columns ? x : y, Index{255}, Index{0}})
        ramp.pixels.push_back(static_cast<std::uint8_t>(value));
  const Floats x = augmented(ramp, {.crop = "resized", .flip = false}, kResult, seed);
  const double deviation = 255 / static_cast<double>(x[1] - x[2]);
  const auto red = [&](Index k) {
    return deviation * static_cast<double>(x[static_cast<std::size_t>(3 * k * (columns ? 1 : kResult))]);
  };
  return (red(kResult - 2) - red(1)) / (kResult - 3) * kResult;
}

TEST(Augment, ResizedCropsHaveTheScalesAndRatiosPromised) {
  std::vector<double> ratios, scales;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const double height = rows_shown(false, seed), width = rows_shown(true, seed);
    ratios.push_back(std::log(width / height));
    scales.push_back(height * width / (kSide * kSide));
  }
  // Sides are whole pixels and measured to 1.1; the least ones are sqrt(0.08 * 3 / 4) * 200 = 49.
  const double most = std::log(4.0 / 3), slack = 2 * 1.6 / 49;
  EXPECT_LT(*std::ranges::max_element(ratios), most + slack);
  EXPECT_GT(*std::ranges::min_element(ratios), -most - slack);
  EXPECT_LT(*std::ranges::max_element(scales), 1 + slack);
  EXPECT_GT(*std::ranges::min_element(scales), 0.08 * (1 - slack));
  const test::Estimate ratio = test::mean(ratios), scale = test::mean(scales);
  EXPECT_LT(std::abs(ratio.value), test::kSigmas * ratio.standard_error) << "wide and high alike";
  // A window of scale s fits if |log ratio| <= -log s.
  double fits = 0, sum = 0;
  for (double s = 0.08; s < 1; s += 1e-5) {
    const double p = std::min(1.0, -std::log(s) / most);
    fits += p;
    sum += p * s;
  }
  EXPECT_LT(std::abs(scale.value - sum / fits), test::kSigmas * scale.standard_error + 2 * 1.1 / kSide);
}

TEST(Augment, ResizedCropOfAStripIsItsCentre) {
  // No window of 8 % of the area with a ratio of 3/4 or more fits a strip of 1 : 20.
  const Image strip = random_image(6, 120, 5);
  const Image centre = square(strip, 0, 56, 8);  // its first six rows lie in the image
  Image window{6, 8, {centre.pixels.begin(), centre.pixels.begin() + 3 * 6 * 8}};
  const std::vector<double> expected = standardized(resize(window, 12, 12));
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_TRUE(equal(augmented(strip, {.crop = "resized", .flip = false}, 12, seed), expected));
}

TEST(Augment, ResizedCropsOfASmallImageAreWindowsOfIt) {
  const Image image = random_image(5, 6, 6);
  std::vector<std::vector<double>> windows;
  for (Index h = 1; h <= 5; ++h)
    for (Index w = 1; w <= 6; ++w)
      for (Index top = 0; top + h <= 5; ++top)
        for (Index left = 0; left + w <= 6; ++left) {
          Image window{h, w, {}};
          for (Index y = top; y < top + h; ++y)
            for (Index k = 3 * (6 * y + left); k < 3 * (6 * y + left + w); ++k)
              window.pixels.push_back(image.pixels[static_cast<std::size_t>(k)]);
          windows.push_back(standardized(resize(window, 7, 7)));
        }
  std::vector<bool> seen(windows.size());
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Floats x = augmented(image, {.crop = "resized", .flip = false}, 7, seed);
    const auto found = std::ranges::find_if(windows, [&](const auto& window) { return equal(x, window); });
    ASSERT_NE(found, windows.end());
    seen[static_cast<std::size_t>(found - windows.begin())] = true;
  }
  EXPECT_GT(std::ranges::count(seen, true), 30) << "of many sizes, at many places";
}

TEST(Augment, EvaluationOfResizedIsTheCentre) {
  // size 14: the shorter side becomes 16.
  for (const auto& [height, width, to_height, to_width] : std::vector<std::array<Index, 4>>{
           {20, 31, 16, 24}, {31, 20, 24, 16}, {8, 8, 16, 16}, {5, 80, 16, 256}}) {
    const Image image = random_image(height, width, 7);
    const Image resized = resize(image, to_height, to_width);
    const Image centre = square(resized, (to_height - 14) / 2, (to_width - 14) / 2, 14);
    EXPECT_TRUE(equal(prepared(image, {.crop = "resized"}, 14), standardized(centre)));
  }
}

TEST(Augment, NamesWrongOptions) {
  ImageSet set{.name = "set", .digest = {}, .height = 8, .width = 8};
  EXPECT_EQ(check_augment({}, set), 8);
  EXPECT_EQ(check_augment({.crop = "resized", .size = 5}, set), 5);
  EXPECT_MESSAGE(std::invalid_argument, check_augment({.crop = "center"}, set), "pad, resized or none",
                 "'center'");
  EXPECT_MESSAGE(std::invalid_argument, check_augment({.size = 5}, set), "crop = pad", "5 x 5", "8 x 8");
  EXPECT_MESSAGE(std::invalid_argument, check_augment({.pad = -1}, set), "pad", "0 to 8", "-1");
  EXPECT_MESSAGE(std::invalid_argument, check_augment({.pad = 9}, set), "pad", "9");
  EXPECT_MESSAGE(std::invalid_argument, check_augment({.cutout = 9}, set), "cutout", "0 to 8", "9");
  EXPECT_MESSAGE(std::invalid_argument, check_augment({.crop = "resized", .size = 1025}, set), "size",
                 "1 to 1024");
  EXPECT_MESSAGE(std::invalid_argument, check_augment({.size = -3}, set), "size", "-3");
  set.width = 7;
  EXPECT_MESSAGE(std::invalid_argument, check_augment({}, set), "8 x 8", "8 x 7");
  EXPECT_EQ(check_augment({.crop = "resized", .size = 5}, set), 5);
  set.files = {"a.png"};
  EXPECT_MESSAGE(std::invalid_argument, check_augment({.crop = "resized"}, set), "size must be given");
  float x[3 * 64];
  EXPECT_MESSAGE(std::invalid_argument, augment(random_image(8, 7, 1), {}, 8, Random(0, Stream::augment), x),
                 "augment", "8 x 7");
  EXPECT_MESSAGE(std::invalid_argument, prepare(random_image(7, 8, 1), {}, 8, x), "prepare", "7 x 8");
}

}  // namespace
}  // namespace zeroloss
