#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "deep/judge.hpp"
#include "present/claims_of.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/text.hpp"

// What prove proves, as claims.
namespace zeroloss::internal {
namespace {

// Samples that are not among these records.
std::vector<Index> others(const Dataset& data, const std::vector<const std::vector<Index>*>& records) {
  std::set<Index> without;
  for (const auto* list : records) without.insert(list->begin(), list->end());
  std::vector<Index> rows;
  for (Index i = 0; i < data.n(); ++i)
    if (!without.contains(record_of(data, i))) rows.push_back(i);
  return rows;
}

std::vector<Index> rows_of(const Dataset& data, const std::vector<Index>& records) {
  const std::set<Index> these(records.begin(), records.end());
  std::vector<Index> rows;
  for (Index i = 0; i < data.n(); ++i)
    if (these.contains(record_of(data, i))) rows.push_back(i);
  return rows;
}

void claim_labels(Claims& claims, const std::string& network, const Dataset& data, const ProvedNetwork& p) {
  Json& claim = claims.add("labels", labels_of(p, data.n()));
  claim["network"] = network;
  claim["points"] = "data";
  claim["labels"] = "labels";
  const bool all = p.right == data.n();
  if (p.right > 0)
    claim["right"] = all ? Json("all")
                         : Json(claims.integers(p.which + "_right",
                                                others(data, {&p.wrong_samples, &p.undecided_samples})));
  if (p.wrong > 0) claim["wrong"] = claims.integers(p.which + "_wrong", rows_of(data, p.wrong_samples));
  if (all && p.margin > 0) claim["margin"] = hexadecimal(p.margin);
}

void claim_certificate(Claims& claims, const std::string& network, const DeepCertificate& c) {
  const auto with = [&](Json& claim) {
    claim["network"] = network;
    claim["points"] = "data";
    claim["targets"] = "targets";
    claim["misfit"] = hexadecimal(c.misfit);
    claim["lambda_min"] = hexadecimal(c.lambda_min);
  };
  if (c.exists) {
    Json& claim =
        claims.add("existence", fmt::format("an exact zero-loss network lies within {} of it, proved",
                                            decimal(c.radius, 3, Rounding::up)));
    with(claim);
    claim["radius"] = hexadecimal(c.radius);
  }
  if (c.descends) {
    Json& claim = claims.add(
        "descent", fmt::format("gradient descent: steps up to {}; each shortens the misfit by {} step; stays "
                               "within {}",
                               decimal(c.step, 3, Rounding::down), decimal(c.rate, 3, Rounding::down),
                               decimal(c.descent_radius, 3, Rounding::up)));
    with(claim);
    claim["step"] = hexadecimal(c.step);
    claim["rate"] = hexadecimal(c.rate);
    claim["radius"] = hexadecimal(c.descent_radius);
  }
}

}  // namespace

void claim_prove(Claims& claims, const std::string& model, const ReadNetwork& network, const Dataset& data,
                 const ProveOptions& options, const ProveResult& r) {
  if (claims.leaves_out(data)) return;
  const auto [its, remark] =
      with_class_names(network.layers() ? outputs_of(network.network)
                                        : NetworkOutputs{r.outputs, {}, network.behind(), network.single()},
                       data, options);
  const bool classes = data.task == Task::classification;
  const bool near = network.onnx && network.onnx->approximate;
  const Matrix Y = targets_of(its, data);
  if (!network.layers()) {
    const std::string said = said_of(r.networks.front(), data.task, r.n);
    claims.add("labels_of_file", said)["file"] = model;
    return;
  }
  claims.points("data", claims.matrix("points", divided_points(data, options.divide)), {});
  claims.matrix("targets", Y);
  if (classes) {
    std::vector<Index> labels(static_cast<std::size_t>(data.n()));
    for (Index i = 0; i < data.n(); ++i) {
      Index own = Y(i, 0) > 0 ? 1 : 0;
      if (Y.cols() > 1) Y.row(i).maxCoeff(&own);
      labels[static_cast<std::size_t>(i)] = own;
    }
    claims.integers("labels", labels);
  }
  const std::vector<bool> moving =
      layers_named(options.layers, network.network.depth(), network.network.outputs());
  for (const ProvedNetwork& p : r.networks) {
    const std::string name =
        claims.network(p.which, p.which == "polished" ? r.polished : network.network, moving);
    if (classes && near && p.which == "given")
      claims.add("labels_of_file", labels_of(p, data.n()))["file"] = model;
    else if (classes)
      claim_labels(claims, name, data, p);
    if (std::isfinite(p.misfit) && !(near && p.which == "given")) {
      Json& claim = claims.add("misfit", fmt::format("misfit <= {}", decimal(p.misfit, 3, Rounding::up)));
      claim["network"] = name;
      claim["points"] = "data";
      claim["targets"] = "targets";
      claim["at_most"] = hexadecimal(p.misfit);
    }
    claim_certificate(claims, name, p.certificate);
  }
}

}  // namespace zeroloss::internal
