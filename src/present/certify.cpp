#include "zeroloss/present/certify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/percentage.hpp"
#include "present/advice.hpp"
#include "present/claims_of.hpp"
#include "present/common.hpp"
#include "present/pictures.hpp"
#include "present/table.hpp"
#include "present/widths.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/chart/chart.hpp"

namespace zeroloss {
using namespace internal;
namespace {

// ---- text ----

std::string rate_text(const Guarantee& g) {
  if (!g.rate) return "";
  if (g.flow) return fmt::format("exp(-{} t)", decimal(*g.rate, 2, Rounding::down));
  return *g.rate < 1e-3 ? "1 - " + decimal(*g.rate, 2, Rounding::down)
                        : decimal(1 - *g.rate, 6, Rounding::up);
}

std::string bound_text(const std::optional<double>& value, Rounding rounding) {
  return value ? short_number(*value, rounding) : "";
}

std::string sample_text(const Sample& s) {
  return s.label.empty() ? fmt::format("{}", s.record) : fmt::format("{} ({})", s.record, s.label);
}

void tail_facts(const TailBound& tail, Facts& fact) {
  fact("method", "tail: auto factors the kernel of up to 30,000 points that fits into memory");
  fact("kernel's power series",
       fmt::format("powers from {} on: {} on the diagonal, at most {} off it{}", tail.power,
                   decimal(tail.diagonal, 6, Rounding::down), decimal(tail.row_sum, 6, Rounding::up),
                   tail.passes.size() > 1 ? ", weighted" : ""));
  std::vector<std::string> passes;
  passes.reserve(tail.passes.size());
  for (const TailPass& pass : tail.passes)
    passes.push_back(fmt::format("{} ({:.1f} s)", decimal(pass.lambda_min, 4, Rounding::down), pass.seconds));
  fact(tail.passes.size() > 1 ? "passes over all pairs" : "pass over all pairs",
       fmt::format("{}", fmt::join(passes, ", ")));
}

std::string leave_one_out_text(const Dataset& data, const CertifyResult& r) {
  if (r.task == Task::classification) return fmt::format("{:.2f} %", 100 * *r.leave_one_out_error);
  if (data.y.maxCoeff() == data.y.minCoeff()) return "of no use: the targets are all the same";
  return fmt::format("{:.3g} of the targets' spread", *r.leave_one_out_error);
}

std::string facts(const Dataset& data, const CertifyOptions& options, const CertifyResult& r) {
  Facts fact(26);
  const auto mean = [](const std::vector<double>& v) {
    return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
  };
  if (options.network().deep())
    fact("kernel", fmt::format("{}: J J^T at infinite width, all weights trained, no biases, "
                               "E[phi(g)^2] = 1",
                               r.kernel));
  if (data.stored) fact("points", "left in their file and read by blocks");
  if (r.tail) {
    tail_facts(*r.tail, fact);
  } else {
    fact("lambda_min, lambda_max",
         fmt::format("{:.8g}, {:.8g} (computed{})", r.lambda_min, r.lambda_max,
                     r.n_distinct < r.n ? "; the least: of the distinct points" : ""));
    fact("lost to rounding",
         fmt::format("{:.2g}{}", r.rounding_loss,
                     r.proof == "residual" ? " (K - L L^T was computed and bounded)" : ""));
  }
  if (!r.engine.empty()) {
    fact("computed by", r.engine);
  }
  fact("separation delta >=", r.n_distinct > 1 ? decimal(r.separation, 4, Rounding::down)
                              : r.n > 1        ? "no bound: the points are one and the same"
                                               : "no bound: there is one point");
  if (r.near_pairs > 0) fact("pairs closer than 1.42e-3, up to sign", with_commas(r.near_pairs));
  if (!r.duplicates.empty())
    fact("duplicates",
         fmt::format("{}{}; {} distinct points", count(std::ssize(r.duplicates), "group", "groups"),
                     r.conflicts.empty() ? "" : " with equal labels", with_commas(r.n_distinct)));
  if (!r.antipodal.empty()) fact("antipodal", count(std::ssize(r.antipodal), "pair", "pairs"));
  const char* with_ridge = r.ridge > 0 ? ", with the ridge" : "";
  if (r.ridge > 0) fact("ridge", fmt::format("{:.2g} (the kernel is numerically singular)", r.ridge));
  if (!r.complexity.empty())
    fact("complexity of the labels", fmt::format("{:.3g} (in random order: {:.3g}){}", mean(r.complexity),
                                                 mean(r.complexity_shuffled), with_ridge));
  if (r.leave_one_out_error) fact("leave-one-out error", leave_one_out_text(data, r) + with_ridge);
  return fact.text();
}

// "Du et al. 2018, Thm 3.1" and "Du et al. 2018, Thm 4.1" -> "Du et al. 2018, Thm 3.1, 4.1".
void append_theorem(std::string& list, const Theorem& theorem) {
  if (list.find(theorem.source) != std::string::npos)
    list += ", " + theorem.number;
  else
    list += (list.empty() ? "" : "; ") + theorem.title();
}

std::string guarantee_table(const CertifyResult& r) {
  Table table({"guarantee", "lambda from", "width", "step", "rate a step", "steps", "fails with", ""});
  std::vector<std::pair<std::string, std::string>> excluded;  // reason -> theorems
  bool computed = false;
  for (const auto& g : r.guarantees) {
    if (g.width || g.holds) {
      computed |= !g.verified;
      table.add({g.theorem, g.lambda_from + (g.verified ? "" : " *"), bound_text(g.width, Rounding::up),
                 bound_text(g.step, Rounding::down), rate_text(g),
                 (g.flow && g.steps ? "time " : "") + bound_text(g.steps, Rounding::up),
                 bound_text(g.failure_probability, Rounding::up), g.holds ? g.reason : "no: " + g.reason});
      continue;
    }
    auto same =
        std::find_if(excluded.begin(), excluded.end(), [&](const auto& e) { return e.first == g.reason; });
    if (same == excluded.end()) same = excluded.insert(excluded.end(), {g.reason, ""});
    append_theorem(same->second, theorem(g.id));
  }
  std::string text;
  if (table.rows() > 0)
    text = table.text() + "constants: proved in docs/theory.md, section 4, sharper than in print\n";
  if (computed) text += "* computed, not verified\n";
  for (const auto& [reason, theorems] : excluded)
    text += fmt::format("not {}: {}{}\n", theorems, reason,
                        reason.ends_with("was not computed") ? " (`all_bounds`)" : "");
  return text;
}

std::string forecast_text(const Forecast& f) {
  const std::string reached =
      std::isinf(f.steps_to_accuracy)
          ? (f.step < f.stable_step ? std::string("is not reached within 1e15 steps")
                                    : std::string("was not found to be reached: unstable"))
          : fmt::format("after {} steps", short_number(f.steps_to_accuracy));
  return fmt::format("forecast at infinite width: misfit {:.3g} {} of {:.4g} (stable below {}; {})\n",
                     f.accuracy, reached, f.step, decimal(f.stable_step, 4, Rounding::down), f.method);
}

std::string suspect_table(const CertifyResult& r) {
  constexpr std::size_t kShown = 10;
  const bool ids = !r.suspects.front().sample.id.empty(), numbers = r.task == Task::regression;
  std::vector<std::string> heads{"sample", "label", "predicted", numbers ? "deviations" : "margin"};
  if (ids) heads.insert(heads.begin() + 1, "id");
  Table table(heads);
  for (std::size_t i = 0; i < std::min(kShown, r.suspects.size()); ++i) {
    const auto& s = r.suspects[i];
    std::vector<std::string> row{fmt::format("{}", s.sample.record), s.sample.label, s.predicted,
                                 fmt::format("{:.3g}", numbers ? 6 * s.score : s.score)};
    if (ids) row.insert(row.begin() + 1, s.sample.id);
    table.add(row);
  }
  const double error = r.leave_one_out_error.value_or(0);
  const std::string off = numbers ? fmt::format("off by {:.3g} of the targets' spread", error)
                                  : fmt::format("wrong about {} of all", percentage(error, 2));
  std::string text =
      accuses(r)
          ? fmt::format(
                "labels hardest to predict: the other samples say another one{} (closed-form leave-one-out; "
                "audit says which are wrong)\n",
                numbers ? ", or these lie at the edge of the data" : "")
          : fmt::format(
                "labels hardest to predict: the other samples say another one, but are {}, so this says "
                "little "
                "(closed-form "
                "leave-one-out)\n",
                off);
  text += table.text("  ");
  if (r.suspects.size() > kShown)
    text += fmt::format("  and {} more (JSON lists all)\n", r.suspects.size() - kShown);
  return text;
}

std::string group_lines(const std::vector<std::vector<Sample>>& groups, const char* title) {
  constexpr std::size_t kShown = 5;
  std::string text = std::string(title) + "\n";
  for (std::size_t g = 0; g < std::min(kShown, groups.size()); ++g) {
    std::vector<std::string> names;
    for (const auto& s : groups[g]) names.push_back(sample_text(s));
    const std::size_t all = names.size();
    names.resize(std::min<std::size_t>(all, 8));
    text +=
        fmt::format("  {}{}\n", fmt::join(names, ", "), all > 8 ? fmt::format(" and {} more", all - 8) : "");
  }
  if (groups.size() > kShown)
    text += fmt::format("  and {} more groups (JSON lists all)\n", groups.size() - kShown);
  return text;
}

// ---- JSON ----

Json options_json(const CertifyOptions& o) {
  Json json = told(o);
  if (o.step == 0) json["step"] = "auto";
  return json;
}

Json result_json(const Dataset& data, const CertifyOptions& options, const CertifyResult& r,
                 const Next& next) {
  Json json = answer_json(data, options_json(options));
  tell(json, r);
  json["next"] = told(next);
  return json;
}

// Those that an answer shows: closest pairs, what holds lambda_min down, conflicts and suspects.
std::vector<Index> shown_records(const CertifyResult& r) {
  constexpr std::size_t kPairs = 12, kConflicts = 12, kSuspects = 24;
  std::vector<Index> records;
  const auto first = [](const auto& list, std::size_t most) { return std::min(list.size(), most); };
  for (std::size_t k = 0; k < first(r.closest, kPairs); ++k)
    records.insert(records.end(), {r.closest[k].first.record, r.closest[k].second.record});
  for (const Bottleneck& b : r.bottleneck) records.push_back(b.sample.record);
  for (std::size_t k = 0; k < first(r.conflicts, kConflicts); ++k)
    for (std::size_t i = 0; i < first(r.conflicts[k], 4); ++i) records.push_back(r.conflicts[k][i].record);
  for (std::size_t k = 0; k < first(r.suspects, kSuspects); ++k)
    records.push_back(r.suspects[k].sample.record);
  return records;
}

}  // namespace

std::string certify_text(const Dataset& data, const CertifyOptions& options, const CertifyResult& r) {
  std::string text = heading(data, preparation(data, options.normalize, options.center)) + "\n";
  for (const std::string& part :
       {r.conclusion + "\n", advice_text(data, options, r), facts(data, options, r), width_table(r.widths)})
    if (!part.empty()) text += "\n" + part;
  if (r.forecast) text += "\n" + forecast_text(*r.forecast);
  if (!r.conflicts.empty())
    text += fmt::format("\n{}", group_lines(r.conflicts, "equal points with different labels"));
  if (!r.suspects.empty()) text += fmt::format("\n{}", suspect_table(r));
  if (const std::string table = guarantee_table(r); !table.empty())
    text += fmt::format("\ntheorems about random weights\n{}", table);
  if (!r.left_out.empty())
    text += fmt::format("left out, since it {}: {}\n",
                        r.tail ? "takes the kernel itself (`method=factor`)"
                               : "is proved of one hidden layer alone (`depth=1`)",
                        r.left_out);
  text += fmt::format("\n{:.1f} s, {:.2f} GB\n", r.seconds, r.peak_bytes / 1e9);
  return text;
}

std::string certify_json(const Dataset& data, const CertifyOptions& options, const CertifyResult& result,
                         const Next& next) {
  return result_json(data, options, result, next).dump(1);
}

void write_certify(RunFolder& folder, const Dataset& data, const ReadOptions& read,
                   const CertifyOptions& options, const CertifyResult& r,
                   const std::vector<std::string>& command, const Next& next) {
  folder.write("result.json", certify_json(data, options, r, next) + "\n");
  if (r.forecast) {
    const auto& f = *r.forecast;
    std::string csv = "step,misfit,standard_error\n";
    for (std::size_t i = 0; i < f.at_step.size(); ++i)
      csv += fmt::format("{:.17g},{:.17g},{:.17g}\n", f.at_step[i], f.misfit[i], f.standard_error[i]);
    folder.write("forecast.csv", csv);
    folder.write("forecast.vl.json",
                 line_chart(fmt::format("Forecast of gradient descent on {} (infinite width, step {:.3g})",
                                        data.name, f.step),
                            {"step", true}, {"misfit relative to the start", true},
                            {{"forecast", f.at_step, f.misfit, f.standard_error}}));
  }
  std::vector<Bar> widths;
  for (const WidthRow& row : r.widths)
    if (row.width) widths.push_back({fmt::format("{}: {}", row.title, row.about), row.status, *row.width});
  for (const auto& g : r.guarantees)
    if (g.width)
      widths.push_back(
          {fmt::format("{}, {}", g.theorem, g.lambda_from), g.verified ? "proved" : "computed", *g.width});
  if (!widths.empty())
    folder.write("widths.vl.json", dot_chart(fmt::format("How wide for {} ({})", data.name, r.activation),
                                             {"hidden units", true}, widths));
  if (!r.spectrum.empty()) {
    Curve curve{"eigenvalues", {}, r.spectrum, {}};
    for (std::size_t i = 0; i < r.spectrum.size(); ++i)
      curve.x.push_back(static_cast<double>(r.spectrum.size() - i));
    folder.write("spectrum.vl.json",
                 line_chart(fmt::format("Spectrum of {} on {}", options.network().deep() ? r.kernel : "Sigma",
                                        data.name),
                            {"rank", true}, {"eigenvalue", true}, {curve}));
  }
  write_pictures(folder, data, shown_records(r));
  Claims claims(folder);
  claim_certify(claims, data, options, r);
  claims.write();
  folder.write("manifest.json", manifest("certify", command, options_json(options), data, read, r.seconds));
  folder.finish();
}

}  // namespace zeroloss
