#include "present/pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/json.hpp"

namespace zeroloss::internal {
namespace {

constexpr Index kMost = 256;  // pixels each way: larger pictures are shrunk, by means of whole pixels

/// How pixels are read, and written: `times` x `times` of them are one.
struct Layout {
  PictureSize size;
  Index times = 1, channels = 1;
  double least = 0, scale = 1;  // a level is (x - least) scale

  Index height() const { return size.height / times; }
  Index width() const { return size.width / times; }
};

Layout layout(const Dataset& data) {
  Layout made{.size = picture_of(data)};
  if (made.size.height == 0 || data.stored) return {};
  made.times = (std::max(made.size.height, made.size.width) + kMost - 1) / kMost;
  if (std::min(made.size.height, made.size.width) < made.times) return {};
  made.channels = made.size.planes < 3 ? 1 : 3;  // a fourth is what shines through
  made.least = std::min(0.0, data.X.minCoeff());
  const double most = data.X.maxCoeff() - made.least;
  if (most > 0) made.scale = 255 / most;
  return made;
}

std::string pixels(const double* x, const Layout& l) {
  std::string text;
  const PictureSize& s = l.size;
  const Index step = s.together ? s.planes : 1, next = s.together ? 1 : s.height * s.width;
  for (Index r = 0; r < l.height(); ++r)
    for (Index column = 0; column < l.width(); ++column)
      for (Index c = 0; c < l.channels; ++c) {
        double sum = 0;
        for (Index i = r * l.times; i < (r + 1) * l.times; ++i)
          for (Index j = column * l.times; j < (column + 1) * l.times; ++j)
            sum += x[(i * s.width + j) * step + c * next] - l.least;
        text += fmt::format("{:02x}", std::lround(l.scale * sum / static_cast<double>(l.times * l.times)));
      }
  return text;
}

}  // namespace

std::string pictures_json(const Dataset& data, const std::vector<Index>& records) {
  const Layout l = layout(data);
  if (l.size.height == 0) return "";
  std::unordered_map<Index, Index> rows;
  for (Index i = 0; i < data.n(); ++i) rows.emplace(data.records[static_cast<std::size_t>(i)], i);
  Json samples = Json::object();
  for (const Index record : records)
    if (const auto row = rows.find(record); row != rows.end())
      samples[fmt::to_string(record)] = pixels(data.X.row(row->second).data(), l);
  return Json{{"height", l.height()}, {"width", l.width()}, {"channels", l.channels}, {"samples", samples}}
      .dump(1);
}

void write_pictures(RunFolder& folder, const Dataset& data, const std::vector<Index>& records) {
  if (const std::string pictures = pictures_json(data, records); !pictures.empty())
    folder.write("pictures.json", pictures + "\n");
}

}  // namespace zeroloss::internal
