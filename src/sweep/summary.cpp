#include "sweep/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "zeroloss/base/parse.hpp"

namespace zeroloss {
using namespace internal;
namespace {

// An axis as a summary sees it.
struct Axis {
  std::string name;
  std::vector<std::string> values;
  bool numeric;
  std::size_t stride = 1;  // between cells that differ by one in it
};

template <class T>
Axis axis(const char* name, const std::vector<T>& values) {
  Axis result{name, {}, !std::is_same_v<T, std::string>};
  for (const T& value : values) result.values.push_back(fmt::format("{}", value));
  if constexpr (std::is_same_v<T, std::string>)  // steps are numbers, unless one is auto or theorem
    result.numeric = std::all_of(values.begin(), values.end(),
                                 [](const std::string& value) { return parsed_number(value).has_value(); });
  return result;
}

// Those with more than one value, in the order of cell numbers.
std::vector<Axis> varying(const SweepAxes& a) {
  std::vector<Axis> all;
  fields(a, [&](const Field& field, const auto& values) { all.push_back(axis(field.name, values)); });
  std::size_t stride = 1;
  for (std::size_t k = all.size(); k-- > 0;) {
    all[k].stride = stride;
    stride *= std::max<std::size_t>(1, all[k].values.size());
  }
  std::erase_if(all, [](const Axis& one) { return one.values.size() < 2; });
  return all;
}

// y: the width if it varies, else the last numeric axis. x: another numeric axis, else any other.
void choose(std::vector<Axis>& axes, Axis& x, Axis& y) {
  const auto take = [&](auto found) {
    Axis taken = *found;
    axes.erase(found);
    return taken;
  };
  const auto numeric = [](const Axis& one) { return one.numeric; };
  auto found = std::find_if(axes.begin(), axes.end(), [](const Axis& one) { return one.name == "width"; });
  if (found == axes.end()) {
    const auto last = std::find_if(axes.rbegin(), axes.rend(), numeric);
    found = last == axes.rend() ? axes.begin() : std::prev(last.base());
  }
  y = take(found);
  if (axes.empty()) return;
  found = std::find_if(axes.begin(), axes.end(), numeric);
  x = take(found == axes.end() ? axes.begin() : found);
}

// The non-decreasing values nearest to the measured ones in the weighted least-squares sense: neighbours out
// of order are pooled.
std::vector<double> isotonic(const std::vector<double>& values, const std::vector<double>& weights) {
  struct Pool {
    double sum, weight;
    std::size_t count;
    double mean() const { return weight > 0 ? sum / weight : 0; }
  };
  std::vector<Pool> pools;
  for (std::size_t i = 0; i < values.size(); ++i) {
    pools.push_back({values[i] * weights[i], weights[i], 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back() = {pools.back().sum + last.sum, pools.back().weight + last.weight,
                      pools.back().count + last.count};
    }
  }
  std::vector<double> result;
  for (const Pool& pool : pools) result.insert(result.end(), pool.count, pool.mean());
  return result;
}

double misfit_to(const std::vector<double>& fitted, const std::vector<double>& values,
                 const std::vector<double>& weights) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += weights[i] * std::pow(fitted[i] - values[i], 2);
  return sum;
}

// Along a column of cells, by growing y.
Transition transition(const std::vector<double>& y, const std::vector<const CellResult*>& column) {
  std::vector<double> p, weights;
  for (const CellResult* cell : column) {
    if (cell->trials == 0) return {};
    p.push_back(cell->probability);
    weights.push_back(static_cast<double>(cell->trials));
  }
  std::vector<double> mirrored = p;
  for (double& value : mirrored) value = 1 - value;
  auto rising = isotonic(p, weights), falling = isotonic(mirrored, weights);
  const bool falls = misfit_to(falling, mirrored, weights) < misfit_to(rising, p, weights);
  const std::vector<double>& fitted = falls ? falling : rising;
  const auto above = static_cast<std::size_t>(
      std::find_if(fitted.begin(), fitted.end(), [](double value) { return value >= 0.5; }) - fitted.begin());
  if (above == fitted.size() || above == 0) return {};
  const double span = fitted[above] - fitted[above - 1];
  Transition result;
  result.y = y[above - 1] + (0.5 - fitted[above - 1]) / span * (y[above] - y[above - 1]);
  // Whether a cell is surely on the side before (or behind) the crossing.
  const auto surely = [&](std::size_t i, bool behind) {
    const Interval& interval = column[i]->interval;
    return behind != falls ? interval.low > 0.5 : interval.high < 0.5;
  };
  for (std::size_t i = above; i-- > 0 && !result.low;)
    if (surely(i, false)) result.low = y[i];
  for (std::size_t i = above; i < y.size() && !result.high; ++i)
    if (surely(i, true)) result.high = y[i];
  return result;
}

double number(const std::string& text) { return parsed_number(text).value_or(0); }

std::vector<Transition> transitions(const Panel& panel, const std::vector<CellResult>& cells) {
  std::vector<std::size_t> order(panel.y_values.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return number(panel.y_values[a]) < number(panel.y_values[b]);
  });
  std::vector<Transition> result;
  for (std::size_t x = 0; x * order.size() < panel.cells.size(); ++x) {
    std::vector<double> y;
    std::vector<const CellResult*> column;
    for (const std::size_t k : order) {
      y.push_back(number(panel.y_values[k]));
      column.push_back(&cells[panel.cells[x * order.size() + k]]);
    }
    result.push_back(transition(y, column));
  }
  return result;
}

std::string range(double low, double high) {
  return low == high ? fmt::format("{:.3g}", low) : fmt::format("{:.3g} to {:.3g}", low, high);
}

// Where the transition of a panel over width and d lies, as a multiple of the line m d = n.
std::string multiple_of_line(const Panel& panel, const std::vector<CellResult>& cells) {
  std::vector<double> ratios;
  for (std::size_t x = 0; x < panel.transitions.size(); ++x)
    if (const auto& y = panel.transitions[x].y) {
      const Cell& cell = cells[panel.cells[x * panel.y_values.size()]].cell;
      ratios.push_back(*y * number(panel.x_values[x]) / static_cast<double>(cell.n));
    }
  if (ratios.empty()) return "";
  std::sort(ratios.begin(), ratios.end());
  return fmt::format("half of the trials succeed at width x d = {:.3g} n ({} over the values of d)",
                     ratios[ratios.size() / 2], range(ratios.front(), ratios.back()));
}

std::string crossing(const Panel& panel, const std::vector<CellResult>& cells) {
  const bool line = panel.x == "d" && panel.y == "width" && cells.front().cell.n > 0;
  if (line)
    if (std::string text = multiple_of_line(panel, cells); !text.empty()) return text;
  std::string text;
  for (std::size_t x = 0; x < panel.transitions.size(); ++x) {
    const Transition& t = panel.transitions[x];
    if (!t.y) continue;
    const std::string where = panel.x.empty() ? "" : fmt::format(" for {} {}", panel.x, panel.x_values[x]);
    const std::string interval = t.low || t.high
                                     ? fmt::format(" ({}..{})", t.low ? fmt::format("{:.3g}", *t.low) : "",
                                                   t.high ? fmt::format("{:.3g}", *t.high) : "")
                                     : "";
    text += fmt::format("{}{} {:.3g}{}{}", text.empty() ? "half of the trials succeed at " : ", ", panel.y,
                        *t.y, interval, where);
  }
  return text;
}

}  // namespace

