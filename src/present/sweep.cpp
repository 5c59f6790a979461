#include "zeroloss/present/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/field_text.hpp"
#include "present/common.hpp"
#include "present/table.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/chart/chart.hpp"
#include "zeroloss/present/loss.hpp"
#include "zeroloss/train/optimizers.hpp"

namespace zeroloss {
using namespace internal;
namespace fs = std::filesystem;
namespace {

Json options_json(const SweepOptions& o) {
  Json json = told(o);
  fields(o.fit, [&](const Field& field, const auto& value) {  // but what the axes say
    if (field.trial && json.find(field.name) == nullptr) json[field.name] = told(value);
  });
  json["seed"] = o.read.seed;
  return json;
}

const CellResult& cell_of(const SweepResult& r, const Panel& panel, std::size_t x, std::size_t y) {
  return r.cells[panel.cells[x * panel.y_values.size() + y]];
}

template <class T>
std::string values(const std::vector<T>& axis) {
  if (axis.size() > 4)
    return fmt::format("{}, {}, .. {} ({} values)", axis[0], axis[1], axis.back(), axis.size());
  return fmt::format("{}", fmt::join(axis, ", "));
}

// "d 1, 2, .. 25 (25 values)" for each axis that has values, and the rest of the setting.
std::string setting(const SweepOptions& o, const SweepResult& r) {
  const SweepAxes& a = o.axes;
  const Cell& c = r.cells.front().cell;
  Facts fact(26);
  fields(a, [&](const Field& field, const auto& list) {
    if (list.size() > 1) fact(field.name, values(list));
  });
  std::string fixed;
  const auto add = [&](bool varies, const std::string& value) {
    if (!varies) fixed += (fixed.empty() ? "" : ", ") + value;
  };
  add(a.activation.size() > 1, c.activation);
  add(a.width.size() > 1, fmt::format("{} hidden units", with_commas(c.width)));
  add(a.depth.size() > 1 || c.depth == 1, fmt::format("{} layers", c.depth));
  add(a.scaling.size() > 1, c.scaling + " scaling");
  add(false, o.fit.precision);
  fact("network", fixed);
  fixed = o.fit.optimizer;
  add(a.step.size() > 1 || !optimizer(o.fit.optimizer).step, "step " + c.step);
  add(false, fmt::format("at most {} steps", with_commas(o.fit.max_steps)));
  add(a.tolerance.size() > 1, fmt::format("until ||r||/||y|| <= {}", c.tolerance));
  fact("training", fixed);
  fact("loss", loss_and_step(Task::classification));  // what it says is true of targets, too
  if (!r.engine.empty()) fact("computed by", r.engine);
  return fact.text();
}

// ---- the heat map in the terminal ----

constexpr const char* kShades[] = {"  ", "\u2591\u2591", "\u2592\u2592", "\u2593\u2593", "\u2588\u2588"};

const char* shade(const CellResult& cell) {
  if (cell.trials == 0) return " ?";
  if (cell.successes == 0) return kShades[0];
  if (cell.successes == cell.trials) return kShades[4];
  return kShades[1 + std::min(2, static_cast<int>(3 * cell.probability))];
}

std::string map_text(const SweepResult& r, const Panel& panel) {
  constexpr std::size_t kMost = 60;  // columns of a terminal that the map may take
  if (panel.x.empty() || panel.x_values.size() * 2 > kMost) return "";
  std::size_t margin = panel.y.size();
  for (const auto& y : panel.y_values) margin = std::max(margin, y.size());
  std::string text = fmt::format("{:>{}}\n", panel.y, margin);
  for (std::size_t y = panel.y_values.size(); y-- > 0;) {
    text += fmt::format("{:>{}} |", panel.y_values[y], margin);
    for (std::size_t x = 0; x < panel.x_values.size(); ++x) text += shade(cell_of(r, panel, x, y));
    text += "|\n";
  }
  std::string labels(margin + 2, ' ');
  for (std::size_t x = 0; x < panel.x_values.size(); ++x) {
    const std::size_t at = margin + 2 + 2 * x;
    if (labels.size() <= at && (x == 0 || labels.size() < at))
      labels += std::string(at - labels.size(), ' ') + panel.x_values[x];
  }
  return text + labels + "  " + panel.x + "\n";
}

std::string transition_text(const Panel& panel) {
  if (panel.x.empty()) return "";
  Table table({panel.x, panel.y + " at 50 %", "95 % interval"});
  for (std::size_t x = 0; x < panel.transitions.size(); ++x) {
    const Transition& t = panel.transitions[x];
    if (!t.y) continue;
    table.add({panel.x_values[x], fmt::format("{:.4g}", *t.y),
               fmt::format("{}..{}", t.low ? fmt::format("{:g}", *t.low) : "",
                           t.high ? fmt::format("{:g}", *t.high) : "")});
  }
  return table.rows() > 0 ? table.text() + "\n" : "";
}

std::string column_text(const SweepResult& r, const Panel& panel) {
  Table table({panel.y.empty() ? "cell" : panel.y, "trials", "succeed", "95 % interval", "mean steps",
               "median misfit"});
  for (std::size_t y = 0; y < panel.y_values.size(); ++y) {
    const CellResult& c = cell_of(r, panel, 0, y);
    if (c.trials == 0) {
      table.add({panel.y_values[y], "0", "", "", "", ""});
      continue;
    }
    table.add({panel.y_values[y], with_commas(c.trials), fmt::format("{:.3g}", c.probability),
               fmt::format("{:.3f}..{:.3f}", c.interval.low, c.interval.high),
               with_commas(std::llround(c.mean_steps)), fmt::format("{:.2g}", c.median_misfit)});
  }
  return table.text() + "\n";
}

// The run that the first trial of the cell nearest to even odds is, for whoever wants to look at one.
std::string example(const SweepOptions& o, const SweepResult& r) {
  if (!r.named) return "";
  const auto even =
      std::min_element(r.cells.begin(), r.cells.end(), [](const CellResult& a, const CellResult& b) {
        return std::abs(a.probability - 0.5) < std::abs(b.probability - 0.5);
      });
  return "one of the trials again:  " +
         fit_command(r.source, o, static_cast<std::size_t>(even - r.cells.begin()), 0) + "\n";
}

// ---- figures ----

std::string note(const Panel& panel, std::size_t x, std::size_t y, const CellResult& c) {
  return fmt::format("{} {}, {} {}: {} of {} ({:.2f} to {:.2f})", panel.x, panel.x_values[x], panel.y,
                     panel.y_values[y], c.successes, c.trials, c.interval.low, c.interval.high);
}

double number(const std::string& text) { return parsed_number(text).value_or(0); }

// m d = n, where two of the three are the sides of the panel and the third is fixed.
Curve parameter_line(const Panel& panel, const Cell& fixed) {
  Curve line{"m d = n", {}, {}, {}};
  const bool x_is_factor = panel.x == "d" || panel.x == "width",
             y_is_factor = panel.y == "d" || panel.y == "width";
  const double n = static_cast<double>(fixed.n), d = static_cast<double>(fixed.d);
  const double low = number(panel.x_values.front());
  const double high = number(panel.x_values.back());
  constexpr int kPoints = 400;
  for (int k = 0; k <= kPoints; ++k) {
    const double x = low + (high - low) * k / kPoints;
    double y = 0;
    if (x_is_factor && y_is_factor && n > 0)
      y = n / x;
    else if (panel.x == "n" && panel.y == "width" && d > 0)
      y = x / d;
    else
      continue;
    line.x.push_back(x);
    line.y.push_back(y);
  }
  return line;
}

std::string heat_figure(const SweepOptions& o, const SweepResult& r, const Panel& panel) {
  const Cell& first = r.cells[panel.cells.front()].cell;
  HeatMap map;
  const std::string activation = o.axes.activation.size() > 1 ? "" : first.activation + ", ";
  map.title = panel.title.empty()
                  ? fmt::format("{}: {}{} steps", r.source, activation, with_commas(o.fit.max_steps))
                  : fmt::format("{}: {}", r.source, panel.title);
  map.value_title = "success";
  map.x = {panel.x, panel.x_values};
  map.y = {panel.y, panel.y_values};
  for (std::size_t x = 0; x < panel.x_values.size(); ++x)
    for (std::size_t y = 0; y < panel.y_values.size(); ++y) {
      const CellResult& c = cell_of(r, panel, x, y);
      map.values.push_back(c.trials > 0 ? c.probability : NAN);
      map.notes.push_back(note(panel, x, y, c));
    }
  Curve contour{"half of the trials succeed", {}, {}, {}};
  for (std::size_t x = 0; x < panel.transitions.size(); ++x) {
    const Transition& t = panel.transitions[x];
    if (!t.y) continue;
    const double at = number(panel.x_values[x]);
    contour.x.push_back(at);
    contour.y.push_back(*t.y);
    map.spans.push_back({at, t.low.value_or(-INFINITY), t.high.value_or(INFINITY)});
  }
  map.lines.push_back(contour);
  if (Curve line = parameter_line(panel, first); !line.x.empty()) map.lines.push_back(line);
  return heat_map(map);
}

bool numbers(const std::vector<std::string>& values) {
  return std::ranges::all_of(values, [](const auto& value) { return parsed_number(value).has_value(); });
}

std::string column_figure(const SweepResult& r, const Panel& panel) {
  const std::string title = r.source + (panel.title.empty() ? "" : ": " + panel.title);
  if (!numbers(panel.y_values)) {
    std::vector<Bar> bars;
    for (std::size_t y = 0; y < panel.y_values.size(); ++y)
      bars.push_back({panel.y_values[y], "", cell_of(r, panel, 0, y).probability});
    return dot_chart(title, {"success probability"}, bars);
  }
  Curve curve{"success", {}, {}, {}}, low{"95 % interval, low", {}, {}, {}},
      high{"95 % interval, high", {}, {}, {}};
  for (std::size_t y = 0; y < panel.y_values.size(); ++y) {
    const CellResult& c = cell_of(r, panel, 0, y);
    const double at = number(panel.y_values[y]);
    for (auto [line, value] :
         {std::pair{&curve, c.probability}, {&low, c.interval.low}, {&high, c.interval.high}}) {
      line->x.push_back(at);
      line->y.push_back(value);
    }
  }
  return line_chart(title, {panel.y}, {"success probability"}, {curve, low, high});
}

// ---- data ----

// With where the success probability crosses 1/2.
Json panel_json(const Panel& panel) {
  Json json = told(panel), transitions = Json::array();
  for (std::size_t x = 0; x < panel.transitions.size(); ++x) {
    Json transition{{"x", panel.x_values[x]}};
    tell(transition, panel.transitions[x]);
    transitions.push_back(transition);
  }
  json["transition"] = transitions;
  return json;
}

void copy_store(const fs::path& store, const fs::path& copy) {
  std::error_code error;
  if (!fs::copy_file(store, copy, error))
    throw ResourceError(
        fmt::format("save: the trials in {} cannot be copied: {}", store.string(), error.message()));
}

std::string metrics_csv(const SweepResult& r) {
  std::string csv = csv_names(CellResult{}) + "\n";
  for (const CellResult& c : r.cells) csv += csv_values(c) + "\n";
  return csv;
}

}  // namespace

std::string sweep_text(const SweepOptions& o, const SweepResult& r) {
  std::string text =
      fmt::format("{}: {} cells, {} trials\n\n{}\n\n", r.source,
                  with_commas(static_cast<long long>(r.cells.size())), with_commas(r.trials), r.conclusion);
  for (const Panel& panel : r.panels) {
    if (!panel.title.empty()) text += panel.title + "\n";
    text += panel.x.empty() ? column_text(r, panel) : map_text(r, panel) + "\n" + transition_text(panel);
  }
  text += setting(o, r) + example(o, r);
  if (r.before > 0)
    text += fmt::format("{} of the trials were done before or elsewhere\n", with_commas(r.before));
  return text + fmt::format("\n{:.1f} s\n", r.seconds);
}

std::string sweep_json(const SweepOptions& o, const SweepResult& r, const Next& next) {
  Json json{{"conclusion", r.conclusion}, {"options", options_json(o)}}, panels = Json::array();
  tell(json, r);
  for (const Panel& panel : r.panels) panels.push_back(panel_json(panel));
  json["panels"] = panels;
  json["next"] = told(next);
  return json.dump(1);
}

void write_sweep(RunFolder& folder, const SweepOptions& o, const SweepResult& r,
                 const std::vector<std::string>& command, const Next& next) {
  folder.write("result.json", sweep_json(o, r, next) + "\n");
  folder.write("metrics.csv", metrics_csv(r));
  for (std::size_t k = 0; k < r.panels.size(); ++k) {
    const Panel& panel = r.panels[k];
    if (panel.y.empty()) continue;
    const std::string name = r.panels.size() == 1 ? "heat.vl.json" : fmt::format("heat-{}.vl.json", k + 1);
    folder.write(name, panel.x.empty() ? column_figure(r, panel) : heat_figure(o, r, panel));
  }
  if (const fs::path own = folder.file("trials.db"); !o.store.empty() && o.store != own)
    copy_store(o.store, own);
  Dataset data;  // what the manifest says of it
  data.name = r.source;
  data.digest = r.digest;
  folder.write("manifest.json", manifest("sweep", command, options_json(o), data, o.read, r.seconds));
  folder.finish();
}

}  // namespace zeroloss
