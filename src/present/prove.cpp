#include "zeroloss/present/prove.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clock.hpp"
#include "deep/judge.hpp"
#include "present/claims_of.hpp"
#include "present/common.hpp"
#include "present/next_out.hpp"
#include "zeroloss/deep/model.hpp"
#include "zeroloss/present/loss.hpp"

namespace zeroloss {
using namespace internal;
namespace {

// "sample 5", "samples 5, 37".
std::string samples(const std::vector<Index>& records) {
  constexpr std::size_t kShown = 12;
  const std::vector<Index> first(
      records.begin(), records.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, records.size())));
  return fmt::format("{} {}{}", records.size() == 1 ? "sample" : "samples", fmt::join(first, ", "),
                     records.size() > kShown ? fmt::format(" and {} more", records.size() - kShown) : "");
}

std::string labels_text(const ProvedNetwork& p) {
  return fmt::format("{} right, {} wrong, {} too close to tell", with_commas(p.right), with_commas(p.wrong),
                     with_commas(p.undecided));
}

void tell_labels(const ProvedNetwork& p, Facts& fact) {
  fact("labels", labels_text(p));
  if (!p.wrong_samples.empty()) fact("wrong", samples(p.wrong_samples));
  if (!p.undecided_samples.empty()) fact("too close to tell", samples(p.undecided_samples));
  fact("least margin >=", fmt::format("{}, of sample {}", below(p.margin, 3), p.margin_sample));
  if (p.sharpening > 0)
    fact("cross-entropy", fmt::format("below 0.01 everywhere with {} times the output weights and biases",
                                      above(p.sharpening, 3)));
}

// What a runtime makes of a file in float32, at the points rounded to it.
std::string in_single(const ProvedNetwork& p, bool classes, const std::string& behind) {
  const std::string off = std::isfinite(p.single_error)
                              ? fmt::format("outputs may be off by {}", above(p.single_error, 3))
                              : "of some samples, or all, no bound is known";
  if (!classes) return off;
  std::string before;  // what stands behind the outputs and keeps their order but for rounding
  for (const char* op : {"Sigmoid", "Softmax"})
    if (behind.find(op + 1) < behind.size())
      before =
          fmt::format(" before {}, which may make two of them one: execution float32 decides that, too", op);
  return off +
         (p.single_samples.empty() ? ": no label above changes"
                                   : ": it may decide otherwise at " + samples(p.single_samples)) +
         before;
}

