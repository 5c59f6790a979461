#include "zeroloss/chart/chart.hpp"

#include <algorithm>
#include <cmath>

#include "chart/vega.hpp"

namespace zeroloss {
using namespace internal;
namespace {

// Powers of ten beyond 0.001 .. 1,000 are written as 1e4. What Vega leaves unlabelled stays so.
constexpr const char* kLogLabel =
    "datum.label == '' ? '' : datum.value >= 1e4 || datum.value < 1e-3 ? "
    "replace(format(datum.value, '.0e'), '+', '') : format(datum.value, ',~g')";

// Lines at powers of ten stand out from those between.
constexpr const char* kIsPowerOfTen = "abs(log(datum.value) / LN10 - round(log(datum.value) / LN10)) < 1e-6";

Json channel(const std::string& field, const Axis& axis) {
  Json scale = axis.log ? Json{{"type", "log"}} : Json{{"zero", false}};
  Json marks{{"tickCount", 6}};
  if (axis.log) {
    marks["labelExpr"] = kLogLabel;
    marks["gridOpacity"] = {{"condition", {{"test", kIsPowerOfTen}, {"value", 1}}}, {"value", 0.35}};
  }
  return {
      {"field", field}, {"type", "quantitative"}, {"title", axis.title}, {"scale", scale}, {"axis", marks}};
}

// A horizontal axis that ends where the data end.
Json tight(Json channel) {
  channel["scale"]["nice"] = false;
  return channel;
}

bool drawable(double value, const Axis& axis) { return std::isfinite(value) && (!axis.log || value > 0); }

// Which points of a curve are drawn: all, or of more than kMost those that lie in another kMost-th of the
// axis than the one drawn before. One to a pixel is all that can be seen.
std::vector<std::size_t> drawn(const Curve& curve, const Axis& x, const Axis& y) {
  constexpr std::size_t kMost = 1000;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < curve.x.size(); ++i)
    if (drawable(curve.x[i], x) && drawable(curve.y[i], y)) all.push_back(i);
  if (all.size() <= kMost) return all;
  const auto at = [&](std::size_t i) { return x.log ? std::log(curve.x[i]) : curve.x[i]; };
  const auto before = [&](std::size_t i, std::size_t j) { return at(i) < at(j); };
  const auto [least, most] = std::minmax_element(all.begin(), all.end(), before);
  const double low = at(*least), width = (at(*most) - low) / kMost;
  const auto part = [&](std::size_t i) { return width > 0 ? std::floor((at(i) - low) / width) : 0; };
  std::vector<std::size_t> kept;
  for (const std::size_t i : all)
    if (kept.empty() || i == all.back() || part(i) != part(kept.back())) kept.push_back(i);
  return kept;
}

}  // namespace

Json internal::vega_frame(const std::string& title) {
  return {{"$schema", "https://vega.github.io/schema/vega-lite/v5.json"},
          {"title", {{"text", title}, {"anchor", "start"}, {"fontSize", 14}}},
          {"width", 520},
          {"height", 300},
          {"config",
           {{"view", {{"stroke", nullptr}}},
            {"axis", {{"gridOpacity", 0.7}, {"domain", false}, {"ticks", false}, {"labelPadding", 6}}},
            {"legend", {{"orient", "bottom"}, {"columns", 2}, {"labelLimit", 300}}},
            {"numberFormat", ",.6~g"}}}};
}

std::string internal::vega_text(const Json& spec) { return spec.dump(1) + "\n"; }

std::string line_chart(const std::string& title, const Axis& x, const Axis& y,
                       const std::vector<Curve>& curves) {
  Json values = Json::array();
  bool bands = false, lone = false;
  for (const auto& curve : curves) {
    const std::vector<std::size_t> points = drawn(curve, x, y);
    for (const std::size_t i : points) {
      Json point{{"curve", curve.name}, {"x", curve.x[i]}, {"y", curve.y[i]}};
      if (!curve.band.empty() && drawable(curve.y[i] - curve.band[i], y)) {
        point["low"] = curve.y[i] - curve.band[i];
        point["high"] = curve.y[i] + curve.band[i];
        bands = true;
      }
      if (points.size() == 1) {
        point["lone"] = true;
        lone = true;
      }
      values.push_back(point);
    }
  }
  Json colour{{"field", "curve"}, {"type", "nominal"}, {"title", nullptr}, {"sort", nullptr}};
  colour["legend"] = curves.size() < 2 ? Json() : Json{{"symbolType", "stroke"}, {"symbolStrokeWidth", 3}};
  Json layers = Json::array();
  if (bands)
    layers.push_back({{"mark", {{"type", "area"}, {"opacity", 0.2}}},
                      {"transform", {{{"filter", "isValid(datum.low)"}}}},
                      {"encoding", {{"y", channel("low", y)}, {"y2", {{"field", "high"}}}}}});
  // Points that only the pointer finds: a line by itself would tell of its first one wherever it is touched.
  layers.push_back(
      {{"mark", {{"type", "line"}, {"point", {{"opacity", 0}, {"size", 150}}}, {"tooltip", true}}},
       {"encoding", {{"y", channel("y", y)}}}});
  if (lone)  // no line goes through a curve of one point
    layers.push_back({{"mark", {{"type", "point"}, {"filled", true}, {"size", 90}, {"opacity", 1}}},
                      {"transform", {{{"filter", "datum.lone"}}}},
                      {"encoding", {{"y", channel("y", y)}}}});
  Json spec = vega_frame(title);
  spec["data"] = {{"values", values}};
  spec["encoding"] = {{"x", tight(channel("x", x))}, {"color", colour}};
  spec["layer"] = layers;
  return vega_text(spec);
}

std::string dot_chart(const std::string& title, const Axis& value, const std::vector<Bar>& bars) {
  Json values = Json::array();
  bool groups = false;
  for (const auto& bar : bars) {
    if (!drawable(bar.value, value)) continue;
    values.push_back({{"name", bar.name}, {"group", bar.group}, {"value", bar.value}});
    groups |= !bar.group.empty();
  }
  Json points{
      {"mark", {{"type", "point"}, {"filled", true}, {"size", 90}, {"opacity", 1}, {"tooltip", true}}},
      {"encoding", Json::object()}};
  if (groups) points["encoding"]["color"] = {{"field", "group"}, {"type", "nominal"}, {"title", nullptr}};
  const Json names{{"mark",
                    {{"type", "text"},
                     {"align", "left"},
                     {"baseline", "bottom"},
                     {"dy", -6},
                     {"limit", {{"expr", "width - 4"}}}}},
                   {"encoding", {{"text", {{"field", "name"}}}, {"x", {{"value", 2}}}}}};
  Json spec = vega_frame(title);
  spec["height"] = {{"step", 40}};
  spec["data"] = {{"values", values}};
  spec["encoding"] = {{"x", channel("value", value)},
                      {"y", {{"field", "name"}, {"type", "nominal"}, {"sort", nullptr}, {"axis", nullptr}}}};
  spec["layer"] = {names, points};
  return vega_text(spec);
}

}  // namespace zeroloss
