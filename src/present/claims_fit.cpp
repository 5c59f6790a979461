#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <queue>
#include <tuple>

#include "network/prepare.hpp"
#include "present/claims_of.hpp"
#include "zeroloss/base/text.hpp"

// What fit proves, as claims.
namespace zeroloss::internal {
namespace {

std::string said(const OutputResult& output, const std::string& what) {
  return output.label.empty() ? what : fmt::format("class {}: {}", output.label, what);
}

// Rows and hidden units of the `count` pre-activations at the points that are closest to zero: those which
// the exact network beside these weights holds there, as all others are further away than it is.
std::vector<std::pair<Index, Index>> kinks_of(const TrainingSet& set, const TwoLayer& exact, Index count) {
  if (count == 0) return {};
  const Matrix Z = set.X() * exact.W.transpose();
  std::priority_queue<std::tuple<double, Index, Index>> closest;
  for (Index j = 0; j < Z.cols(); ++j) {
    if (exact.v(j) == 0) continue;
    for (Index i = 0; i < Z.rows(); ++i) {
      if (std::ssize(closest) == count && !(std::abs(Z(i, j)) < std::get<0>(closest.top()))) continue;
      closest.emplace(std::abs(Z(i, j)), i, j);
      if (std::ssize(closest) > count) closest.pop();
    }
  }
  std::vector<std::pair<Index, Index>> kinks;
  for (; !closest.empty(); closest.pop()) {
    const auto& [size, i, j] = closest.top();
    kinks.emplace_back(set.distinct.empty() ? i : set.distinct[static_cast<std::size_t>(i)], j);
  }
  return kinks;
}

// Claims what is proved of a network of many layers: with all outputs, or one of those of a class each.
void claim_deep(Claims& claims, const Dataset& data, const FitResult& r, const DeepNetwork& network,
                const Matrix& Y, std::size_t k) {
  const Certificate& c = r.outputs[k].certificate;
  if (!c.holds) return;
  const std::vector<bool> moving = layers_named(r.layers, network.depth(), network.outputs());
  const std::string number = r.separate.empty() ? "" : fmt::format("{}", k);
  const std::string name = claims.network("net" + number, network, moving);
  Json& claim = claims.add(
      c.kind, said(r.outputs[k], fmt::format("an exact network is proved to lie within {} of these weights",
                                             decimal(c.radius, 3, Rounding::up))));
  claim["network"] = name;
  claim["points"] = claims.points("data", claims.point_array("points", data.X), {});
  claim["targets"] = claims.matrix("targets" + number, Y);
  claim["radius"] = hexadecimal(c.radius);
  if (c.kind != "descent") return;
  claim["step"] = hexadecimal(c.step);
  claim["rate"] = hexadecimal(c.rate);
}

}  // namespace

void claim_fit(Claims& claims, const Dataset& data, const FitOptions& options, const FitResult& r) {
  if (!r.conflicts.empty() && !claims.leaves_out(data)) {
    const UnitPoints points = unit_points(data, options.center, options.normalize);
    claim_conflicts(claims,
                    claims.points("divided", claims.point_array("points", data.X),
                                  steps_to_points(claims, points.standardization, points.center)),
                    data, r.conflicts, "zero loss is impossible: " + conflict_text(r.conflicts));
  }
  const auto holds = [](const OutputResult& output) { return output.certificate.holds; };
  if (std::ranges::none_of(r.outputs, holds) || claims.leaves_out(data)) return;
  if (!r.separate.empty()) {
    const Matrix Y = targets(data);
    for (std::size_t k = 0; k < r.separate.size(); ++k)
      claim_deep(claims, data, r, r.separate[k], Y.col(static_cast<Index>(k)), k);
  } else if (r.deep && r.outputs.size() == 1) {
    claim_deep(claims, data, r, *r.deep, targets(data), 0);
  }
  if (r.deep) return;
  const Network& network = r.network;
  claims.points("data", claims.point_array("points", data.X),
                steps_to_points(claims, network.standardization, network.center));
  const Matrix Y = targets(data);
  std::optional<TrainingSet> set;
  for (std::size_t k = 0; k < r.outputs.size(); ++k) {
    const OutputResult& output = r.outputs[k];
    const Certificate& c = output.certificate;
    if (!c.holds) continue;
    const TwoLayer& two = network.outputs[k];
    const bool last = c.kind == "output_weights";
    const std::string number = fmt::format("{}", k);
    const std::string name =
        claims.network("output" + number, layers_of(network.activation, two), {!last, last});
    const std::string y = claims.vector("targets" + number, Vector(Y.col(static_cast<Index>(k))));
    const auto add = [&](const std::string& kind, const std::string& what) -> Json& {
      Json& claim = claims.add(kind, said(output, what));
      claim["network"] = name;
      claim["points"] = "data";
      claim["targets"] = y;
      return claim;
    };
    const std::string within = fmt::format("an exact network is proved to lie within {} of these weights",
                                           decimal(c.radius, 3, Rounding::up));
    if (last) {
      Json& claim = add("last_layer", within);
      claim["lambda_min"] = hexadecimal(c.lambda_min);
      claim["radius"] = hexadecimal(c.radius);
      continue;
    }
    if (c.kind != "descent") {
      Json& exists = add("existence", within);
      exists["radius"] = hexadecimal(c.radius);
      // relu: the proof is at other weights, where some pre-activations are held at zero
      if (const TwoLayer& beside = r.witnesses.at(k); beside.v.size() > 0) {
        if (!set) set = training_set(data, !network.center.empty(), options.normalize);
        exists["witness"] =
            claims.network("beside" + number, layers_of(network.activation, beside), {true, false});
        const auto kinks = kinks_of(*set, beside, c.kinks);
        if (!kinks.empty()) exists["kinks"] = claims.pairs("kinks" + number, kinks);
      }
      continue;
    }
    // That it converges within the radius is that an exact network lies there.
    Json& descends = add("descent", fmt::format("{}, and gradient descent with any step up to {} reaches it",
                                                within, decimal(c.step, 3, Rounding::down)));
    descends["step"] = hexadecimal(c.step);
    descends["rate"] = hexadecimal(c.rate);
    descends["radius"] = hexadecimal(c.radius);
  }
}

}  // namespace zeroloss::internal
