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

/// Curves over a common pair of axes. Points that are not finite, or not positive on a log axis, are left
/// out.
std::string line_chart(const std::string& title, const Axis& x, const Axis& y,
                       const std::vector<Curve>& curves);

struct Bar {
  std::string name, group;
  double value = 0;
};

/// One labelled dot and stem a bar, in the order given; right for log axes, where bars have no foot.
std::string dot_chart(const std::string& title, const Axis& value, const std::vector<Bar>& bars);

}  // namespace zeroloss
