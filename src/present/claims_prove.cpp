#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "deep/judge.hpp"
#include "models/enclosed_memorizer.hpp"
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

// The class whose output is to be the largest, or of a single output whether it is to exceed its threshold.
Index own_class(const Matrix& Y, Index i, double threshold) {
  Index own = Y(i, 0) > threshold ? 1 : 0;
  if (Y.cols() > 1) Y.row(i).maxCoeff(&own);
  return own;
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

// What a graph says, by what it computes at all samples, or at some of them where that takes long.
class GraphClaims {
 public:
  GraphClaims(Claims& claims, const std::string& model, const NetworkOutputs& its, const Dataset& data,
              const RowMatrix& X, const Matrix& Y)
      : claims_(claims), model_(model), its_(its), data_(data), X_(X), Y_(Y) {}

  /// `features`: of the last layer that may move, one of them for a bias.
  void add(const GraphNetwork& graph, const std::string& which, const ProvedNetwork& p, Index n_distinct,
           Index features) {
    const std::string name = which + "_graph";
    std::string of_labels = name;
    const auto written = claims_.attempt([&] {
      if (its_.threshold != 0)
        of_labels = claim_graph(claims_, name + "_less", graph, X_.cols(), its_.threshold).name;
      return claim_graph(claims_, name, graph, X_.cols(), 0);
    });
    if (!written) return add_unread(which, p, n_distinct);
    const std::vector<Index> rows = rows_within(written->products);
    const bool all = std::ssize(rows) == X_.rows();
    const std::string points =
        all ? claims_.points("data", claims_.point_array("points", X_), {})
            : claims_.points("some", claims_.point_array("some_points", X_(rows, Eigen::all)), {});
    if (data_.task == Task::classification) labels(of_labels, points, which, p, rows);
    if (!all) return add_of_all(which, p, n_distinct);
    if (!std::isfinite(p.misfit)) return;
    Json& misfit = claims_.add("misfit", fmt::format("misfit <= {}", decimal(p.misfit, 3, Rounding::up)));
    misfit["network"] = written->name;
    misfit["points"] = points;
    misfit["targets"] = claims_.matrix("targets", Y_);
    misfit["at_most"] = hexadecimal(p.misfit);
    if (!p.certificate.exists) return;
    if (written->last < 0) return add_unread_last_layer(which, p, n_distinct);
    const bool bias = features == written->last_inputs + 1 && written->last_bias;
    if (!bias && features != written->last_inputs) return add_unread_last_layer(which, p, n_distinct);
    Json& last = claims_.add("last_layer", of_last_layer(p, n_distinct));
    last["network"] = written->name;
    last["points"] = points;
    last["targets"] = "targets";
    last["lambda_min"] = hexadecimal(nearly(p.certificate.lambda_min, Rounding::down));
    last["radius"] = hexadecimal(nearly(p.certificate.radius, Rounding::up));
    last["step"] = hexadecimal(nearly(p.certificate.step, Rounding::down));
    if (!bias && written->last_bias) last["bias_stays"] = true;
    last["node"] = written->last;
  }

  // What is said of all samples, where claims are about some.
  void add_of_all(const std::string& which, const ProvedNetwork& p, Index n_distinct) {
    if (data_.task == Task::regression)
      claims_.add("labels_of_file", said_of(p, data_.task, data_.n()))["file"] = file(which);
    if (p.certificate.exists) add_unread_last_layer(which, p, n_distinct);
  }

  void add_unread(const std::string& which, const ProvedNetwork& p, Index n_distinct) {
    claims_.add("labels_of_file", said_of(p, data_.task, data_.n()))["file"] = file(which);
    if (p.certificate.exists) add_unread_last_layer(which, p, n_distinct);
  }

 private:
  std::string file(const std::string& which) const { return which == "polished" ? "polished.onnx" : model_; }

  void add_unread_last_layer(const std::string& which, const ProvedNetwork& p, Index n_distinct) {
    claims_.add("last_layer_of_file", of_last_layer(p, n_distinct))["file"] = file(which);
  }

  std::vector<Index> rows_within(double products) {
    double most = kMostProducts / products;
    if (!claims_.copies(X_) && !(X_ == data_.X && claims_.keeps(data_)))
      most = std::min(most, Claims::kMost / (8.0 * static_cast<double>(X_.cols())));
    const Index n = X_.rows(), count = std::clamp<Index>(static_cast<Index>(std::min(most, 1e15)), 1, n);
    std::vector<Index> rows;
    for (Index k = 0; k < count; ++k) rows.push_back(k * n / count);
    return rows;
  }

  void labels(const std::string& network, const std::string& points, const std::string& which,
              const ProvedNetwork& p, const std::vector<Index>& rows) {
    const std::set<Index> wrong(p.wrong_samples.begin(), p.wrong_samples.end()),
        open(p.undecided_samples.begin(), p.undecided_samples.end());
    std::vector<Index> right, those_wrong, classes;  // places among the rows
    for (const Index i : rows) {
      const Index k = std::ssize(classes), record = record_of(data_, i);
      classes.push_back(own_class(Y_, i, its_.threshold));
      if (wrong.contains(record))
        those_wrong.push_back(k);
      else if (!open.contains(record))
        right.push_back(k);
    }
    if (right.empty() && those_wrong.empty()) return;  // every one is undecided
    const bool all = std::ssize(rows) == X_.rows();
    Json& claim = claims_.add(
        "labels", all ? labels_of(p, data_.n())
                      : fmt::format("of {} of the {} samples {} labels right, {} wrong",
                                    with_commas(std::ssize(rows)), with_commas(data_.n()),
                                    with_commas(std::ssize(right)), with_commas(std::ssize(those_wrong))));
    claim["network"] = network;
    claim["points"] = points;
    claim["labels"] = claims_.integers(all ? "labels" : "some_labels", classes);
    if (right.size() == rows.size())
      claim["right"] = "all";
    else if (!right.empty())
      claim["right"] = claims_.integers(which + "_graph_right", right);
    if (!those_wrong.empty()) claim["wrong"] = claims_.integers(which + "_graph_wrong", those_wrong);
    if (p.right == data_.n() && p.margin > 0) claim["margin"] = hexadecimal(p.margin);
  }

  static constexpr double kMostProducts = 2e10;  // some ten minutes of balls

  Claims& claims_;
  const std::string& model_;
  const NetworkOutputs& its_;
  const Dataset& data_;
  const RowMatrix& X_;
  const Matrix& Y_;
};

void claim_layers(Claims& claims, const ReadNetwork& network, const Dataset& data,
                  const ProveOptions& options, const NetworkOutputs& its, const RowMatrix& X, const Matrix& Y,
                  GraphClaims& of_graph, const ProveResult& r) {
  const bool classes = data.task == Task::classification;
  claims.points("data", claims.point_array("points", X), {});
  claims.matrix("targets", Y);
  if (classes) {
    std::vector<Index> labels;
    for (Index i = 0; i < data.n(); ++i) labels.push_back(own_class(Y, i, its.threshold));
    claims.integers("labels", labels);
  }
  const std::vector<bool> moving =
      layers_named(options.layers, network.network.depth(), network.network.outputs());
  for (const ProvedNetwork& p : r.networks) {
    const DeepNetwork& of = p.which == "polished" ? r.polished : network.network;
    const std::string name = claims.network(p.which, of, moving);
    // Layers that are only near to what the file computes: the labels given are the file's.
    if (network.onnx && network.onnx->approximate && p.which == "given") {
      ProvedNetwork labels = p;
      labels.certificate = {};
      if (network.graph && network.graph->graph)
        of_graph.add(*network.graph, p.which, labels, r.n_distinct, 0);
      else
        of_graph.add_unread(p.which, labels, r.n_distinct);
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

// A memoriser's labels, as memorize claims them, of these points.
void claim_memorizer(Claims& claims, const Memorizer& network, const Dataset& data, const RowMatrix& X,
                     const Matrix& Y, const ProveResult& r) {
  Dataset points = data;
  points.X = X;
  for (Index i = 0; i < data.n(); ++i) points.y(i) = static_cast<double>(own_class(Y, i, 0));
  MemorizeResult result;
  result.conclusion = r.conclusion;
  result.n = data.n();
  result.proved_exact = r.networks.front().right;
  result.network = network;
  claim_memorize(claims, points, result);
}

}  // namespace

void claim_prove(Claims& claims, const std::string& model, const ReadNetwork& network, const Dataset& data,
                 const ProveOptions& options, const ProveResult& r) {
  const NetworkOutputs outputs = network.layers()
                                     ? outputs_of(network.network)
                                     : NetworkOutputs{r.outputs, class_names_of(*network.graph, r.outputs),
                                                      network.graph->behind, network.graph->single};
  const NetworkOutputs its = with_class_names(outputs, data, options).first;
  const Matrix Y = targets_of(its, data);
  const RowMatrix X = divided_points(data, options.divide);
  if (const auto memorizer = network.graph ? memorizer_of(*network.graph) : nullptr) {
    if (data.task == Task::classification) claim_memorizer(claims, *memorizer, data, X, Y, r);
    return;
  }
  const auto too_many = [&] {
    if (options.divide == 1) return claims.leaves_out(data);
    return !claims.copies(X) && claims.leaves_out(8 * static_cast<double>(X.size()), "points");
  };
  if (network.layers() && too_many()) return;
  GraphClaims of_graph(claims, model, its, data, X, Y);
  if (network.layers()) return claim_layers(claims, network, data, options, its, X, Y, of_graph, r);
  for (const ProvedNetwork& p : r.networks)
    of_graph.add(p.which == "polished" ? *r.polished_graph : *network.graph, p.which, p, r.n_distinct,
                 r.moving / std::max<Index>(1, r.outputs));
}

}  // namespace zeroloss::internal
