#include "images/resize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

/// Two passes, along rows and then along columns, with weights that are multiples of 2^-22.
namespace zeroloss {
using namespace internal;
namespace {

constexpr int kBits = 22;  // 8 bits of a pixel and a sum of weights of 1 fit into 31 with a bit to spare

/// Output i is the sum of weight[i * taps + k] * input[first[i] + k] over k < count[i].
struct Filter {
  std::size_t taps = 0;
  std::vector<Index> first{}, count{};
  std::vector<std::int32_t> weight{};
};

/// A triangle that reaches to the centres of the neighbouring pixels: those of the input, or of the output
/// where they are farther apart.
Filter triangle(Index from, Index to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), reach = std::max(scale, 1.0);
  Filter filter;
  filter.taps = 2 * static_cast<std::size_t>(std::ceil(reach)) + 1;
  filter.weight.resize(static_cast<std::size_t>(to) * filter.taps);
  std::vector<double> weights(filter.taps);
  for (Index i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const Index first = std::max<Index>(static_cast<Index>(std::floor(center - reach + 0.5)), 0);
    const Index count = std::min(static_cast<Index>(std::floor(center + reach + 0.5)), from) - first;
    double sum = 0;
    for (Index k = 0; k < count; ++k) {
      const double distance = std::abs((static_cast<double>(k + first) - center + 0.5) / reach);
      weights[static_cast<std::size_t>(k)] = std::max(0.0, 1 - distance);
      sum += weights[static_cast<std::size_t>(k)];
    }
    for (Index k = 0; k < count; ++k)
      filter.weight[static_cast<std::size_t>(i) * filter.taps + static_cast<std::size_t>(k)] =
          static_cast<std::int32_t>(
              std::floor(0.5 + weights[static_cast<std::size_t>(k)] / sum * (1 << kBits)));
    filter.first.push_back(first);
    filter.count.push_back(count);
  }
  return filter;
}

std::uint8_t rounded(std::int32_t sum) { return static_cast<std::uint8_t>(std::clamp(sum >> kBits, 0, 255)); }

constexpr std::int32_t kHalf = 1 << (kBits - 1);

/// Rows of `width` pixels, `stride` bytes apart, to rows of filter.first.size() pixels.
void along_rows(const std::uint8_t* from, Index stride, Index rows, const Filter& filter, std::uint8_t* to) {
  for (Index row = 0; row < rows; ++row, from += stride)
    for (std::size_t i = 0; i < filter.first.size(); ++i, to += 3) {
      const std::int32_t* weight = filter.weight.data() + i * filter.taps;
      const std::uint8_t* pixel = from + 3 * filter.first[i];
      std::int32_t red = kHalf, green = kHalf, blue = kHalf;
      for (Index k = 0; k < filter.count[i]; ++k, pixel += 3) {
        red += weight[k] * pixel[0];
        green += weight[k] * pixel[1];
        blue += weight[k] * pixel[2];
      }
      to[0] = rounded(red);
      to[1] = rounded(green);
      to[2] = rounded(blue);
    }
}

/// Rows of `bytes` bytes, `stride` apart, to filter.first.size() rows.
void along_columns(const std::uint8_t* from, Index stride, Index bytes, const Filter& filter,
                   std::uint8_t* to) {
  std::vector<std::int32_t> sum(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < filter.first.size(); ++i, to += bytes) {
    std::ranges::fill(sum, kHalf);
    for (Index k = 0; k < filter.count[i]; ++k) {
      const std::int32_t weight = filter.weight[i * filter.taps + static_cast<std::size_t>(k)];
      const std::uint8_t* row = from + (filter.first[i] + k) * stride;
      for (Index j = 0; j < bytes; ++j) sum[static_cast<std::size_t>(j)] += weight * row[j];
    }
    for (Index j = 0; j < bytes; ++j) to[j] = rounded(sum[static_cast<std::size_t>(j)]);
  }
}

}  // namespace

Image internal::resize_window(const ImageView& image, const Window& window, Index height, Index width) {
  const std::uint8_t* from = image.pixels + 3 * (window.top * image.width + window.left);
  Index stride = 3 * image.width;
  std::vector<std::uint8_t> narrowed;
  if (width != window.width) {
    narrowed.resize(static_cast<std::size_t>(3 * window.height * width));
    along_rows(from, stride, window.height, triangle(window.width, width), narrowed.data());
    from = narrowed.data();
    stride = 3 * width;
  }
  Image result{height, width, {}};
  if (height == window.height && !narrowed.empty()) {
    result.pixels = std::move(narrowed);
    return result;
  }
  result.pixels.resize(static_cast<std::size_t>(3 * height * width));
  if (height != window.height)
    along_columns(from, stride, 3 * width, triangle(window.height, height), result.pixels.data());
  else
    for (Index row = 0; row < height; ++row)
      std::copy_n(from + row * stride, 3 * width, result.pixels.data() + row * 3 * width);
  return result;
}

Image resize(const Image& image, Index height, Index width) {
  if (height < 1 || width < 1)
    throw std::invalid_argument(
        fmt::format("resize: height and width must be >= 1; got {} x {}", height, width));
  if (image.height < 1 || image.width < 1 ||
      static_cast<Index>(image.pixels.size()) != 3 * image.height * image.width)
    throw std::invalid_argument(
        fmt::format("resize: an image of {} x {} has {} numbers; expected height x "
                    "width x 3, at least one pixel",
                    image.height, image.width, image.pixels.size()));
  return resize_window(image, {0, 0, image.height, image.width}, height, width);
}

}  // namespace zeroloss
