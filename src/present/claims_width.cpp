#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "deep/judge.hpp"
#include "linalg/rounding.hpp"
#include "network/prepare.hpp"
#include "present/claims_of.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/kernel/activation.hpp"
#include "zeroloss/network/pairs.hpp"

// Widths that are too few and widths that are enough, as claims.
namespace zeroloss::internal {
namespace {

// Gradient descent from a network of pairs, to the labels given or to any.
void claim_pairs(Claims& claims, const std::string& points, const Dataset& data, const TrainingSet& set,
                 const std::string& activation_name, const WidthRow& row, double accuracy) {
  const Activation& phi = activation(activation_name);
  const double bytes = 8.0 * *row.width * static_cast<double>(set.points.d());
  if (claims.leaves_out(bytes, "pairs")) return;
  TwoLayer pairs = draw_pairs(
      {.width = static_cast<Index>(*row.width), .d = set.points.d(), .seed = *row.seed}, phi, set.points.X);
  scale_pairs(pairs, *row.output_scale);
  const std::string network = claims.network(row.id, layers_of(activation_name, pairs), {true, false});
  const Matrix Y = targets(data);
  const bool any = row.id == "any_labels";
  for (Index k = 0; k < (any ? 1 : Y.cols()); ++k) {
    const std::string which = Y.cols() > 1 && !any ? fmt::format(", output {}", k) : "";
    Json& claim = claims.add(
        "descent", fmt::format("pairs of {} units fit {}{}: step {}, {} steps", *row.width, row.about, which,
                               decimal(*row.step, 3, Rounding::down), decimal(*row.steps, 3, Rounding::up)));
    claim["network"] = network;
    claim["points"] = points;
    claim["step"] = hexadecimal(*row.step);
    // That so many steps suffice: (1 - eta q)^steps is the accuracy.
    claim["rate"] = hexadecimal(-std::expm1(std::log(accuracy) / *row.steps) / *row.step * (1 - 1e-12));
    if (any) {
      double longest = 0;
      for (Index c = 0; c < Y.cols(); ++c) longest = std::max(longest, norm_above(Y.col(c)));
      claim["distance"] = hexadecimal(parsed_number(decimal(longest, 4, Rounding::up)).value());
    } else {
      claim["targets"] = claims.vector(fmt::format("{}_targets{}", row.id, k), Vector(Y.col(k)));
    }
  }
}

// Groups of the distinct points that four units with biases each fit.
void claim_biased(Claims& claims, const Dataset& data, const WidthOptions& options, const WidthResult& r,
                  const WidthRow& row) {
  std::map<Index, Index> group_of;  // record -> group
  for (std::size_t g = 0; g < r.groups.size(); ++g)
    for (const Index record : r.groups[g]) group_of[record] = static_cast<Index>(g);
  const std::vector<Index> distinct = unit_points(data, options.center, options.normalize).coincide.distinct;
  std::vector<Index> groups;
  for (const Index i : distinct) groups.push_back(group_of.at(record_of(data, i)));
  Json& claim = claims.add(
      "biased", fmt::format("{} units with biases can have {}: {}", *row.width, row.about, row.says));
  claim["points"] = claims.points(
      "distinct", "points", steps_to_points(claims, standardization_for(data, options.normalize), r.center),
      &distinct);
  claim["activation"] = activation_claim(r.activation);
  claim["groups"] = claims.integers("groups", groups);
  claim["width"] = static_cast<Index>(*row.width);
}

}  // namespace

void claim_rows(Claims& claims, const std::string& points, const Dataset& data,
                const std::string& activation_name, bool center, bool normalize,
                const std::vector<WidthRow>& rows, Index rank, double accuracy) {
  std::optional<TrainingSet> set;
  for (const WidthRow& row : rows) {
    const bool never = !row.width && row.status == "proved";
    if (row.id == "too_few" && (never || (row.width && *row.width >= 2))) {
      Json& claim =
          claims.add("too_few", never ? row.says : fmt::format("too few below {}: {}", *row.width, row.says));
      claim["points"] = points;
      claim["activation"] = activation_claim(activation_name);
      claim["width"] = never ? data.n() : static_cast<Index>(*row.width) - 1;
      claim["rank_at_most"] = rank;
    }
    const bool pairs = row.id == "these_labels" || row.id == "any_labels";
    if (!pairs || !row.width || !row.seed || !row.output_scale || !row.step || !row.steps) continue;
    if (!set) set = training_set(data, center, normalize);
    claim_pairs(claims, points, data, *set, activation_name, row, accuracy);
  }
}

void claim_theorems(Claims& claims, const std::string& points, const Dataset& data,
                    const std::string& activation_name, const std::vector<Guarantee>& guarantees) {
  std::string y;
  for (const Guarantee& g : guarantees) {
    if (!g.width || !std::isfinite(*g.width) || !g.verified || !g.lambda_bound || !g.failure_probability)
      continue;
    if (y.empty() && data.task != Task::none) y = claims.matrix("targets_of_theorems", targets(data));
    const double width = nearly(*g.width, Rounding::up);
    Json& claim =
        claims.add("theorem", fmt::format("{}, lambda from {}: width {} is enough, but for probability {}",
                                          g.theorem, g.lambda_from, decimal(width, 4, Rounding::up),
                                          decimal(*g.failure_probability, 3, Rounding::up)));
    claim["id"] = g.id;
    claim["points"] = points;
    claim["activation"] = activation_claim(activation_name);
    claim["lambda"] = hexadecimal(*g.lambda_bound);
    claim["failure_probability"] = hexadecimal(*g.failure_probability);
    claim["width"] = hexadecimal(width);
    // A step of Oymak and Soltanolkotabi is for targets of a length, of which there may be none.
    if (data.task == Task::none && g.id.starts_with("os")) continue;
    if (g.step) claim["step"] = hexadecimal(nearly(*g.step, Rounding::down));
    // The rate is that of the step, which is a little smaller than the theorem's.
    if (g.rate) claim["rate"] = hexadecimal(nearly(*g.rate * (1 - 1e-7), Rounding::down));
    if (y.empty()) continue;
    claim["targets"] = y;
    claim["networks"] = data.classes() > 2 ? data.classes() : 1;
  }
}

void claim_width(Claims& claims, const Dataset& data, const WidthOptions& options, const WidthResult& r) {
  if (claims.leaves_out(data)) return;
  claims.points("data", claims.point_array("points", data.X),
                steps_to_points(claims, standardization_for(data, options.normalize), r.center));
  claim_conflicts(claims, "data", data, r.conflicts, r.conclusion);
  claim_rows(claims, "data", data, r.activation, options.center, options.normalize, r.rows, r.rank,
             options.accuracy);
  if (r.found) {
    FitOptions fit;
    fit.center = options.center;
    fit.normalize = options.normalize;
    claim_fit(claims, data, fit, *r.found);
  }
  if (const WidthRow* row = r.row("biased")) claim_biased(claims, data, options, r, *row);
  std::vector<Guarantee> published;
  for (const WidthRow& row : r.rows) {
    if (!row.lambda_bound || row.status != "proved") continue;
    published.push_back({.id = row.id,
                         .theorem = row.title,
                         .lambda_from = row.says.substr(std::string("lambda from ").size()),
                         .lambda_bound = row.lambda_bound,
                         .verified = true,
                         .width = row.width,
                         .step = row.step,
                         .failure_probability = options.failure_probability});
  }
  claim_theorems(claims, "data", data, r.activation, published);
}

}  // namespace zeroloss::internal
