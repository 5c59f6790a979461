#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/clock.hpp"
#include "deep/judge.hpp"
#include "linalg/rounding.hpp"
#include "linalg/tiled.hpp"
#include "proof/evaluate.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/graph/network.hpp"

// What is proved of a file: of the layers that it was read as, if it was, and of the graph that it is.
namespace zeroloss {
using namespace internal;
namespace {

ExecutedLabels executed_of(const std::string& execution, const ProvedNetwork& p) {
  return {execution, p.right, p.wrong, p.undecided, p.wrong_samples, p.undecided_samples, p.largest_error};
}

// Labels, or targets, as any runtime gives them in such numbers; of `known` outputs, if these say it.
ExecutedLabels executed(const GraphNetwork& graph, NetworkOutputs its, const Dataset& data,
                        const RowMatrix& X, const std::string& execution, const VerifiedOutputs* known,
                        Progress& progress) {
  const bool classes = data.task == Task::classification;
  its.single = false;  // these are its numbers
  VerifiedOutputs outputs;
  if (its.threshold != 0 && !decided_by_outputs(graph))
    throw std::invalid_argument(fmt::format(
        "`threshold` of what stands behind the outputs is for `execution=exact`; got `execution={}`",
        execution));
  if (execution == "float32" && known != nullptr && known->single_error.size() > 0 &&
      known->single_error.allFinite() && decided_by_outputs(graph)) {
    outputs = {known->f, known->single_error};
  } else {
    GraphOutputs found = classes ? deciding_outputs(graph, X, execution, progress)
                                 : enclosed_outputs(graph, X, execution, progress);
    outputs = {std::move(found.f), std::move(found.error)};
  }
  return executed_of(execution, judge_outputs(its, data, targets_of(its, data), std::move(outputs)));
}

void require_finite(const Dataset& data, const RowMatrix& X) {
  for (Index i = 0; i < X.rows(); ++i)
    if (!X.row(i).allFinite())
      throw DataError(
          fmt::format("{}: sample {} has a number that is not finite", data.name, record_of(data, i)));
}

// What the last layer alone can do, and by what.
struct LastLayerProof {
  DeepCertificate certificate;
  double s = 0;            // s_min(Z) is not below it
  bool whole = false;      // outputs are these features times the layer's weights, and nothing beside
  GraphFeatures features;  // of distinct points: rows of Z times the root of how often these occur
  Matrix K;                // Z Z^T
};

// With another misfit: features stay what they are.
DeepCertificate of_misfit(DeepCertificate c, double misfit, double s) {
  c.misfit = misfit;
  c.radius = c.descent_radius = misfit / s * kUp;
  return c;
}

// Theory 16, "The last layer". `points` are distinct; misfit is that of all samples.
LastLayerProof certify_last_layer(const GraphNetwork& graph, const DistinctPoints& points, const RowMatrix& X,
                                  Index outputs, double misfit, ProveResult& r, Progress& progress) {
  LastLayerProof proof;
  DeepCertificate& c = proof.certificate;
  c.misfit = misfit;
  const auto n = std::ssize(points.first);
  Progress silent = progress.silent();
  const GraphFeatures first = last_features(graph, X.topRows(1), silent);
  const Index p = first.outputs == outputs ? first.p : 0;
  proof.whole = first.whole;
  const std::string none =
      fmt::format("an exact network beside it: it is no network of layers ({})", graph.not_layers);
  if (graph.enclosure) {
    c.reason = "an exact network beside it: whoever wrote it down says that of its own targets";
    return proof;
  }
  if (p == 0) {
    c.reason = none + ", and its outputs are no linear map of features by constants of their own";
    return proof;
  }
  r.moving = p * outputs;
  if (n > p) {
    c.reason = fmt::format(
        "{}; its last layer alone can have almost no labels of {} points, since it has {} features", none,
        with_commas(n), with_commas(p));
    return proof;
  }
  require_memory(8.0 * static_cast<double>(n) * (4.0 * static_cast<double>(p) + 2.0 * static_cast<double>(n)),
                 "the certificate of the last layer", "use fewer points");
  proof.features = last_features(graph, X(points.first, Eigen::all), progress);
  Matrix &Z = proof.features.Z, &error = proof.features.error;
  // Each point as often as it occurs: rows times the root of that, rounded once.
  for (Index i = 0; i < n; ++i) {
    const double root = std::sqrt(points.count(i));
    Z.row(i) *= root;
    error.row(i) = (error.row(i) * root + 4 * u * Z.row(i).cwiseAbs()) * kUp;
  }
  double off = error.norm() * kUp + kTiny * static_cast<double>(p);
  Matrix K, work;
  progress.stage("certificate of the last layer");
  tiled::product_with_transpose(Z, K);
  const auto terms = static_cast<double>(p) + 2;
  const double rounding = verified::gram_error(K, terms, static_cast<double>(n) * terms * kTiny);
  const auto lowest = verified::lowest_eigenvalue(K, rounding, work, progress);
  const double s = (std::sqrt(lowest.bound) * kDown - off) * kDown;
  const double longest =
      (std::sqrt(verified::highest_eigenvalue(K, rounding, work, progress).bound) + off) * kUp;
  if (!(s > 0 && std::isfinite(misfit) && std::isfinite(longest))) {
    c.reason = fmt::format(
        "{}; of its last layer alone lambda_min is computed as {:.3g}, and rounding may account for "
        "{:.3g} of it",
        none, lowest.computed, lowest.loss + 2 * off * std::sqrt(K.diagonal().sum()));
    return proof;
  }
  c.exists = c.descends = true;
  c.kink = std::numeric_limits<double>::infinity();  // J does not depend on the weights that move
  c.lambda_min = c.rate = s * s * (1 - 4 * u);
  c.step = kDown / (longest * longest);
  c = of_misfit(c, misfit, s);
  proof.s = s;
  proof.K = std::move(K);
  return proof;
}

// Moves the last layer to where its outputs at all points are the targets, Z^T (Z Z^T)^-1 (Y - F), again for
// what rounding leaves, and rounds it to the numbers of the file.
MovedGraph polished_last_layer(const GraphNetwork& graph, const LastLayerProof& proof,
                               const DistinctPoints& points, const Matrix& F, const Matrix& Y,
                               Progress& progress) {
  constexpr int kTimes = 3;
  Matrix L = proof.K;
  if (!tiled::factor(L, progress)) throw std::invalid_argument("Z Z^T has no computed factor");
  const Vector roots = points.count.cwiseSqrt();
  const Matrix wanted = roots.asDiagonal() * (Y - F)(points.first, Eigen::all);
  const Matrix& Z = proof.features.Z;
  Matrix change = Matrix::Zero(Z.cols(), Y.cols());
  for (int k = 0; k < kTimes; ++k) {
    Matrix left = wanted - Z * change;
    tiled::solve(L, left);
    change += Z.transpose() * left;
  }
  return with_last_map_moved(graph, proof.features, change.transpose());
}

}  // namespace

std::string internal::of_last_layer(const ProvedNetwork& p, Index n_distinct) {
  if (!p.certificate.exists) return "no exact network is proved beside it";
  return fmt::format(
      "any labels of {} can be had exactly by its last layer alone, these by moving it {} or less, "
      "proved, and "
      "gradient descent on it reaches that",
      n_distinct == 1 ? "this point" : fmt::format("these {} points", with_commas(n_distinct)),
      decimal(p.certificate.radius, 3, Rounding::up));
}

namespace {

ProveResult prove_graph(const GraphNetwork& graph, const Dataset& data, const ProveOptions& options,
                        Progress& progress) {
  const auto began = Clock::now();
  const RowMatrix X = divided_points(data, options.divide);
  require_finite(data, X);
  if (options.layers != "auto" && options.layers != "last1")
    throw std::invalid_argument(fmt::format(
        "`layers={}` is for networks of layers, and {} is none ({}): of it the last layer (last1) may move",
        options.layers, graph.name, graph.not_layers));
  ProveResult r;
  if (const Index d = features_of(graph); data.task == Task::none && X.cols() == d + 1)
    throw unfit_points(data, fmt::format("the network takes {}", sizes_text(graph)), d);
  GraphOutputs exact = enclosed_outputs(graph, X, "exact", progress);
  const Index K = exact.f.cols();
  const auto [its, remark] = with_class_names(
      {K, class_names_of(graph, K), graph.behind, graph.single && !graph.engine}, data, options);
  if (!remark.empty()) r.remarks.push_back(remark);
  const Matrix Y = targets_of(its, data);
  const DistinctPoints points = distinct_points(X, Y);
  const auto judged = [&](const GraphNetwork& of, GraphOutputs outputs, const char* which) {
    ProvedNetwork p = judge_outputs(its, data, Y, completed(of, its, X, std::move(outputs), progress));
    p.which = which;
    return p;
  };
  ProvedNetwork p = judged(graph, std::move(exact), "given");
  LastLayerProof proof;
  if (points.conflict) {
    p.certificate.misfit = p.misfit;
    p.certificate.reason = conflict_of(data, *points.conflict);
  } else {
    proof = certify_last_layer(graph, points, X, K, p.misfit, r, progress);
    p.certificate = proof.certificate;
  }
  if (std::string said = remark_on_threshold(its, options, p.outputs); !said.empty() && !graph.labels)
    r.remarks.push_back(std::move(said));
  if (!proof.whole) p.sharpening = 0;  // outputs would not be multiplied as the weights are
  if (graph.engine)
    r.remarks.push_back(fmt::format("labels and margins are computed by {}{}", graph.engine->name(),
                                    graph.single && options.execution == "exact"
                                        ? "; what float32 may change is not: leave out `device`"
                                        : ""));
  r.network = fmt::format("{}, {}", graph.description, count(K, "output", "outputs"));
  r.n = data.n();
  r.d = X.cols();
  r.outputs = K;
  r.n_distinct = std::ssize(points.first);
  r.parameters = graph.parameters;
  r.exact_is_possible = false;
  if (!remark.empty())
    if (std::string better = better_order(its, data, p); !better.empty())
      r.remarks.push_back(std::move(better));
  r.conclusion = fmt::format("The network given: {}{}.", said_of(p, data.task, r.n),
                             graph.enclosure ? std::string() : "; " + of_last_layer(p, r.n_distinct));
  r.networks.push_back(std::move(p));
  if (options.polish && !proof.certificate.exists)
    r.remarks.push_back("not polished: " + r.networks.front().certificate.reason);
  if (options.polish && proof.certificate.exists) {
    progress.stage("polishing the last layer");
    try {
      MovedGraph moved = polished_last_layer(graph, proof, points, r.networks.front().outputs.f, Y, progress);
      ProvedNetwork q =
          judged(moved.network, enclosed_outputs(moved.network, X, "exact", progress), "polished");
      if (!std::isfinite(q.misfit)) throw std::invalid_argument("the outputs then are not finite");
      q.certificate = of_misfit(proof.certificate, q.misfit, proof.s);
      if (!proof.whole) q.sharpening = 0;
      r.steps = r.factorizations = 1;
      r.distance = moved.distance;
      r.relative_distance = moved.length > 0 ? moved.distance / moved.length : 0;
      r.conclusion +=
          fmt::format("\nPolished, its last layer at a distance of {} ({} of its length): {}; {}.",
                      decimal(r.distance, 3, Rounding::up), decimal(r.relative_distance, 3, Rounding::up),
                      said_of(q, data.task, r.n), of_last_layer(q, r.n_distinct));
      r.polished_graph = std::move(moved.network);
      r.networks.push_back(std::move(q));
    } catch (const std::invalid_argument& error) {
      r.remarks.push_back(fmt::format("not polished: {}", error.what()));
    }
  }
  // What encloses itself says at once what it is in its own numbers.
  const std::string execution =
      graph.enclosure && options.execution == "exact" ? graph.numbers : options.execution;
  if (execution != "exact")
    r.executed = executed(r.polished_graph ? *r.polished_graph : graph, its, data, X, execution,
                          &r.networks.back().outputs, progress);
  progress.finish();
  r.seconds = seconds_since(began);
  return r;
}

// Compares the file itself with the layers that were read, at every sample. Where these are near what it
// computes and known to be no more than that, labels are those of the file.
void ask(const ReadNetwork& was_read, NetworkOutputs its, const Dataset& data, const RowMatrix& X,
         ProveResult& r, Progress& progress) {
  const GraphNetwork& graph = *was_read.graph;
  GraphOutputs own;
  try {
    own = enclosed_outputs(graph, X, "exact", progress);
  } catch (const DataError& error) {
    if (asked_for(graph)) throw;
    r.remarks.push_back(fmt::format("the file is not asked what it computes: {}", error.what()));
    return;
  }
  const bool near = was_read.onnx && was_read.onnx->approximate;
  ProvedNetwork& given = r.networks.front();
  const VerifiedOutputs& read = given.outputs;
  const auto disagree = [&](const std::string& how) {
    throw DataError(fmt::format("{}: what was read is not what the file computes: {}", graph.name, how));
  };
  if (own.f.cols() != read.f.cols())
    disagree(fmt::format("it has {} outputs, and {} were read", own.f.cols(), read.f.cols()));
  double largest = 0;  // of what both are apart for sure
  for (Index i = 0; i < X.rows(); ++i) {
    bool known = true;
    for (Index k = 0; k < own.f.cols(); ++k) {
      const double off = (read.error(i, k) + own.error(i, k)) * kUp,
                   apart = std::abs(read.f(i, k) - own.f(i, k));
      const double size = std::abs(own.f(i, k)) + std::abs(read.f(i, k)) + 1;
      if (apart * (1 - 4 * u) > off + (near ? 1e-5 * size : 0))
        disagree(
            fmt::format("at sample {} output {} is {} in the file and {} in the layers that were read, both "
                        "to within {:.2g}",
                        record_of(data, i), k, own.f(i, k), read.f(i, k), off));
      if (apart > off) largest = std::max(largest, apart);
      known = known && std::isfinite(off);
    }
    if (!known) continue;
    ++r.asked;
    const Index label = proved_label(its, own.f, own.error, i);
    if (label >= 0 && label == proved_label(its, read.f, read.error, i)) ++r.asked_decided;
  }
  const std::vector<std::string> names = class_names_of(graph, own.f.cols());
  if (!names.empty() && !was_read.network.class_names.empty() && names != was_read.network.class_names)
    disagree(fmt::format("it calls its classes {}, and they were read as {}", excerpt(names),
                         excerpt(was_read.network.class_names)));
  if (largest == 0 && !near) return;
  const std::string how =
      largest == 0
          ? "the layers have weights that were rounded where they were folded"
          : fmt::format("the file computes outputs that are up to {} from those of the layers it was read as",
                        decimal(largest, 3, Rounding::up));
  r.near_file = true;
  r.remarks.push_back(how +
                      ": labels, margins and errors of outputs are those of the file, an exact network "
                      "is beside the layers");
  ProvedNetwork of_file =
      judge_outputs(its, data, targets_of(its, data), completed(graph, its, X, std::move(own), progress));
  of_file.which = given.which;
  of_file.certificate = std::move(given.certificate);
  given = std::move(of_file);
  r.conclusion = conclusion_of(r, data.task);
}

// Whether float32 is of no use to many samples, as that of deep networks: of a few no output is known to be
// nearer than the largest of all is to 0. The others would take as long as all that is said of them.
bool no_digit_in_single(const GraphNetwork& graph, const RowMatrix& X, Progress& progress) {
  constexpr Index kFew = 32, kMany = 20 * kFew;
  if (X.rows() < kMany) return false;
  const RowMatrix some = X(Eigen::seqN(0, kFew, X.rows() / kFew), Eigen::all);
  const GraphOutputs few = enclosed_outputs(graph, some, "float32", progress);
  return few.error.minCoeff<Eigen::PropagateNaN>() > few.f.cwiseAbs().maxCoeff<Eigen::PropagateNaN>();
}

}  // namespace

VerifiedOutputs internal::completed(const GraphNetwork& graph, const NetworkOutputs& network,
                                    const RowMatrix& X, GraphOutputs found, Progress& progress) {
  // Samples that no output wins: not more than may be evaluated again in a time like that of all.
  std::vector<Index> open;
  for (Index i = 0; i < X.rows(); ++i)
    if (proved_label(network, found.f, found.error, i) < 0) open.push_back(i);
  if (!open.empty() && std::ssize(open) <= std::max<Index>(200, X.rows() / 20))
    refine(graph, X, open, found, progress);
  VerifiedOutputs outputs{std::move(found.f), std::move(found.error)};
  if (graph.single && !graph.engine) {
    if (no_digit_in_single(graph, X, progress)) {
      outputs.single_error.setConstant(outputs.f.rows(), outputs.f.cols(),
                                       std::numeric_limits<double>::infinity());
    } else {
      const GraphOutputs single = enclosed_outputs(graph, X, "float32", progress);
      outputs.single_error = (single.error + (single.f - outputs.f).cwiseAbs()) * kUp;
    }
  }
  return outputs;
}

bool internal::asked_for(const GraphNetwork& graph) {
  return !graph.options.shape.empty() || !graph.options.output_name.empty();
}

ProveResult prove(const ReadNetwork& read, const Dataset& data, const ProveOptions& options,
                  Progress& progress) {
  const bool asks = read.graph && read.graph->evaluated();
  if (const auto known = executions();
      !(read.graph && read.graph->enclosure) && std::ranges::find(known, options.execution) == known.end())
    throw std::invalid_argument(fmt::format("`execution` must be one of {}; got '{}'", fmt::join(known, ", "),
                                            excerpt(options.execution)));
  if (options.execution != "exact" && !asks)
    throw std::invalid_argument(fmt::format(
        "`execution={}` is for ONNX files, which say what is computed in which numbers", options.execution));
  if (!read.layers()) {
    if (!asks) throw std::invalid_argument("prove: the network has no layers, and its file is not there");
    return prove_graph(*read.graph, data, options, progress);
  }
  if (options.execution != "exact" && options.polish)
    throw std::invalid_argument(
        "`execution` is about the file that is given: leave out `polish`, or ask again of polished.onnx");
  const auto began = Clock::now();
  ProveResult r = prove_layers(read.network, asks ? &*read.graph : nullptr, data, options, progress);
  const bool compares = asks && !r.of_file, executes = options.execution != "exact";
  const RowMatrix X = compares || executes ? divided_points(data, options.divide) : RowMatrix();
  const NetworkOutputs its = with_class_names(outputs_of(read.network), data, options).first;
  if (compares) ask(read, its, data, X, r, progress);
  if (executes)
    r.executed = executed(*read.graph, its, data, X, options.execution,
                          r.of_file ? &r.networks.front().outputs : nullptr, progress);
  progress.finish();
  r.seconds = seconds_since(began);
  return r;
}

}  // namespace zeroloss
