#include "zeroloss/present/linear.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/even_choice.hpp"
#include "base/field_text.hpp"
#include "present/claims_of.hpp"
#include "present/common.hpp"
#include "present/table.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/chart/chart.hpp"

namespace zeroloss {
using namespace internal;
namespace {

// ---- text ----

std::string heading(const NamedProblem& named, const LinearResult& r) {
  std::string text = named.name + ": ";
  if (r.n > 0) text += count(r.n, "point", "points") + ", least squares: ";
  text += fmt::format("R is {0} x {0} with singular values from {1:.4g} to {2:.4g} (computed)", r.d,
                      r.map.s_min, r.map.s_max);
  if (r.treatment == "none") return text;
  text += "\ndet R < 0, which small layers cannot give: ";
  return text +
         (r.treatment == "flipped"
              ? "the labels' signs are flipped, R becomes -R"
              : fmt::format("x and y get a coordinate b and -b, R becomes diag(R, -1), {0} x {0}", r.d + 1));
}

// Of many depths twelve, evenly spread, the first and the last among them.
std::vector<const DepthResult*> shown(const LinearResult& r) {
  std::vector<const DepthResult*> some;
  for (const Index k : even_choice(std::ssize(r.depths), 12))
    some.push_back(&r.depths[static_cast<std::size_t>(k)]);
  return some;
}

// Of `paper` that of the theorem, which has nothing to say of few layers.
std::string formula(const Factorization& f) { return std::isfinite(f.bound) ? above(f.bound, 3) : "none"; }

std::string factorization_table(const DepthResult& depth) {
  Table table({"factorisation", "max ||A_i|| <=", "by its formula", "||product - R||_F <="});
  std::string missing;
  for (const Factorization& f : depth.factorizations) {
    if (f.missing.empty())
      table.add({f.name, above(f.max_norm, 3), formula(f), decimal(f.reconstruction_error, 2, Rounding::up)});
    else
      missing += fmt::format("no {}: {}\n", f.name, f.missing);
  }
  return table.text() + "(<=: proved, rounding included)\n" + missing;
}

std::string norm_of(const DepthResult& depth, const char* name) {
  for (const Factorization& f : depth.factorizations)
    if (f.name == name && f.missing.empty()) return above(f.max_norm, 3);
  return "";
}

std::string depth_table(const LinearResult& r, bool train) {
  std::vector<std::string> header{"layers", "theorem", "paper", "polar", "logarithm"};
  if (train) header.insert(header.end(), {"descent", "steps", "misfit", "status"});
  Table table(header);
  for (const DepthResult* depth : shown(r)) {
    std::vector<std::string> row{with_commas(depth->layers), formula(depth->factorizations.front()),
                                 norm_of(*depth, "paper"), norm_of(*depth, "polar"),
                                 norm_of(*depth, "logarithm")};
    if (depth->descent)
      row.insert(row.end(),
                 {above(depth->descent->curve.back().at.max_norm, 3), with_commas(depth->descent->steps),
                  fmt::format("{:.1e}", depth->descent->relative_misfit), name(depth->descent->status)});
    table.add(row);
  }
  std::string text =
      fmt::format("bounds of max ||A_i|| (proved) at each depth{}\n", train ? ", and gradient descent" : "");
  text += table.text();
  if (shown(r).size() < r.depths.size())
    text += fmt::format("({} of {} depths)\n", shown(r).size(), r.depths.size());
  return text;
}

std::string descent_table(const DescentResult& descent) {
  Table table({"step", "relative misfit", "||grad f||", "its bound", "max ||A_i|| <="});
  const std::size_t size = descent.curve.size(), rows = std::min<std::size_t>(size, 8);
  for (std::size_t k = 0; k < rows; ++k) {
    const DescentPoint& p = descent.curve[rows > 1 ? k * (size - 1) / (rows - 1) : 0];
    table.add({with_commas(p.step), fmt::format("{:.3g}", p.relative_misfit),
               fmt::format("{:.3g}", p.at.gradient_norm),
               p.at.max_norm < 1 ? below(p.at.gradient_bound, 3) : "says nothing", above(p.at.max_norm, 3)});
  }
  std::string text = table.text();
  if (std::isfinite(descent.least_ratio))
    text += fmt::format(
        "least gradient norm over its bound, 1 or more by the landscape inequality: {:.3g} (computed)\n",
        descent.least_ratio);
  return text;
}

// ---- JSON ----

Json descent_json(Index layers, const DescentResult& descent) {
  const Landscape& at = descent.curve.back().at;
  Json json{{"layers", layers}};
  tell(json, descent);
  tell(json, at);
  json["in_domain"] = at.max_norm < 1;
  return json;
}

Json result_json(const NamedProblem& named, const LinearOptions& options, const LinearResult& r) {
  Json json{{"data", named.name}, {"digest", told(named.digest)}, {"options", told(options)}};
  tell(json, r);
  json["sigma_min"] = r.problem.sigma_min;
  json["sigma_max"] = r.problem.sigma_max;
  json["least_risk"] = r.problem.noise;
  Json layers = Json::array(), factorizations = Json::array(), missing = Json::array(),
       training = Json::array();
  for (const DepthResult& depth : r.depths) {
    layers.push_back(depth.layers);
    for (const Factorization& f : depth.factorizations)
      if (f.missing.empty())
        factorizations.push_back(told(f));
      else
        missing.push_back({{"name", f.name}, {"layers", f.layers}, {"reason", f.missing}});
    if (depth.descent) training.push_back(descent_json(depth.layers, *depth.descent));
  }
  json["layers"] = layers;
  json["factorizations"] = factorizations;
  json["missing"] = missing;
  json["training"] = training;
  // Of the last depth, at the top level too; null without training.
  const DepthResult& last = r.depths.back();
  DescentResult nothing;
  nothing.curve.emplace_back();
  const Json of_last = descent_json(last.layers, last.descent.value_or(nothing));
  for (const auto& [key, value] : of_last.members())
    if (key != "layers") json[key] = last.descent ? value : Json();
  return json;
}

// ---- files ----

std::string metrics_csv(const LinearResult& r) {
  std::string csv = "layers," + csv_names(DescentPoint{}) + "\n";
  for (const DepthResult& depth : r.depths)
    if (depth.descent)
      for (const DescentPoint& p : depth.descent->curve)
        csv += fmt::format("{},{}\n", depth.layers, csv_values(p));
  return csv;
}

std::string descent_figure(const std::string& title, const DescentResult& descent) {
  Curve measured{"gradient norm", {}, {}, {}}, bound{"bound of the inequality", {}, {}, {}},
      misfit{"relative misfit", {}, {}, {}};
  for (const DescentPoint& p : descent.curve) {
    const auto step = static_cast<double>(p.step);
    measured.x.push_back(step), measured.y.push_back(p.at.gradient_norm);
    bound.x.push_back(step), bound.y.push_back(p.at.gradient_bound);
    misfit.x.push_back(step), misfit.y.push_back(p.relative_misfit);
  }
  return line_chart(title, {"step", false}, {"", true}, {measured, bound, misfit});
}

std::string norm_figure(const std::string& title, const LinearResult& r) {
  std::vector<Curve> curves{{"theorem 2.1", {}, {}, {}},
                            {"paper", {}, {}, {}},
                            {"polar", {}, {}, {}},
                            {"logarithm", {}, {}, {}},
                            {"gradient descent", {}, {}, {}}};
  const auto add = [&](const std::string& name, Index layers, double norm) {
    for (Curve& curve : curves)
      if (curve.name == name) {
        curve.x.push_back(static_cast<double>(layers));
        curve.y.push_back(norm);
      }
  };
  for (const DepthResult& depth : r.depths) {
    const double theorem = depth.factorizations.front().bound;
    if (std::isfinite(theorem)) add("theorem 2.1", depth.layers, theorem);
    for (const Factorization& f : depth.factorizations)
      if (f.missing.empty()) add(f.name, f.layers, f.max_norm);
    if (depth.descent && depth.descent->status == DescentStatus::converged)
      add("gradient descent", depth.layers, depth.descent->curve.back().at.max_norm);
  }
  std::erase_if(curves, [](const Curve& curve) { return curve.x.empty(); });
  return line_chart(title, {"layers", false}, {"max ||A_i||", true}, curves);
}

// ||A_i|| of the networks at the last depth, the only ones that are kept.
std::string layers_figure(const std::string& title, const DepthResult& depth) {
  std::vector<Curve> curves;
  const auto add = [&](const std::string& name, const LinearResnet& network) {
    Curve curve{name, {}, {}, {}};
    for (std::size_t i = 0; i < network.A.size(); ++i) {
      curve.x.push_back(static_cast<double>(i + 1));
      curve.y.push_back(LinearResnet{{network.A[i]}}.max_norm());
    }
    if (!curve.x.empty()) curves.push_back(std::move(curve));
  };
  for (const Factorization& f : depth.factorizations) add(f.name, f.network);
  if (depth.descent) add("gradient descent", depth.descent->network);
  return line_chart(title, {"layer i"}, {"||A_i||"}, curves);
}

// Depths at which descent did not converge are left out.
std::string convergence_figure(const std::string& title, const LinearResult& r) {
  Curve steps{"steps", {}, {}, {}};
  for (const DepthResult& depth : r.depths)
    if (depth.descent && depth.descent->status == DescentStatus::converged) {
      steps.x.push_back(static_cast<double>(depth.layers));
      steps.y.push_back(static_cast<double>(depth.descent->steps));
    }
  return line_chart(title, {"layers", false}, {"steps to the tolerance", false}, {steps});
}

}  // namespace

std::string linear_text(const NamedProblem& named, const LinearOptions& options, const LinearResult& r) {
  std::string text = heading(named, r) + "\n\n" + r.conclusion + "\n\n";
  if (r.depths.size() > 1) {
    text += depth_table(r, options.train);
  } else {
    const DepthResult& depth = r.depths.front();
    text += factorization_table(depth);
    if (depth.descent) text += "\n" + descent_table(*depth.descent);
  }
  if (r.n > 0)
    text +=
        fmt::format("risk of R, the least-squares map of these points: {:.4g} (computed)\n", r.problem.noise);
  return text + fmt::format("\n{:.1f} s\n", r.seconds);
}

std::string linear_json(const NamedProblem& named, const LinearOptions& options, const LinearResult& result,
                        const Next& next) {
  Json json = result_json(named, options, result);
  json["next"] = told(next);
  return json.dump(1);
}

void write_linear(RunFolder& folder, const NamedProblem& named, const LinearOptions& options,
                  const LinearResult& r, const std::vector<std::string>& command, const Next& next) {
  folder.write("result.json", linear_json(named, options, r, next) + "\n");
  folder.write("metrics.csv", metrics_csv(r));
  save_linear(folder.file("model.safetensors"), r,
              {{"options", told(options).dump()}, {"data", named.name}, {"digest", named.digest}});
  const std::string deepest = fmt::format("{}: {} layers", named.name, r.depths.back().layers);
  if (r.depths.back().layers > 1) folder.write("layers.vl.json", layers_figure(deepest, r.depths.back()));
  if (r.depths.size() > 1) {
    folder.write("norm.vl.json", norm_figure(named.name + ": exact networks with small layers", r));
    if (options.train)
      folder.write("convergence.vl.json",
                   convergence_figure(named.name + ": gradient descent from A = 0", r));
  } else if (const auto& descent = r.depths.front().descent) {
    folder.write("descent.vl.json", descent_figure(deepest, *descent));
  }
  const Json data{
      {"name", named.name}, {"digest", named.digest}, {"sigma", named.sigma}, {"seed", named.seed}};
  Claims claims(folder);
  claim_linear(claims, r);
  claims.write();
  folder.write("manifest.json", manifest("linear", command, told(options), data, r.seconds));
  folder.finish();
}

}  // namespace zeroloss
