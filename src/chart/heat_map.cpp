#include <algorithm>
#include <cmath>

#include "chart/vega.hpp"
#include "zeroloss/base/parse.hpp"

namespace zeroloss {
using namespace internal;
namespace {

// Where the rectangles of a side begin and end.
struct Edges {
  bool numeric = true, log = false;
  std::vector<double> low, high;
  double least() const { return *std::min_element(low.begin(), low.end()); }
  double most() const { return *std::max_element(high.begin(), high.end()); }
};

// Halfway to the neighbours, in the scale of the axis.
Edges edges(const Side& side) {
  Edges result;
  std::vector<double> numbers;
  for (const std::string& value : side.values) {
    const auto number = parsed_number(value);
    numbers.push_back(number.value_or(0));
    result.numeric = result.numeric && number;
  }
  if (!result.numeric) return result;
  std::vector<double> sorted = numbers;
  std::sort(sorted.begin(), sorted.end());
  constexpr double kSpan = 32;
  result.log = sorted.front() > 0 && sorted.back() >= kSpan * sorted.front();
  if (result.log)
    for (double& v : sorted) v = std::log(v);
  for (const double number : numbers) {
    const double v = result.log ? std::log(number) : number;
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), v);
    const bool first = at == sorted.begin(), last = std::next(at) == sorted.end();
    const double below = first ? (last ? 0.5 : (at[1] - v) / 2) : (v - at[-1]) / 2;
    const double above = last ? below : (at[1] - v) / 2;
    result.low.push_back(result.log ? std::exp(v - below) : v - below);
    result.high.push_back(result.log ? std::exp(v + above) : v + above);
  }
  return result;
}

void add_side(Json& encoding, const std::string& name, const Side& side, const Edges& at) {
  if (!at.numeric) {
    encoding[name] = {{"field", name}, {"type", "ordinal"}, {"sort", nullptr}, {"title", side.title}};
    constexpr std::size_t kFew = 4;  // whose names have room beside each other
    if (name == "x" && side.values.size() <= kFew) encoding[name]["axis"] = {{"labelAngle", 0}};
    return;
  }
  Json scale{{"domain", {at.least(), at.most()}}, {"nice", false}, {"zero", false}};
  if (at.log) scale["type"] = "log";
  encoding[name] = {{"field", name},
                    {"type", "quantitative"},
                    {"title", side.title},
                    {"scale", scale},
                    {"axis", {{"grid", false}}}};
  encoding[name + "2"] = {{"field", name + "_end"}};
}

void place(Json& cell, const std::string& name, const Side& side, const Edges& at, std::size_t k) {
  if (at.numeric) {
    cell[name] = at.low[k];
    cell[name + "_end"] = at.high[k];
  } else {
    cell[name] = side.values[k];
  }
}

Json cells_layer(const HeatMap& map, const Edges& x, const Edges& y) {
  Json cells = Json::array();
  for (std::size_t i = 0; i < map.x.values.size(); ++i)
    for (std::size_t j = 0; j < map.y.values.size(); ++j) {
      const std::size_t at = i * map.y.values.size() + j;
      if (std::isnan(map.values[at])) continue;
      Json cell{{"value", map.values[at]}, {"note", map.notes[at]}};
      place(cell, "x", map.x, x, i);
      place(cell, "y", map.y, y, j);
      cells.push_back(cell);
    }
  Json encoding{{"fill",
                 {{"field", "value"},
                  {"type", "quantitative"},
                  {"title", map.value_title},
                  {"legend", {{"orient", "top"}, {"direction", "horizontal"}, {"gradientLength", 160}}},
                  {"scale", {{"scheme", "viridis"}, {"domain", {0, 1}}}}}},
                {"tooltip", {{"field", "note"}, {"type", "nominal"}}}};
  add_side(encoding, "x", map.x, x);
  add_side(encoding, "y", map.y, y);
  return {{"data", {{"values", cells}}}, {"mark", {{"type", "rect"}}}, {"encoding", encoding}};
}

constexpr const char* kColours[] = {"#ff6d3a", "#ffffff", "#ff9ff3", "#7efff5"};

Json field(const char* name) { return {{"field", name}, {"type", "quantitative"}}; }

Json spans_layer(const HeatMap& map, const Edges& y) {
  Json spans = Json::array();
  for (const Span& span : map.spans)
    spans.push_back(
        {{"x", span.x}, {"y", std::max(y.least(), span.low)}, {"y_end", std::min(y.most(), span.high)}});
  return {{"data", {{"values", spans}}},
          {"mark", {{"type", "rule"}, {"stroke", kColours[0]}, {"opacity", 0.6}, {"clip", true}}},
          {"encoding", {{"x", field("x")}, {"y", field("y")}, {"y2", {{"field", "y_end"}}}}}};
}

Json lines_layer(const HeatMap& map, const Edges& x, const Edges& y) {
  Json points = Json::array(), names = Json::array(), colours = Json::array();
  for (std::size_t k = 0; k < map.lines.size(); ++k) {
    const Curve& line = map.lines[k];
    names.push_back(line.name);
    colours.push_back(kColours[k % std::size(kColours)]);
    for (std::size_t i = 0; i < line.x.size(); ++i)
      if (line.x[i] >= x.least() && line.x[i] <= x.most() && line.y[i] >= y.least() && line.y[i] <= y.most())
        points.push_back({{"x", line.x[i]}, {"y", line.y[i]}, {"line", line.name}});
  }
  const Json legend{{"orient", "bottom"}, {"direction", "vertical"}, {"fillColor", "#4a4a6a"},
                    {"padding", 6},       {"labelColor", "#ffffff"}, {"symbolStrokeWidth", 3}};
  return {{"data", {{"values", points}}},
          {"mark", {{"type", "line"}, {"strokeWidth", 2.5}, {"clip", true}}},
          {"encoding",
           {{"x", field("x")},
            {"y", field("y")},
            {"stroke",
             {{"field", "line"},
              {"type", "nominal"},
              {"title", nullptr},
              {"scale", {{"domain", names}, {"range", colours}}},
              {"legend", legend}}}}}};
}

}  // namespace

std::string heat_map(const HeatMap& map) {
  const Edges x = edges(map.x), y = edges(map.y);
  Json layers = Json::array({cells_layer(map, x, y)});
  const bool numbers = x.numeric && y.numeric;
  if (numbers && !map.spans.empty()) layers.push_back(spans_layer(map, y));
  if (numbers && !map.lines.empty()) layers.push_back(lines_layer(map, x, y));
  constexpr int kSide = 360;
  Json spec = vega_frame(map.title);
  spec["width"] = kSide;
  spec["height"] = kSide;
  spec["layer"] = layers;
  return vega_text(spec);
}

}  // namespace zeroloss
