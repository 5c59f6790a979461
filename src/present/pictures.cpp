#include "present/pictures.hpp"

#include <fmt/format.h>

#include <cmath>
#include <unordered_map>

#include "base/json.hpp"

namespace zeroloss::internal {
namespace {

struct Shape {
  Index height = 0, width = 0, channels = 1;
};

Shape shape(const Dataset& data) {
  if (data.picture.height > 0) return {data.picture.height, data.picture.width, data.picture.planes};
  const Index d = data.d();
  if (d == 8 * 8) return {8, 8};
  if (d == 28 * 28) return {28, 28};
  if (d == 3 * 32 * 32) return {32, 32, 3};
  return {};
}

bool are_pixels(const RowMatrix& X) {
  if (X.minCoeff() < 0 || X.maxCoeff() > 255 || X.maxCoeff() == 0) return false;
  return X.maxCoeff() <= 1 || (X.array() == X.array().floor()).all();
}

std::string pixels(const double* planes, const Shape& s, double scale) {
  std::string text;
  const Index size = s.height * s.width;
  for (Index at = 0; at < size; ++at)
    for (Index c = 0; c < s.channels; ++c)
      text += fmt::format("{:02x}", std::lround(scale * planes[c * size + at]));
  return text;
}

}  // namespace

std::string pictures_json(const Dataset& data, const std::vector<Index>& records) {
  const Shape s = shape(data);
  const bool pictures = data.picture.height > 0 || (s.height > 0 && are_pixels(data.X));
  if (data.stored || !pictures) return "";
  std::unordered_map<Index, Index> rows;
  for (Index i = 0; i < data.n(); ++i) rows.emplace(data.records[static_cast<std::size_t>(i)], i);
  const double most = data.X.maxCoeff(), scale = most > 0 ? 255 / most : 1;
  Json samples = Json::object();
  for (const Index record : records)
    if (const auto row = rows.find(record); row != rows.end())
      samples[fmt::to_string(record)] = pixels(data.X.row(row->second).data(), s, scale);
  return Json{{"height", s.height}, {"width", s.width}, {"channels", s.channels}, {"samples", samples}}.dump(
      1);
}

void write_pictures(RunFolder& folder, const Dataset& data, const std::vector<Index>& records) {
  if (const std::string pictures = pictures_json(data, records); !pictures.empty())
    folder.write("pictures.json", pictures + "\n");
}

}  // namespace zeroloss::internal
