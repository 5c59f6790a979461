#include "zeroloss/present/prove.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "present/common.hpp"
#include "zeroloss/deep/model.hpp"

namespace zeroloss {
using namespace internal;
namespace {

std::string samples(const std::vector<Index>& records) {
  constexpr std::size_t kShown = 12;
  const std::vector<Index> first(
      records.begin(), records.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, records.size())));
  return fmt::format("{}{}", fmt::join(first, ", "),
                     records.size() > kShown ? fmt::format(" and {} more", records.size() - kShown) : "");
}

std::string labels_text(const ProvedNetwork& p) {
  return fmt::format("{} right, {} wrong, {} too close to tell", with_commas(p.right), with_commas(p.wrong),
                     with_commas(p.undecided));
}

void tell_labels(const ProvedNetwork& p, Facts& fact) {
  fact("labels", labels_text(p));
  if (!p.wrong_samples.empty()) fact("not right", "samples " + samples(p.wrong_samples));
  fact("least margin >=", fmt::format("{}, of sample {}", below(p.margin, 3), p.margin_sample));
  if (p.sharpening > 0)
    fact("cross-entropy", fmt::format("below 0.01 everywhere with {} times the output weights and biases",
                                      above(p.sharpening, 3)));
}

void tell_proof(const DeepCertificate& c, Facts& fact) {
  const bool known = c.lambda_min > 0;  // else h is a bound from below
  if (known) fact("lambda_min(J J^T) >=", below(c.lambda_min, 4));
  if (std::isfinite(c.h))
    fact(known ? "h <=" : "h >=", fmt::format("{} (an exact network is proved where it is at most 1/2)",
                                              known ? above(c.h, 3) : below(c.h, 3)));
  if (c.exists) fact("exact network within", above(c.radius, 3));
  if (c.exists && std::isfinite(c.kink))
    fact("signs",
         fmt::format("none changes: |z| is {} times what it can move by, or more", below(c.kink, 3)));
  if (c.descends)
    fact("gradient descent",
         fmt::format("steps up to {}; each shortens the misfit by {} step; stays within {}", below(c.step, 3),
                     below(c.rate, 3), above(c.descent_radius, 3)));
  if (!c.reason.empty()) fact("not proved", c.reason);
}

std::string section(const Dataset& data, const ProvedNetwork& p) {
  Facts fact(26);
  fact("outputs", fmt::format("computed to within {}", above(p.output_error, 3)));
  if (data.task == Task::classification) tell_labels(p, fact);
  fact("misfit <=", fmt::format("{}, relative {}", above(p.misfit, 3), above(p.relative_misfit, 3)));
  if (data.task == Task::regression) fact("largest error <=", above(p.largest_error, 3));
  tell_proof(p.certificate, fact);
  return fmt::format("\nthe {} network\n{}", p.which, fact.text());
}

}  // namespace

std::string prove_text(const std::string& model, const ReadNetwork& network, const Dataset& data,
                       const ProveOptions& options, const ProveResult& r) {
  int exponent = 0;
  const bool exact = std::frexp(options.divide, &exponent) == 0.5;  // a power of two
  const std::string divided = options.divide == 1 ? ""
                                                  : fmt::format("; points divided by {}{}", options.divide,
                                                                exact ? "" : " and rounded to double");
  std::string text =
      fmt::format("{}\n{}: {}\n\n{}\n", heading(data, divided), model, r.network, r.conclusion);
  for (const std::string& note : network.notes) text += "note: " + note + "\n";
  for (const ProvedNetwork& p : r.networks) text += section(data, p);
  if (r.written)
    text += fmt::format(
        "\npolished.onnx holds these weights rounded to float32:\n{}misfit <= {}, relative {}. "
        "What is proved of an exact network is of model.safetensors.\n",
        data.task == Task::classification ? fmt::format("labels: {}, least margin >= {}; ",
                                                        labels_text(*r.written), below(r.written->margin, 3))
                                          : "",
        above(r.written->misfit, 3), above(r.written->relative_misfit, 3));
  Facts fact(26);
  if (r.moving < r.parameters)
    fact("layers that may move", fmt::format("{}: {} of {} weights", options.layers, with_commas(r.moving),
                                             with_commas(r.parameters)));
  if (r.n_distinct < r.n) fact("distinct points", with_commas(r.n_distinct));
  if (r.networks.size() > 1)
    fact("polishing", fmt::format("{} steps, {} factorisations of side {}", r.steps, r.factorizations,
                                  with_commas(r.n_distinct * r.outputs)));
  if (!fact.text().empty()) text += "\n" + fact.text();
  return text + fmt::format("\n{:.1f} s\n", r.seconds);
}

std::string prove_json(const std::string& model, const ReadNetwork& network, const Dataset& data,
                       const ProveOptions& options, const ProveResult& r, const Next& next) {
  Json json = answer_json(data, told(options));
  json["model"] = model;
  json["notes"] = network.notes;
  tell(json, r);
  json["next"] = told(next);
  return json.dump(1);
}

namespace {

// A row a sample: what the last network says, and what each number may be off by.
std::string outputs_csv(const Dataset& data, const ProveResult& r) {
  const VerifiedOutputs& outputs = r.networks.back().outputs;
  std::string csv = "sample";
  for (Index k = 0; k < outputs.f.cols(); ++k) csv += fmt::format(",output_{0},error_{0}", k);
  csv += "\n";
  for (Index i = 0; i < outputs.f.rows(); ++i) {
    csv += fmt::format("{}", data.records[static_cast<std::size_t>(i)]);
    for (Index k = 0; k < outputs.f.cols(); ++k)
      csv += fmt::format(",{},{}", outputs.f(i, k), outputs.error(i, k));
    csv += "\n";
  }
  return csv;
}

}  // namespace

void write_prove(RunFolder& folder, const std::string& model, const ReadNetwork& network, const Dataset& data,
                 const ReadOptions& read, const ProveOptions& options, ProveResult& r,
                 const std::vector<std::string>& command, const Next& next, Progress& progress) {
  if (r.networks.size() > 1) {
    save_model(folder.file("model.safetensors"), r.polished, {{"polished_from", model}});
    if (network.onnx) {
      const DeepNetwork written =
          write_like(std::filesystem::path(model), *network.onnx, r.polished, folder.file("polished.onnx"));
      if (network.onnx->single) {
        r.written = judge(written, data, options.divide, progress);
        r.written->which = "written";
        r.written->certificate.reason = "not tried";
      }
    }
  }
  folder.write("result.json", prove_json(model, network, data, options, r, next) + "\n");
  folder.write("outputs.csv", outputs_csv(data, r));
  folder.write("manifest.json", manifest("prove", command, told(options), data, read, r.seconds));
  folder.finish();
}

Next after_prove(const std::vector<std::string>& words, const ProveOptions& options, const ProveResult& r,
                 const std::string& out) {
  std::vector<std::string> again = words;
  if (!r.networks.back().certificate.exists && !options.polish) {
    again.emplace_back("--polish");
    return {"go on to weights beside which an exact network lies", again};
  }
  if (r.networks.back().certificate.exists && out.empty()) {
    again.insert(again.end(), {"--out", "proved"});
    return {options.polish ? "keep the polished network" : "keep the answer", again};
  }
  return {};
}

}  // namespace zeroloss