void tell_proof(const DeepCertificate& c, Facts& fact) {
  const bool known = c.lambda_min > 0;  // else h is a bound from below
  if (known) fact("lambda_min(J J^T) >=", below(c.lambda_min, 4));
  if (std::isfinite(c.h))
    fact(known ? "h <=" : "h >=",
         fmt::format("{} (an exact network is proved where it is at most 1/2 and no sign changes)",
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

// What every runtime says, whatever the order of its sums.
std::string executed_text(const ExecutedLabels& e, Task task, const std::string& numbers, bool polished) {
  const std::string which = fmt::format(
      "in every {} execution{}{}, in any order of sums (no Winograd, no FFT)", numbers,
      polished ? " of the polished network" : "",
      e.execution == numbers || e.execution == "float32" ? "" : " with products in " + e.execution);
  if (task != Task::classification)
    return fmt::format("{}: every target within {}", which, above(e.largest_error, 3));
  const auto some = [](Index count, const std::vector<Index>& which) {
    return which.empty() ? with_commas(count) : fmt::format("{} ({})", with_commas(count), samples(which));
  };
  return fmt::format("{}: {} right, {} wrong, {} undecided", which, with_commas(e.right),
                     some(e.wrong, e.wrong_samples), some(e.undecided, e.undecided_samples));
}

// What a single output has to exceed for the second class.
double threshold_of(const ReadNetwork& network, const ProveOptions& options) {
  if (network.layers()) return with_threshold(outputs_of(network.network), options).threshold;
  return with_threshold({1, {}, network.graph->behind, network.graph->single}, options).threshold;
}

// Whether a model is an ONNX file, which can be written with other weights.
bool of_onnx(const std::string& model) { return std::filesystem::path(model).extension() == ".onnx"; }

std::string without(const std::string& behind) {
  return behind.empty() ? "" : fmt::format(", which ends before {}", behind);
}

std::string section(const Dataset& data, const ReadNetwork& network, const ProvedNetwork& p) {
  const std::string& behind = network.behind();
  const std::string numbers = network.layers() ? "float32" : network.graph->numbers;
  const bool classes = data.task == Task::classification;
  const bool of_signs = !(network.graph && network.graph->enclosure && classes);  // else outputs are 0 and 1
  Facts fact(26);
  fact("outputs", fmt::format("computed to within {}", above(p.output_error, 3)));
  if (classes) tell_labels(p, fact);
  if (p.single_error > 0) fact("in " + numbers, in_single(p, classes, behind));
  if (of_signs)
    fact("misfit <=", fmt::format("{}, relative {}", above(p.misfit, 3), above(p.relative_misfit, 3)));
  if (data.task == Task::regression) fact("largest error <=", above(p.largest_error, 3));
  tell_proof(p.certificate, fact);
  return fmt::format("\nthe {} network\n{}", p.which, fact.text());
}

}  // namespace

std::string prove_text(const std::string& model, const ReadNetwork& network, const Dataset& data,
                       const ProveOptions& options, const ProveResult& r) {
  int exponent = 0;  // a quotient by a power of two is exact where it is no subnormal number
  const bool exact = std::frexp(options.divide, &exponent) == 0.5 &&
                     RowMatrix(data.X / options.divide) * options.divide == data.X;
  const std::string divided = options.divide == 1 ? ""
                                                  : fmt::format("; points divided by {}{}", options.divide,
                                                                exact ? "" : " and rounded to double");
  const bool of_a_table = !data.encoding.empty() && network.network.encoding.empty();
  const char* as_they_are = of_a_table ? "; columns as they are, without scale or constant" : "";
  std::string text =
      fmt::format("{}\n{}: {}\n\n{}\n", heading(data, as_they_are + divided), model, r.network, r.conclusion);
  for (const std::string& note : network.notes) text += "note: " + note + "\n";
  for (const std::string& remark : r.remarks) text += "note: " + remark + "\n";
  if (network.single())
    text += fmt::format(
        "note: what is proved is of real arithmetic at the points as doubles; the file is run in {}, to "
        "which a "
        "runtime rounds points and sums\n",
        network.layers() ? "float32" : network.graph->numbers);
  for (const ProvedNetwork& p : r.networks) text += section(data, network, p);
  if (r.written)
    text += fmt::format(
        "\npolished.onnx, read again, holds these weights{}:\n{}misfit <= {}, relative {}{}. "
        "What is proved of an exact network is of model.safetensors.\n",
        network.onnx->folded   ? ", in a graph of these layers in float64" + without(network.network.behind)
        : network.onnx->single ? " rounded to float32"
                               : "",
        data.task == Task::classification ? fmt::format("labels: {}, least margin >= {}; ",
                                                        labels_text(*r.written), below(r.written->margin, 3))
                                          : "",
        above(r.written->misfit, 3), above(r.written->relative_misfit, 3),
        network.single() ? "; in float32 " + in_single(*r.written, data.task == Task::classification,
                                                       network.network.behind)
                         : "");
  if (r.executed)
    text += "\n" +
            executed_text(*r.executed, data.task, network.graph ? network.graph->numbers : "float32",
                          r.polished_graph.has_value()) +
            "\n";
  Facts fact(26);
  if (r.of_file) fact("the file itself", "labels and outputs are those of its own graph");
  if (r.asked > 0)
    fact("the file itself",
         fmt::format("evaluated at {} of {} samples: its outputs are {}", with_commas(r.asked),
                     with_commas(r.n),
                     r.near_file ? "near those of the layers that were read"
                                 : "those of the layers that were read, within proved bounds of rounding") +
             (data.task == Task::classification
                  ? fmt::format("; the same label proved by both at {}", with_commas(r.asked_decided))
                  : ""));
  const double threshold = threshold_of(network, options);
  fact("loss", threshold == 0 ? loss_and_step(data.task)
                              : fmt::format("||f - y||^2/2, y = {0} - 1 or {0} + 1 for classes; summed over "
                                            "samples, steps multiply its gradient",
                                            threshold));
  if (!network.layers() && r.networks.front().certificate.exists)
    fact("what may move",
         fmt::format("the last layer: {} of {} weights", with_commas(r.moving), with_commas(r.parameters)));
  if (network.layers() && r.moving < r.parameters)
    fact("layers that may move", fmt::format("{}: {} of {} weights", options.layers, with_commas(r.moving),
                                             with_commas(r.parameters)));
  if (r.n_distinct < r.n) fact("distinct points", with_commas(r.n_distinct));
  if (r.polished_graph)
    fact("polishing", of_onnx(model)
                          ? "the last layer in closed form; polished.onnx of a run folder holds these weights"
                          : "the last layer in closed form");
  else if (network.layers() && r.networks.size() > 1)
    fact("polishing", fmt::format("{} steps, {} factorisations of side {}", r.steps, r.factorizations,
                                  with_commas(r.n_distinct * r.outputs)));
  return text + "\n" + fact.text() + fmt::format("\n{:.1f} s\n", r.seconds);
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
  const auto began = Clock::now();
  if (r.polished_graph && !of_onnx(model)) {
    r.remarks.push_back(fmt::format("the polished weights are not written: {} is no ONNX file", model));
  } else if (r.polished_graph) {
    write_like(std::filesystem::path(model), *r.polished_graph, folder.file("polished.onnx"));
  } else if (network.layers() && r.networks.size() > 1) {
    save_model(folder.file("model.safetensors"), r.polished, {{"polished_from", model}});
    if (network.onnx) {
      DeepNetwork written =
          write_like(std::filesystem::path(model), *network.onnx, r.polished, folder.file("polished.onnx"));
      written.single = network.network.single;
      written.class_names = r.polished.class_names;  // where the file has none they are the user's
      r.written = judge(written, data, options, progress);
      r.written->which = "written";
      r.written->certificate.reason = "not tried";
    }
  }
  r.seconds += seconds_since(began);
  folder.write("result.json", prove_json(model, network, data, options, r, next) + "\n");
  folder.write("outputs.csv", outputs_csv(data, r));
  Claims claims(folder);
  claim_prove(claims, model, network, data, options, r);
  claims.write();
  folder.write("manifest.json", manifest("prove", command, told(options), data, read, r.seconds));
  folder.finish();
}

Next after_prove(const std::vector<std::string>& words, const ProveOptions& options, const ProveResult& r,
                 const std::string& out) {
  const bool left_out = std::ranges::any_of(
      r.remarks, [](const std::string& remark) { return remark.starts_with("left out: "); });
  if (!r.networks.back().certificate.exists && !options.polish && !left_out && r.exact_is_possible) {
    std::vector<std::string> polish = typed_again(words);
    leave_out("--execution", polish);  // it is about the file that is given
    polish.emplace_back("--polish");
    Next next{"go on to weights beside which an exact network lies", std::move(polish)};
    return out.empty() ? next : with_out(std::move(next), out.c_str());
  }
  if (r.networks.back().certificate.exists && out.empty())
    return with_out({options.polish ? "keep the polished network" : "keep the answer", words}, "proved");
  return {};
}

}  // namespace zeroloss
