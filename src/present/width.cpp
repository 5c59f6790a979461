#include "zeroloss/present/width.hpp"

#include <fmt/format.h>

#include "present/claims_of.hpp"
#include "present/common.hpp"
#include "present/table.hpp"
#include "present/widths.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/chart/chart.hpp"
#include "zeroloss/present/loss.hpp"

namespace zeroloss {
using namespace internal;
namespace {

// ---- text ----

std::string up(const std::optional<double>& value) { return value ? short_number(*value, Rounding::up) : ""; }
std::string down(const std::optional<double>& value) {
  return value ? short_number(*value, Rounding::down) : "";
}

std::string paper_table(const WidthResult& r) {
  Table table({"width", "step", "steps", "labels", "", "theorem"});
  for (const WidthRow& row : r.rows)
    if (of_a_theorem(row))
      table.add({up(row.width), down(row.step), up(row.steps), row.about, row.status,
                 row.source + ", " + row.says});
  return table.rows() == 0 ? "" : "\ntheorems about random weights\n" + table.text("  ");
}

std::string drawn_table(const WidthResult& r) {
  if (r.drawn.empty()) return "";
  Table table({"width", "full rank", "these labels: scale", "any labels: scale", "step", "steps", "seed"});
  for (std::size_t k = 0; k < r.drawn.size(); ++k) {
    const DrawnWidth& w = r.drawn[k];
    std::size_t last = k;  // of those in which nothing is seen either
    while (w.full_rank == 0 && last + 1 < r.drawn.size() && r.drawn[last + 1].full_rank == 0 &&
           r.drawn[last + 1].draws == w.draws)
      ++last;
    std::string width = with_commas(w.width);
    if (last > k) width += " to " + with_commas(r.drawn[last].width);
    k = last;
    std::vector<std::string> row{width, fmt::format("{} of {}", w.full_rank, w.draws)};
    if (w.any_scale)
      row.insert(row.end(), {exact(w.these_scale), exact(w.any_scale), exact(w.step), up(w.steps),
                             fmt::format("{}", w.seed)});
    row.resize(7);
    table.add(row);
  }
  return "\ngradient descent from pairs, proved for any labels: width against output scale, step and "
         "steps\n" +
         table.text("  ");
}

// ---- figures ----

std::vector<Bar> widths_of(const WidthResult& r) {
  std::vector<Bar> bars;
  for (const WidthRow& row : r.rows)
    if (row.width) bars.push_back({fmt::format("{}: {}", row.title, row.about), row.status, *row.width});
  return bars;
}

std::string steps_figure(const Dataset& data, const WidthResult& r) {
  Curve these{"output scale, these labels", {}, {}, {}}, any{"output scale, any labels", {}, {}, {}},
      steps{"steps", {}, {}, {}};
  for (const DrawnWidth& w : r.drawn) {
    if (!w.any_scale || !w.these_scale) continue;
    for (auto& [curve, value] :
         {std::pair<Curve&, double>{these, *w.these_scale}, {any, *w.any_scale}, {steps, w.steps}}) {
      curve.x.push_back(static_cast<double>(w.width));
      curve.y.push_back(value);
    }
  }
  if (steps.x.empty()) return "";
  return line_chart(fmt::format("What a narrow network costs on {} ({})", data.name, r.activation),
                    {"hidden units", true}, {"output scale, steps", true}, {these, any, steps});
}

std::string drawn_csv(const WidthResult& r) {
  std::string csv =
      "width,draws,full_rank,seed,lambda_min,condition,these_scale,these_step,these_steps,any_scale,step,"
      "steps\n";
  for (const DrawnWidth& w : r.drawn) {
    csv += fmt::format("{},{},{}", w.width, w.draws, w.full_rank);
    csv += w.any_scale && w.these_scale
               ? fmt::format(",{},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g},{:.17g}\n", w.seed,
                             w.lambda_min, w.condition, *w.these_scale, w.these_step, w.these_steps,
                             *w.any_scale, w.step, w.steps)
               : ",,,,,,,,,\n";
  }
  return csv;
}

}  // namespace

std::string width_text(const Dataset& data, const WidthOptions& options, const WidthResult& r) {
  const std::string rows = width_table(r.rows);
  return fmt::format("{}\n\n{}\n\n", heading(data, preparation(data, options.normalize, options.center)),
                     r.conclusion) +
         (rows.empty() ? ""
                       : fmt::format("loss    {}; steps are counted to misfit {:.3g}\n\n{}",
                                     loss_and_step(data.task), options.accuracy, rows)) +
         drawn_table(r) + paper_table(r) + fmt::format("\n{:.1f} s\n", r.seconds);
}

std::string fits_text(const Dataset& data, const ReadOptions& read, const WidthOptions& options,
                      const WidthResult& r) {
  const Next next = after_width(data, read, options, r);
  std::string text;
  for (const WidthRow& row : r.rows)
    if (const auto words = fit_of(data, read, options, r, row.id); !words.empty() && words != next.command)
      text += fmt::format("  {}\n    {}\n", row.title, shell_command(words));
  return text.empty() ? "" : "\nto train the others\n" + text;
}

std::string width_json(const Dataset& data, const WidthOptions& options, const WidthResult& result,
                       const Next& next) {
  Json json = answer_json(data, told(options));
  tell(json, result);
  json["next"] = told(next);
  return json.dump(1);
}

void write_width(RunFolder& folder, const Dataset& data, const ReadOptions& read, const WidthOptions& options,
                 const WidthResult& r, const std::vector<std::string>& command, const Next& next) {
  folder.write("result.json", width_json(data, options, r, next) + "\n");
  folder.write("metrics.csv", drawn_csv(r));
  if (const auto bars = widths_of(r); !bars.empty())
    folder.write("widths.vl.json", dot_chart(fmt::format("How wide for {} ({})", data.name, r.activation),
                                             {"hidden units", true}, bars));
  if (const std::string figure = steps_figure(data, r); !figure.empty())
    folder.write("scales.vl.json", figure);
  Claims claims(folder);
  claim_width(claims, data, options, r);
  claims.write();
  folder.write("manifest.json", manifest("width", command, told(options), data, read, r.seconds));
  folder.finish();
}

}  // namespace zeroloss
