#include "zeroloss/deep/prove.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/clock.hpp"
#include "deep/certificate.hpp"
#include "deep/equations.hpp"
#include "deep/forward.hpp"
#include "deep/judge.hpp"
#include "linalg/rounding.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss {
using namespace internal;
namespace {

RowMatrix points_of(const DeepNetwork& network, const Dataset& data, double divide) {
  check(network);
  const RowMatrix X = divided_points(data, divide);
  if (X.cols() != network.features())
    throw unfit_points(data, fmt::format("the network takes {}", network.features()), network.features());
  try {
    check_points(network, X);
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", data.name, error.what()));
  }
  return X;
}

// What the file computes; nothing where that is not known, which is said.
std::optional<VerifiedOutputs> asked(const GraphNetwork& graph, const DeepNetwork& network,
                                     const NetworkOutputs& its, const RowMatrix& X, ProveResult& r,
                                     Progress& progress) {
  try {
    GraphOutputs exact = enclosed_outputs(graph, X, "exact", progress);
    // What was read has to be that at some samples, but for rounding and what is taken for something else.
    const Matrix some = predict(network, X.topRows(std::min<Index>(X.rows(), 64)), progress);
    if (exact.f.cols() != some.cols()) return {};
    const VerifiedOutputs outputs = completed(graph, its, X, std::move(exact), progress);
    const auto own = outputs.f.topRows(some.rows()).array(),
               error = outputs.error.topRows(some.rows()).array();
    const bool near =
        ((own - some.array()).abs() <= 1e-5 * (1 + own.abs() + some.array().abs()) + error).all();
    return near && outputs.error.allFinite() ? std::optional(outputs) : std::nullopt;
  } catch (const DataError& error) {
    if (asked_for(graph)) throw;
    r.remarks.push_back(fmt::format("the file is not asked what it computes: {}", error.what()));
    return {};
  }
}

double length_of_weights(const DeepNetwork& network) {
  DeepNetwork zero = network;
  for (Layer& layer : zero.layers)
    layer.W.setZero(), layer.b.setZero(), layer.U.setZero(), layer.bU.setZero();
  zero.V.setZero();
  zero.c.setZero();
  return distance(network, zero);
}

}  // namespace

std::vector<bool> layers_named(const std::string& text, Index hidden, Index outputs) {
  if (text == "auto") return layers_named(outputs > 1 ? "hidden" : "all", hidden, outputs);
  const Index count = hidden + 1;
  std::vector<bool> moving(static_cast<std::size_t>(count), text == "all" || text == "hidden");
  const auto refuse = [&] {
    throw std::invalid_argument(fmt::format(
        "`layers` must be auto, all, hidden, lastK or numbers from 1 to {}, separated by commas; got \"{}\"",
        count, text));
  };
  const auto number = [&](std::string_view digits) {
    const auto value = parsed_integer<Index>(digits);
    if (!value || *value < 1 || *value > count) refuse();
    return *value;
  };
  if (text == "hidden") moving.back() = false;
  if (moving.front()) return moving;
  if (text.starts_with("last")) {
    std::fill(moving.end() - number(std::string_view(text).substr(4)), moving.end(), true);
    return moving;
  }
  std::string_view rest = text;
  for (;;) {
    const std::size_t comma = rest.find(',');
    moving[static_cast<std::size_t>(number(rest.substr(0, comma)) - 1)] = true;
    if (comma == std::string_view::npos) return moving;
    rest.remove_prefix(comma + 1);
  }
}

ProvedNetwork judge(const DeepNetwork& network, const Dataset& data, const ProveOptions& options,
                    Progress& progress) {
  const RowMatrix X = points_of(network, data, options.divide);
  const NetworkOutputs its = with_threshold(outputs_of(network), options);
  return judge_outputs(its, data, targets_of(its, data), verified_outputs(network, X, progress));
}

ProveResult prove(const DeepNetwork& given, const Dataset& data, const ProveOptions& options,
                  Progress& progress) {
  return prove_layers(given, nullptr, data, options, progress);
}

