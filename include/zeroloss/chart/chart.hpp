#pragma once
#include <string>
#include <vector>

/// Figures as Vega-Lite 5 specifications with their data inside: any Vega-Lite viewer draws them.
namespace zeroloss {

struct Axis {
  std::string title;
  bool log = false;
};

/// A named curve. `band` (optional, same length) is drawn as y +- band.
struct Curve {
  std::string name;
  std::vector<double> x, y, band;
};

/// Curves over a common pair of axes; a point's values show on pointing at it. Points that are not finite, or
/// not positive on a log axis, are left out.
std::string line_chart(const std::string& title, const Axis& x, const Axis& y,
                       const std::vector<Curve>& curves);

/// One side of a heat map: an axis with a value for every row or column. Values that are all numbers stand
/// where they belong, on a log scale if they span a factor of 32; others stand side by side.
struct Side {
  std::string title;
  std::vector<std::string> values;
};

/// A vertical bar from low to high at x.
struct Span {
  double x = 0, low = 0, high = 0;
};

/// Values in [0, 1] (NaN: left out) over a grid, number [i * y.values.size() + j] at x.values[i],
/// y.values[j], with a text for each that shows on pointing at it. Lines and spans are drawn over it if both
/// sides are numbers.
struct HeatMap {
  std::string title, value_title;
  Side x, y;
  std::vector<double> values;
  std::vector<std::string> notes;
  std::vector<Curve> lines;
  std::vector<Span> spans;
};
std::string heat_map(const HeatMap& map);

struct Bar {
  std::string name, group;
  double value = 0;
};

/// One dot a bar, its name above it, in the order given; right for log axes, where bars have no foot.
std::string dot_chart(const std::string& title, const Axis& value, const std::vector<Bar>& bars);

}  // namespace zeroloss