Interval wilson(Index successes, Index trials) {
  if (trials == 0) return {};
  constexpr double z = 1.959963984540054;  // 97.5 % quantile of N(0, 1)
  const auto n = static_cast<double>(trials), p = static_cast<double>(successes) / n;
  const double scale = 1 / (1 + z * z / n), centre = scale * (p + z * z / (2 * n));
  const double half = scale * z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return {successes == 0 ? 0 : std::max(0.0, centre - half),
          successes == trials ? 1 : std::min(1.0, centre + half)};
}

std::vector<Panel> internal::panels(const SweepAxes& axes, const std::vector<CellResult>& cells) {
  std::vector<Axis> rest = varying(axes);
  if (rest.empty()) return {{"", "", "", {""}, {""}, {0}, {}}};
  Axis x{"", {""}, false}, y;
  choose(rest, x, y);
  std::vector<Panel> result;
  std::size_t count = 1;
  for (const Axis& one : rest) count *= one.values.size();
  for (std::size_t k = 0; k < count; ++k) {
    Panel panel{"", x.name, y.name, x.values, y.values, {}, {}};
    std::size_t first = 0, left = k;
    for (std::size_t r = rest.size(); r-- > 0;) {
      const std::size_t value = left % rest[r].values.size();
      left /= rest[r].values.size();
      first += value * rest[r].stride;
      panel.title = fmt::format("{} {}{}{}", rest[r].name, rest[r].values[value],
                                panel.title.empty() ? "" : ", ", panel.title);
    }
    for (std::size_t i = 0; i < x.values.size(); ++i)
      for (std::size_t j = 0; j < y.values.size(); ++j)
        panel.cells.push_back(first + (x.name.empty() ? 0 : i * x.stride) + j * y.stride);
    if (y.numeric) panel.transitions = transitions(panel, cells);
    result.push_back(std::move(panel));
  }
  return result;
}

std::string internal::conclusion(const SweepResult& result) {
  Index successes = 0, trials = 0, diverged = 0;
  for (const CellResult& cell : result.cells) {
    successes += cell.successes;
    trials += cell.trials;
    diverged += cell.diverged;
  }
  std::string text;
  for (const Panel& panel : result.panels)
    if (const std::string where = crossing(panel, result.cells); !where.empty())
      text += (panel.title.empty() ? "" : panel.title + ": ") + where + "\n";
  if (text.empty() && trials > 0)
    text = successes == 0 ? "no trial succeeds\n"
           : successes == trials
               ? result.complete ? "every trial succeeds\n" : "every trial so far succeeds\n"
               : "no axis crosses a success probability of one half\n";
  if (!result.complete) text += "not all trials are done\n";
  text += fmt::format("{} of {} trials reached the tolerance", successes, trials);
  if (diverged > 0) text += fmt::format(", {} diverged", diverged);
  return text;
}

}  // namespace zeroloss