ProveResult internal::prove_layers(const DeepNetwork& given, const GraphNetwork* graph, const Dataset& data,
                                   const ProveOptions& options, Progress& progress) {
  const auto began = std::chrono::steady_clock::now();
  const RowMatrix X = points_of(given, data, options.divide);
  const std::vector<bool> moving = layers_named(options.layers, given.depth(), given.outputs());
  ProveResult r;
  DeepNetwork network = given;
  const auto [named, remark] = with_class_names(outputs_of(given), data, options);
  const NetworkOutputs& its = named;
  const bool guessed = !remark.empty();  // which class an output stands for
  if (guessed) r.remarks.push_back(remark);
  if (data.task == Task::classification) {
    network.task = Task::classification;
    network.class_names = its.class_names;
  }
  const Matrix Y = targets_of(its, data);
  const DistinctPoints points = distinct_points(X, Y);
  const RowMatrix distinct_X = X(points.first, Eigen::all);
  const Matrix distinct_Y = Y(points.first, Eigen::all);
  DeepEquations equations{distinct_X, distinct_Y, {}, moving};
  for (const Index head : points.first) equations.records.push_back(record_of(data, head));
  if (distinct_X.rows() < X.rows()) equations.counts = points.count;

  r.network = describe(network);
  r.n = data.n();
  r.d = data.X.cols();
  r.outputs = network.outputs();
  r.n_distinct = distinct_X.rows();
  r.parameters = parameters(network);
  r.moving = moving_parameters(network, moving);
  const auto leave_out = [&](const ResourceError& error) {
    const std::string remark = fmt::format("left out: {}", error.what());
    if (std::find(r.remarks.begin(), r.remarks.end(), remark) == r.remarks.end()) r.remarks.push_back(remark);
    return remark;
  };
  // To a certificate of either network, which need as much memory as each other; empty if one is tried.
  std::string obstacle;
  if (points.conflict) {
    obstacle = conflict_of(data, *points.conflict);
  } else if (obstacle = obstacle_to_certificate(network, moving, r.n_distinct * r.outputs);
             obstacle.empty()) {
    try {
      require_gram_memory(network, moving, r.n_distinct, 2, "the certificate");
    } catch (const ResourceError& error) {
      obstacle = leave_out(error);
    }
  }
  // What a certificate needs of the outputs is more than their values: where one is tried, they are taken
  // from its evaluation of the distinct points.
  const auto prove_of = [&](const char* which, const DeepNetwork& of) {
    NetworkOutputs outputs_are = its;
    outputs_are.single = of.single;
    const auto judged = [&](VerifiedOutputs outputs) {
      ProvedNetwork p = judge_outputs(outputs_are, data, Y, std::move(outputs));
      p.which = which;
      return p;
    };
    progress.stage("outputs");
    std::vector<verified::LayerNorms> norms;
    std::optional<DeepCertificate> refuted;
    if (obstacle.empty()) {
      norms = verified::layer_norms(of, progress);
      refuted = refuted_by_some(of, norms, equations, progress);
    }
    if (refuted || !obstacle.empty()) {
      std::optional<VerifiedOutputs> of_file;
      if (graph != nullptr && !options.polish) of_file = asked(*graph, of, its, X, r, progress);
      ProvedNetwork p;
      if (of_file) p = judged(std::move(*of_file));
      r.of_file = of_file.has_value() && !(refuted && p.undecided > 0);  // layers know their errors better
      if (!r.of_file) {
        if (norms.empty()) norms = verified::layer_norms(of, progress);
        p = judged(outputs_in_blocks(of, norms, X, progress));
      }
      if (refuted) p.certificate = *refuted;
      p.certificate.misfit = p.misfit;
      p.certificate.reason = refuted ? reason_of_h(refuted->h, p.misfit) : obstacle;
      r.networks.push_back(std::move(p));
      return;
    }
    verified::DeepEvaluation e =
        verified::evaluate(of, norms, distinct_X, root_counts(equations), moving, progress);
    VerifiedOutputs outputs = outputs_of(of, norms, distinct_X, e);
    for (Matrix* values : {&outputs.f, &outputs.error, &outputs.single_error})
      if (values->size() > 0) *values = Matrix((*values)(points.point_of, Eigen::all));
    ProvedNetwork p = judged(std::move(outputs));
    progress.stage("certificate");
    p.certificate = certify(of, norms, std::move(e), equations, progress);
    r.networks.push_back(std::move(p));
  };
  const auto polish_it = [&] {
    try {
      return std::optional(polish(network, equations, {options.max_factorizations}, progress));
    } catch (const ResourceError& error) {
      leave_out(error);
      return std::optional<PolishedNetwork>();
    }
  };
  prove_of("given", network);
  if (guessed)
    if (std::string better = better_order(its, data, r.networks.front()); !better.empty())
      r.remarks.push_back(std::move(better));
  if (std::string said = remark_on_threshold(its, options, r.networks.front().outputs); !said.empty())
    r.remarks.push_back(std::move(said));
  if (options.polish && points.conflict)
    r.remarks.emplace_back("nothing is polished, since no network fits both");
  r.exact_is_possible = !points.conflict && r.n_distinct * r.outputs <= r.moving;
  if (options.polish && !points.conflict)
    if (std::optional<PolishedNetwork> polished = polish_it()) {
      r.distance = polished->distance;
      r.relative_distance = polished->distance / (length_of_weights(network) * (1 - 1e-8));
      r.steps = polished->steps;
      r.factorizations = polished->factorizations;
      r.polished = std::move(polished->network);
      r.polished.single = false;  // its weights are doubles
      prove_of("polished", r.polished);
    }
  progress.finish();
  r.conclusion = conclusion_of(r, data.task);
  r.seconds = seconds_since(began);
  return r;
}

}  // namespace zeroloss
