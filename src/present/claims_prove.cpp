#include <fmt/format.h>

#include <cmath>
#include <set>

#include "deep/judge.hpp"
#include "present/claims_of.hpp"
#include "zeroloss/base/text.hpp"

// What prove proves, as claims.
namespace zeroloss::internal {
namespace {

// Samples that are among these records, or those that are not.
std::vector<Index> rows_of(const Dataset& data, const std::set<Index>& records, bool among) {
  std::vector<Index> rows;
  for (Index i = 0; i < data.n(); ++i)
    if (records.contains(record_of(data, i)) == among) rows.push_back(i);
  return rows;
}

void claim_labels(Claims& claims, const std::string& network, const Dataset& data, const ProvedNetwork& p) {
  if (p.right + p.wrong == 0) return;  // every one is undecided
  Json& claim = claims.add("labels", labels_of(p, data.n()));
  claim["network"] = network;
  claim["points"] = "data";
  claim["labels"] = "labels";
  const bool all = p.right == data.n();
  const std::set<Index> wrong(p.wrong_samples.begin(), p.wrong_samples.end());
  std::set<Index> not_right = wrong;
  not_right.insert(p.undecided_samples.begin(), p.undecided_samples.end());
  if (p.right > 0)
    claim["right"] = all ? "all" : claims.integers(p.which + "_right", rows_of(data, not_right, false));
  if (p.wrong > 0) claim["wrong"] = claims.integers(p.which + "_wrong", rows_of(data, wrong, true));
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
  if (!network.layers()) {
    for (const ProvedNetwork& p : r.networks)
      claims.add("labels_of_file", said_of(p, data.task, r.n))["file"] =
          p.which == "given" ? model : "polished.onnx";
    return;
  }
  const bool classes = data.task == Task::classification;
  const NetworkOutputs its = with_class_names(outputs_of(network.network), data, options).first;
  const Matrix Y = targets_of(its, data);
  claims.points("data", claims.matrix("points", divided_points(data, options.divide)), {});
  claims.matrix("targets", Y);
  if (classes) {
    std::vector<Index> labels(static_cast<std::size_t>(data.n()));
    for (Index i = 0; i < data.n(); ++i) {
      Index own = Y(i, 0) > its.threshold ? 1 : 0;
      if (Y.cols() > 1) Y.row(i).maxCoeff(&own);
      labels[static_cast<std::size_t>(i)] = own;
    }
    claims.integers("labels", labels);
  }
  const std::vector<bool> moving =
      layers_named(options.layers, network.network.depth(), network.network.outputs());
  for (const ProvedNetwork& p : r.networks) {
    const DeepNetwork& of = p.which == "polished" ? r.polished : network.network;
    const std::string name = claims.network(p.which, of, moving);
    // Layers that are only near to what the file computes: the labels given are the file's.
    if (network.onnx && network.onnx->approximate && p.which == "given") {
      if (classes) claims.add("labels_of_file", labels_of(p, data.n()))["file"] = model;
    } else {
      if (classes)  // labels are those of the output less the threshold
        claim_labels(claims,
                     its.threshold == 0 ? name : claims.network(p.which + "_less", of, moving, its.threshold),
                     data, p);
      if (std::isfinite(p.misfit)) {
        Json& claim = claims.add("misfit", fmt::format("misfit <= {}", decimal(p.misfit, 3, Rounding::up)));
        claim["network"] = name;
        claim["points"] = "data";
        claim["targets"] = "targets";
        claim["at_most"] = hexadecimal(p.misfit);
      }
    }
    claim_certificate(claims, name, p.certificate);
  }
}

}  // namespace zeroloss::internal
