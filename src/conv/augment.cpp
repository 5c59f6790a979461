#include "zeroloss/conv/augment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "images/resize.hpp"

namespace zeroloss {
using namespace internal;
namespace {

/// size x size pixels at (top, left) of an image; pixels outside of it are zero.
struct Square {
  const ImageView& image;
  Index top, left, size;

  /// The part of it that lies in the image: rows and columns of the square.
  Index first_row() const { return std::clamp<Index>(-top, 0, size); }
  Index last_row() const { return std::clamp(image.height - top, first_row(), size); }
  Index first_column() const { return std::clamp<Index>(-left, 0, size); }
  Index last_column() const { return std::clamp(image.width - left, first_column(), size); }
  const std::uint8_t* at(Index row, Index column) const {
    return image.pixels + 3 * ((top + row) * image.width + left + column);
  }
};

/// The standardised value of every byte. With at most 3 * 1024^2 numbers all sums are exact in 64 bits.
std::array<float, 256> standardization(const Square& square) {
  std::uint64_t sum = 0, squares = 0;
  const Index count = 3 * (square.last_column() - square.first_column());
  for (Index row = square.first_row(); row < square.last_row(); ++row) {
    const std::uint8_t* pixels = square.at(row, square.first_column());
    std::uint32_t row_sum = 0, row_squares = 0;
    for (Index j = 0; j < count; ++j) {
      row_sum += pixels[j];
      row_squares += std::uint32_t{pixels[j]} * pixels[j];
    }
    sum += row_sum;
    squares += row_squares;
  }
  const auto numbers = static_cast<std::uint64_t>(3 * square.size * square.size);
  const auto n = static_cast<double>(numbers);
  const double mean = static_cast<double>(sum) / n;
  const double deviation = std::sqrt(static_cast<double>(numbers * squares - sum * sum)) / n;
  const double divisor = std::max(deviation, 1 / std::sqrt(n));
  std::array<float, 256> table;
  for (std::size_t p = 0; p < table.size(); ++p)
    table[p] = static_cast<float>((static_cast<double>(p) - mean) / divisor);
  return table;
}

template <int direction>
void write_row(const std::uint8_t* pixel, Index count, const std::array<float, 256>& table, float* x) {
  for (Index j = 0; j < count; ++j, pixel += 3, x += 3 * direction)
    for (Index c = 0; c < 3; ++c) x[c] = table[pixel[c]];
}

void write(const Square& square, bool flipped, float* x) {
  const std::array<float, 256> table = standardization(square);
  const Index begin = square.first_column(), end = square.last_column(), row_numbers = 3 * square.size;
  for (Index row = 0; row < square.size; ++row, x += row_numbers) {
    const bool inside = row >= square.first_row() && row < square.last_row() && begin < end;
    if (!inside || begin > 0 || end < square.size) std::fill_n(x, row_numbers, table[0]);
    if (!inside) continue;
    if (flipped)
      write_row<-1>(square.at(row, begin), end - begin, table, x + 3 * (square.size - 1 - begin));
    else
      write_row<1>(square.at(row, begin), end - begin, table, x + 3 * begin);
  }
}

void cut_out(Index side, Index size, Random& random, float* x) {
  const Index top = static_cast<Index>(random.below(static_cast<std::uint64_t>(size))) - side / 2;
  const Index left = static_cast<Index>(random.below(static_cast<std::uint64_t>(size))) - side / 2;
  const Index begin = std::max<Index>(left, 0), end = std::min(left + side, size);
  for (Index row = std::max<Index>(top, 0); row < std::min(top + side, size); ++row)
    std::fill(x + 3 * (row * size + begin), x + 3 * (row * size + end), 0.0F);
}

Index rounded(double x) { return static_cast<Index>(std::floor(x + 0.5)); }

/// A window of random area and shape, see augment().
Window random_window(const ImageView& image, Random& random) {
  constexpr double kLeastScale = 0.08, kLeastRatio = 3.0 / 4, kMostRatio = 4.0 / 3;
  const auto area = static_cast<double>(image.height * image.width);
  for (int trial = 0; trial < 10; ++trial) {
    const double part = area * (kLeastScale + (1 - kLeastScale) * random.uniform());
    const double ratio =
        std::exp(std::log(kLeastRatio) + std::log(kMostRatio / kLeastRatio) * random.uniform());
    const Index height = rounded(std::sqrt(part / ratio)), width = rounded(std::sqrt(part * ratio));
    if (height < 1 || width < 1 || height > image.height || width > image.width) continue;
    const auto place = [&](Index free) {
      return static_cast<Index>(random.below(static_cast<std::uint64_t>(free + 1)));
    };
    const Index top = place(image.height - height);
    return {top, place(image.width - width), height, width};
  }
  const auto h = static_cast<double>(image.height), w = static_cast<double>(image.width);
  const Index height = std::min(image.height, std::max<Index>(1, rounded(w / kLeastRatio)));
  const Index width = std::min(image.width, std::max<Index>(1, rounded(h * kMostRatio)));
  return {(image.height - height) / 2, (image.width - width) / 2, height, width};
}

void check_size(const char* function, const ImageView& image, const Augment& options, Index size) {
  if (image.height != size || image.width != size)
    throw std::invalid_argument(fmt::format("{}: crop = {} needs images of {} x {}; got {} x {}", function,
                                            options.crop, size, size, image.height, image.width));
}

}  // namespace

Index check_augment(const Augment& options, const ImageSet& images) {
  const auto check = [](const char* name, Index value, Index least, Index most) {
    if (value < least || value > most)
      throw std::invalid_argument(
          fmt::format("augment: {} must be {} to {}; got {}", name, least, most, value));
  };
  if (options.crop != "pad" && options.crop != "resized" && options.crop != "none")
    throw std::invalid_argument(
        fmt::format("augment: crop must be pad, resized or none; got '{}'", options.crop));
  if (options.size == 0 && !images.in_memory())
    throw std::invalid_argument("augment: size must be given where images are files");
  const Index size = options.size == 0 ? images.height : options.size;
  check("size", size, 1, 1024);
  if (options.crop == "pad") check("pad", options.pad, 0, size);
  check("cutout", options.cutout, 0, size);
  if (images.in_memory() && options.crop != "resized")
    check_size("augment", {nullptr, images.height, images.width}, options, size);
  return size;
}

void augment(const ImageView& image, const Augment& options, Index size, Random random, float* x) {
  Image part;
  Index top = 0, left = 0;
  if (options.crop == "resized") {
    part = resize_window(image, random_window(image, random), size, size);
  } else {
    check_size("augment", image, options, size);
    if (options.crop == "pad" && options.pad > 0) {
      const auto places = static_cast<std::uint64_t>(2 * options.pad + 1);
      top = static_cast<Index>(random.below(places)) - options.pad;
      left = static_cast<Index>(random.below(places)) - options.pad;
    }
  }
  const bool flipped = options.flip && random.below(2) == 1;
  write({part.pixels.empty() ? image : ImageView(part), top, left, size}, flipped, x);
  if (options.cutout > 0) cut_out(options.cutout, size, random, x);
}

void prepare(const ImageView& image, const Augment& options, Index size, float* x) {
  if (options.crop != "resized" || (image.height == size && image.width == size)) {
    check_size("prepare", image, options, size);
    return write({image, 0, 0, size}, false, x);
  }
  const Index shorter = rounded(static_cast<double>(size) * 256 / 224),
              least = std::min(image.height, image.width);
  const Image resized = resize_window(image, {0, 0, image.height, image.width},
                                      image.height * shorter / least, image.width * shorter / least);
  write({resized, (resized.height - size) / 2, (resized.width - size) / 2, size}, false, x);
}

}  // namespace zeroloss
