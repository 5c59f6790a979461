#include "zeroloss/present/memorize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "present/claims_of.hpp"
#include "present/common.hpp"
#include "present/pictures.hpp"
#include "present/table.hpp"
#include "zeroloss/chart/chart.hpp"

namespace zeroloss {
using namespace internal;
namespace {

std::string pair_text(const MemorizeResult& r) {
  if (r.closest.size() != 2) return "";
  return fmt::format(", held down by samples {} and {}", describe(r.closest[0]), describe(r.closest[1]));
}

// n log2 r bits: what any description of all labels takes.
Index label_numbers(const MemorizeResult& r) {
  const double bits =
      static_cast<double>(r.n_distinct) * std::log2(static_cast<double>(std::max<Index>(r.r, 2)));
  return static_cast<Index>(std::ceil(bits / 64));
}

// sqrt(n ln n) of n distinct points.
Index least_order(const MemorizeResult& r) {
  const auto n = static_cast<double>(r.n_distinct);
  return static_cast<Index>(std::ceil(std::sqrt(n * std::log(std::max(n, 2.0)))));
}

std::string facts(const MemorizeOptions& options, const MemorizeResult& r) {
  Facts fact(20);
  if (r.network) {
    fact("network",
         fmt::format("{} x {} first layer{}, {} of width {}, {} output{}; {}", r.hidden, r.d,
                     r.tried.back().first_layer == "linear" ? "" : ", " + r.tried.back().first_layer,
                     count(r.blocks, "residual block", "residual blocks"), r.hidden, r.r, r.r == 1 ? "" : "s",
                     options.precision));
    fact("parameters",
         fmt::format("{}, {:.3g} times the n ln n + r^2 of the theorem's order", with_commas(r.parameters),
                     static_cast<double>(r.parameters) / std::max(r.theorem_parameters, 1.0)));
    if (r.n_distinct < r.n) fact("distinct points", with_commas(r.n_distinct));
    if (options.construction == "integer")
      fact("of these not 0",
           fmt::format(
               "{}; the labels alone are {} numbers of 64 bits, and an order of sqrt(n ln n) = {} of as "
               "many bits suffices (Vardi et al. 2022)",
               with_commas(r.nonzero), with_commas(label_numbers(r)), with_commas(least_order(r))));
    else
      fact("smallest margin", short_number(r.min_margin, Rounding::down) + pair_text(r));
    fact("right", fmt::format("{} of {}, by a forward pass in {}", with_commas(r.correct), with_commas(r.n),
                              options.precision));
    fact("proved right",
         fmt::format("{} in exact arithmetic, {} in {} with sums in any order", with_commas(r.proved_exact),
                     with_commas(r.proved_any_order), options.precision));
    fact("largest error", fmt::format("{} of an output", short_number(r.max_error, Rounding::up)));
  }
  return fact.text();
}

std::string tried_table(const MemorizeResult& r) {
  Table table({"width", "first layer", "smallest margin", "right"});
  for (const MemorizeAttempt& a : r.tried)
    table.add({with_commas(a.hidden), a.first_layer, short_number(a.min_margin, Rounding::down),
               a.correct < 0 ? "" : with_commas(a.correct)});
  return "tried\n" + table.text("  ");
}

std::string wrong_text(const MemorizeResult& r) {
  std::string text = "wrong: samples";
  for (const Sample& s : r.wrong) text += " " + describe(s) + ",";
  text.back() = '\n';
  if (r.n - r.correct > std::ssize(r.wrong))
    text.insert(text.size() - 1,
                fmt::format(", and {} more", with_commas(r.n - r.correct - std::ssize(r.wrong))));
  return text;
}

Json result_json(const Dataset& data, const MemorizeOptions& options, const MemorizeResult& r,
                 const Next& next) {
  Json json = answer_json(data, told(options));
  tell(json, r);
  json["next"] = told(next);
  return json;
}

std::string metrics_csv(const MemorizeResult& r) {
  std::string csv = "block,margin\n";
  for (std::size_t b = 0; b < r.block_margins.size(); ++b)
    csv += fmt::format("{},{}\n", b, r.block_margins[b]);
  return csv;
}

// How many blocks have a margin of at most this much: at about 200 places, whatever their number.
std::string margins_figure(const Dataset& data, const MemorizeResult& r) {
  std::vector<double> margins = r.block_margins;
  std::sort(margins.begin(), margins.end());
  Curve curve{"blocks", {}, {}, {}};
  for (double rank = 1; rank <= static_cast<double>(margins.size());
       rank = std::max(rank + 1, std::floor(rank * 1.05))) {
    curve.x.push_back(margins[static_cast<std::size_t>(rank) - 1]);
    curve.y.push_back(rank);
  }
  return line_chart(fmt::format("{}: {} blocks of width {}", data.name, with_commas(r.blocks), r.hidden),
                    {"margin", true}, {"blocks with at most this margin", true}, {curve});
}

void write_network(RunFolder& folder, const Dataset& data, const MemorizeOptions& options,
                   const MemorizeResult& r, const Memorizer& network) {
  save_model(folder.file("model.safetensors"), network,
             {{"options", told(options).dump()}, {"data", data.name}, {"digest", data.digest}});
  if (!r.block_margins.empty()) {
    folder.write("metrics.csv", metrics_csv(r));
    folder.write("margins.vl.json", margins_figure(data, r));
  }
  std::vector<Index> shown;  // what holds the margin down, and what is wrong
  for (const auto* samples : {&r.closest, &r.wrong})
    for (const Sample& s : *samples) shown.push_back(s.record);
  write_pictures(folder, data, shown);
}

}  // namespace

std::string memorize_text(const Dataset& data, const MemorizeOptions& options, const MemorizeResult& r) {
  const bool scaled = options.construction != "paper" && data.standardization.scale.size() > 0;
  std::string text =
      heading(data, scaled ? "; columns scaled by powers of two" : "") + "\n\n" + r.conclusion + "\n";
  if (r.network) text += "\n" + facts(options, r);
  if (r.tried.size() > 1) text += "\n" + tried_table(r);
  if (!r.wrong.empty()) text += "\n" + wrong_text(r);
  return text + fmt::format("\n{:.1f} s: built in {:.2f} s, checked in {:.2f} s\n", r.seconds, r.build_s,
                            r.verify_s);
}

std::string memorize_json(const Dataset& data, const MemorizeOptions& options, const MemorizeResult& result,
                          const Next& next) {
  return result_json(data, options, result, next).dump(1);
}

void write_memorize(RunFolder& folder, const Dataset& data, const ReadOptions& read,
                    const MemorizeOptions& options, const MemorizeResult& r,
                    const std::vector<std::string>& command, const Next& next) {
  folder.write("result.json", memorize_json(data, options, r, next) + "\n");
  if (r.network) write_network(folder, data, options, r, *r.network);
  Claims claims(folder);
  claim_memorize(claims, data, r);
  claims.write();
  folder.write("manifest.json", manifest("memorize", command, told(options), data, read, r.seconds));
  folder.finish();
}

}  // namespace zeroloss
