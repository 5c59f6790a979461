#include "zeroloss/core/chart.hpp"

#include <cmath>

#include "core/vega.hpp"

namespace zeroloss {
namespace {

Json channel(const std::string& field, const Axis& axis) {
  Json scale = axis.log ? Json{{"type", "log"}} : Json{{"zero", false}};
  Json encoding{{"field", field}, {"type", "quantitative"}, {"title", axis.title}, {"scale", scale}};
  if (axis.log) encoding["axis"] = {{"format", ".0e"}, {"tickCount", 6}};
  return encoding;
}

bool drawable(double value, const Axis& axis) { return std::isfinite(value) && (!axis.log || value > 0); }

}  // namespace

Json vega_frame(const std::string& title) {
  return {{"$schema", "https://vega.github.io/schema/vega-lite/v5.json"},
          {"title", {{"text", title}, {"anchor", "start"}, {"fontSize", 14}}},
          {"width", 520},
          {"height", 300},
          {"config", {{"view", {{"stroke", nullptr}}}, {"axis", {{"gridOpacity", 0.4}, {"domain", false}}}}}};
}

std::string vega_text(const Json& spec) {
  return spec.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string line_chart(const std::string& title, const Axis& x, const Axis& y,
                       const std::vector<Curve>& curves) {
  Json values = Json::array();
  bool bands = false;
  for (const auto& curve : curves)
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      if (!drawable(curve.x[i], x) || !drawable(curve.y[i], y)) continue;
      Json point{{"curve", curve.name}, {"x", curve.x[i]}, {"y", curve.y[i]}};
      if (!curve.band.empty() && drawable(curve.y[i] - curve.band[i], y)) {
        point["low"] = curve.y[i] - curve.band[i];
        point["high"] = curve.y[i] + curve.band[i];
        bands = true;
      }
      values.push_back(point);
    }
  Json colour{{"field", "curve"}, {"type", "nominal"}, {"title", nullptr}, {"sort", nullptr}};
  if (curves.size() < 2) colour["legend"] = nullptr;
  Json layers = Json::array();
  if (bands)
    layers.push_back({{"mark", {{"type", "area"}, {"opacity", 0.2}}},
                      {"transform", {{{"filter", "isValid(datum.low)"}}}},
                      {"encoding", {{"y", channel("low", y)}, {"y2", {{"field", "high"}}}}}});
  layers.push_back({{"mark", {{"type", "line"}, {"tooltip", true}}}, {"encoding", {{"y", channel("y", y)}}}});
  Json spec = vega_frame(title);
  spec["data"] = {{"values", values}};
  spec["encoding"] = {{"x", channel("x", x)}, {"color", colour}};
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
  Json spec = vega_frame(title);
  spec["height"] = {{"step", 26}};
  spec["data"] = {{"values", values}};
  spec["mark"] = {{"type", "point"}, {"filled", true}, {"size", 90}, {"tooltip", true}};
  spec["encoding"] = {{"x", channel("value", value)},
                      {"y",
                       {{"field", "name"},
                        {"type", "nominal"},
                        {"sort", nullptr},
                        {"title", nullptr},
                        {"axis", {{"labelLimit", 360}, {"grid", true}}}}}};
  if (groups) spec["encoding"]["color"] = {{"field", "group"}, {"type", "nominal"}, {"title", nullptr}};
  return vega_text(spec);
}

}  // namespace zeroloss
