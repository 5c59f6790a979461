#include "graph/window.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace zeroloss::internal::graph {
namespace {

// An attribute of one integer an axis.
Shape each(const Call& call, const std::string& name, std::size_t count, Index otherwise, Index least) {
  const auto* list = call.node.find<std::vector<std::int64_t>>(name);
  if (list == nullptr) return Shape(count, otherwise);
  if (list->size() != count) call.refuse(fmt::format("its {} are {}, not {}", name, list->size(), count));
  constexpr Index kMost = 1 << 20;
  for (const std::int64_t value : *list)
    if (value < least || value > kMost) call.refuse(fmt::format("{} of its {} is not read", value, name));
  return {list->begin(), list->end()};
}

}  // namespace

Windows windows_of(const Call& call, const Shape& sizes, Shape kernel) {
  const std::size_t axes = sizes.size();
  if (axes == 0) call.refuse("its input has no axes behind the channels");
  const bool said = call.node.find<std::vector<std::int64_t>>("kernel_shape") != nullptr;
  if (kernel.empty() && !said) call.refuse("it has no kernel_shape");
  const Shape asked = said ? each(call, "kernel_shape", axes, 1, 1) : kernel;
  if (!kernel.empty() && asked != kernel) call.refuse("its kernel_shape is not that of its weights");
  kernel = asked;
  if (kernel.size() != axes) call.refuse(fmt::format("its windows have {} axes of {}", kernel.size(), axes));
  const Shape strides = each(call, "strides", axes, 1, 1), dilations = each(call, "dilations", axes, 1, 1);
  Shape pads = each(call, "pads", 2 * axes, 0, 0);
  const auto* automatic = call.node.find<std::string>("auto_pad");
  const std::string pad = automatic == nullptr ? "NOTSET" : *automatic;
  const bool up = call.node.integer("ceil_mode", 0) != 0;
  constexpr Index kMost = Index{1} << 28;
  const auto times = [&](Index all, Index more) {
    if (all > kMost / std::max<Index>(more, 1)) call.refuse("its windows have more than 2^28 cells");
    return all * more;
  };
  Windows w;
  for (std::size_t a = 0; a < axes; ++a) {
    const Index reach = (kernel[a] - 1) * dilations[a] + 1;
    if (pad == "SAME_UPPER" || pad == "SAME_LOWER") {
      const Index out = (sizes[a] + strides[a] - 1) / strides[a];
      const Index all = std::max<Index>(0, (out - 1) * strides[a] + reach - sizes[a]);
      const Index less = all / 2;
      pads[a] = pad == "SAME_UPPER" ? less : all - less;
      pads[axes + a] = all - pads[a];
    } else if (pad == "VALID") {
      pads[a] = pads[axes + a] = 0;
    } else if (pad != "NOTSET") {
      call.refuse(fmt::format("its auto_pad '{}' is not known", pad));
    }
    const Index room = sizes[a] + pads[a] + pads[axes + a] - reach;
    if (room < 0) call.refuse(fmt::format("its windows of {} do not fit into {} numbers", reach, sizes[a]));
    Index out = room / strides[a] + 1;
    if (up && room % strides[a] != 0 && out * strides[a] < sizes[a] + pads[a]) ++out;  // it starts inside
    w.out.push_back(out);
    w.count = times(w.count, out);
    w.cells = times(w.cells, kernel[a]);
    w.overlap *= static_cast<double>((kernel[a] + strides[a] - 1) / strides[a]);
  }
  if (dilations != Shape(axes, 1)) w.overlap = static_cast<double>(w.cells);
  require_room({w.cells, w.count}, 1);
  w.places.resize(static_cast<std::size_t>(times(w.cells, w.count)));
  w.within.assign(static_cast<std::size_t>(w.count), 0);
  for (Index cell = 0; cell < w.cells; ++cell)
    for (Index window = 0; window < w.count; ++window) {
      Index place = 0, rest_cell = cell, rest_window = window, step = 1;
      bool inside = true, padded = true;
      for (std::size_t a = axes; a-- > 0;) {
        const Index k = rest_cell % kernel[a], o = rest_window % w.out[a];
        rest_cell /= kernel[a];
        rest_window /= w.out[a];
        const Index at = o * strides[a] + k * dilations[a] - pads[a];
        inside = inside && at >= 0 && at < sizes[a];
        padded = padded && at < sizes[a] + pads[axes + a];
        place += at * step;
        step *= sizes[a];
      }
      w.places[static_cast<std::size_t>(cell * w.count + window)] = inside ? place : -1;
      if (padded) ++w.within[static_cast<std::size_t>(window)];
    }
  return w;
}

}  // namespace zeroloss::internal::graph
