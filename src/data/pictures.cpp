#include "zeroloss/data/dataset.hpp"

namespace zeroloss {
namespace {

/// Levels of pixels: whole numbers up to 255, or numbers in [0, 1].
bool are_pixels(const RowMatrix& X) {
  const double most = X.maxCoeff();
  if (X.minCoeff() < 0 || most > 255 || most == 0) return false;
  return most <= 1 || (X.array() == X.array().floor()).all();
}

}  // namespace

PictureSize picture_of_sizes(const std::vector<Index>& sizes) {
  const auto colours = [](Index planes) { return planes == 1 || planes == 3 || planes == 4; };
  if (sizes.size() == 2) return {sizes[0], sizes[1], 1};
  if (sizes.size() != 3) return {};
  if (colours(sizes[2])) return {sizes[0], sizes[1], sizes[2], true};
  if (colours(sizes[0])) return {sizes[1], sizes[2], sizes[0]};
  return {};
}

PictureSize picture_of(const Dataset& data) {
  if (data.picture.height > 0 || data.stored || data.X.size() == 0) return data.picture;
  const Index d = data.d();
  PictureSize guess;
  if (d == 8 * 8) guess = {8, 8, 1};
  if (d == 28 * 28) guess = {28, 28, 1};
  if (d == 3 * 32 * 32) guess = {32, 32, 3};
  return guess.height > 0 && are_pixels(data.X) ? guess : PictureSize{};
}

}  // namespace zeroloss
