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
#include "linalg/rounding.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss {
using namespace internal;
namespace {

// Samples by their point: the first of each, how often it occurs, and two that contradict each other.
struct DistinctPoints {
  std::vector<Index> first;  // ascending
  Vector count;
  std::vector<Index> point_of;  // of each sample: a number below that of points
  std::optional<std::pair<Index, Index>> conflict;
};

DistinctPoints distinct_points(const RowMatrix& X, const Matrix& Y) {
  std::vector<Index> order(static_cast<std::size_t>(X.rows()));
  std::iota(order.begin(), order.end(), Index{0});
  const auto compare = [&](Index a, Index b) {  // below 0, 0 or above as strcmp; -0 is 0
    for (Index k = 0; k < X.cols(); ++k)
      if (X(a, k) != X(b, k)) return X(a, k) < X(b, k) ? -1 : 1;
    return 0;
  };
  std::sort(order.begin(), order.end(), [&](Index a, Index b) {
    const int c = compare(a, b);
    return c != 0 ? c < 0 : a < b;
  });
  DistinctPoints points;
  std::vector<Index> first_of(order.size());  // of each sample: the first that is equal to it
  for (std::size_t k = 0; k < order.size();) {
    const Index head = order[k];
    points.first.push_back(head);
    for (; k < order.size() && compare(head, order[k]) == 0; ++k) {
      first_of[static_cast<std::size_t>(order[k])] = head;
      if (!points.conflict && Y.row(order[k]) != Y.row(head)) points.conflict = {head, order[k]};
    }
  }
  std::ranges::sort(points.first);
  points.count.setZero(std::ssize(points.first));
  for (const Index head : first_of) {
    points.point_of.push_back(std::ranges::lower_bound(points.first, head) - points.first.begin());
    points.count(points.point_of.back()) += 1;
  }
  return points;
}

// Of one rounded operation.
double below(double x) { return std::nextafter(x, -std::numeric_limits<double>::infinity()); }
double above(double x) { return std::nextafter(x, std::numeric_limits<double>::infinity()); }

// Bounds of a sample's margin: by how much the output of its own class exceeds the largest of the others.
struct Margin {
  double least, most;
};
Margin margin_of(const Matrix& outputs, const Matrix& errors, const Matrix& Y, Index i) {
  const auto f = outputs.row(i), error = errors.row(i), y = Y.row(i);
  if (f.size() == 1) {
    const double signed_output = y(0) > 0 ? f(0) : -f(0);
    return {below(signed_output - error(0)), above(signed_output + error(0))};
  }
  Index own = 0;
  y.maxCoeff(&own);
  Margin margin{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (Index k = 0; k < f.size(); ++k) {
    if (k == own) continue;
    const double difference = f(own) - f(k),
                 off = (error(own) + error(k) + 2 * u * std::abs(difference)) * kUp;
    margin.least = smaller(margin.least, below(difference - off));
    margin.most = std::min(margin.most, above(difference + off));
  }
  return margin;
}

// t with (K - 1) e^(-t margin) <= e^0.01 - 1; of one logit K = 2.
double sharpening_of(double margin, Index outputs) {
  const double others = outputs == 1 ? 1 : static_cast<double>(outputs - 1);
  return std::max(std::log(others / std::expm1(0.01)) / margin * (1 + 1e-12), 0.0);
}

// What sample i is called; points made by hand are their own records.
Index record_of(const Dataset& data, Index i) {
  return data.records.empty() ? i : data.records[static_cast<std::size_t>(i)];
}

// What outputs at all samples say of labels and targets.
ProvedNetwork judge_outputs(const DeepNetwork& network, const Dataset& data, const Matrix& Y,
                            VerifiedOutputs outputs) {
  ProvedNetwork p;
  const auto largest_of = [](const Matrix& errors) {
    return errors.allFinite() ? errors.maxCoeff() : std::numeric_limits<double>::infinity();
  };
  p.output_error = largest_of(outputs.error);
  if (network.single) {  // what is stored of the exact outputs is off, too
    outputs.single_error = (outputs.single_error + outputs.error) * kUp;
    p.single_error = largest_of(outputs.single_error);
  }
  const Matrix off = ((outputs.f - Y).cwiseAbs() * (1 + 2 * u) + outputs.error) * kUp;
  p.largest_error = off.allFinite() ? off.maxCoeff() : std::numeric_limits<double>::infinity();
  p.misfit = !std::isfinite(p.largest_error) ? p.largest_error
             : p.largest_error > 0           ? (off / p.largest_error).norm() * p.largest_error * kUp
                                             : 0;
  const double largest = Y.cwiseAbs().maxCoeff();  // squares neither overflow nor vanish
  p.relative_misfit = largest > 0 ? p.misfit / largest / ((Y / largest).norm() * kDown) * kUp
                                  : p.misfit / std::numeric_limits<double>::min();
  p.outputs = outputs;
  if (data.task != Task::classification) return p;
  p.margin = std::numeric_limits<double>::infinity();
  for (Index i = 0; i < Y.rows(); ++i) {
    const Margin margin = margin_of(outputs.f, outputs.error, Y, i);
    const Index record = record_of(data, i);
    if (!(margin.least >= p.margin)) {
      p.margin = std::isnan(margin.least) ? -std::numeric_limits<double>::infinity() : margin.least;
      p.margin_sample = record;
    }
    const bool right = margin.least > 0, wrong = margin.most < 0;
    ++(right ? p.right : wrong ? p.wrong : p.undecided);
    if (!right) (wrong ? p.wrong_samples : p.undecided_samples).push_back(record);
    if (!network.single || !(right || wrong)) continue;
    const Margin single = margin_of(outputs.f, outputs.single_error, Y, i);
    if (right ? !(single.least > 0) : !(single.most < 0)) p.single_samples.push_back(record);
  }
  for (auto* samples : {&p.wrong_samples, &p.undecided_samples, &p.single_samples})
    std::sort(samples->begin(), samples->end());
  if (p.margin > 0) p.sharpening = sharpening_of(p.margin, network.outputs());
  return p;
}

std::string labels_of(const ProvedNetwork& p, Index n) {
  if (!std::isfinite(p.output_error)) return "outputs are beyond the range of numbers";
  if (p.right == n && n == 1)
    return fmt::format("its label right with a margin of at least {}, proved",
                       decimal(p.margin, 3, Rounding::down));
  if (p.right == n)
    return fmt::format("all {} labels right with a margin of at least {}, proved", with_commas(n),
                       decimal(p.margin, 3, Rounding::down));
  if (p.undecided > 0)  // of these neither is proved
    return fmt::format("of {} labels {} proved right, {} proved wrong, {} too close to tell", with_commas(n),
                       with_commas(p.right), with_commas(p.wrong), with_commas(p.undecided));
  return fmt::format("{} of {} labels right, proved; {} wrong, proved", with_commas(p.right), with_commas(n),
                     with_commas(p.wrong));
}

// Where most labels are wrong in the order of classes that was guessed: one in which most are right, if each
// output is largest at the samples of one class above all; else "".
std::string better_order(const DeepNetwork& network, const Dataset& data, const ProvedNetwork& p) {
  const std::vector<std::string>& names = network.class_names;
  const auto count = std::ssize(names);
  if (2 * p.wrong <= data.n()) return "";
  Matrix seen = Matrix::Zero(count, count);  // samples, by the output that is largest and by class
  for (Index i = 0; i < data.n(); ++i) {
    const std::string& label = data.class_names[static_cast<std::size_t>(data.y(i))];
    Index output = 0;
    if (network.outputs() == 1)
      output = p.outputs.f(i, 0) > 0 ? 1 : 0;
    else
      p.outputs.f.row(i).maxCoeff(&output);
    seen(output, std::ranges::find(names, label) - names.begin()) += 1;
  }
  std::vector<std::string> order(names.size());
  double right = 0;
  for (Index k = 0; k < count; ++k) {  // the most frequent pair of those that are left
    Index output = 0, of = 0;
    right += std::max(0.0, seen.maxCoeff(&output, &of));
    order[static_cast<std::size_t>(output)] = names[static_cast<std::size_t>(of)];
    seen.row(output).setConstant(-1);
    seen.col(of).setConstant(-1);
  }
  if (2 * right <= static_cast<double>(data.n())) return "";
  return fmt::format(
      "most labels are wrong in this order, while {} of {} would be right with `class_names={}`",
      with_commas(static_cast<Index>(right)), with_commas(data.n()), fmt::join(order, ","));
}

std::string exact_of(const DeepCertificate& c, bool left_out) {
  if (left_out) return "whether an exact network lies beside it was left out";
  if (!c.exists) return "no exact network is proved beside it";
  return fmt::format("an exact zero-loss network lies within {} of it, proved{}",
                     decimal(c.radius, 3, Rounding::up),
                     c.descends ? ", and gradient descent reaches one" : "");
}

std::string conclusion_of(const ProveResult& r, Task task, bool left_out) {
  std::string text;
  for (const ProvedNetwork& p : r.networks) {
    std::string says =
        task == Task::classification ? labels_of(p, r.n)
        : !std::isfinite(p.largest_error)
            ? "outputs are beyond the range of numbers"
            : fmt::format("every target within {}, proved", decimal(p.largest_error, 3, Rounding::up));
    if (!text.empty())
      text +=
          fmt::format("\nPolished, at a distance of {} ({} of the length of its weights): ",
                      decimal(r.distance, 3, Rounding::up), decimal(r.relative_distance, 3, Rounding::up));
    else
      text = "The network given: ";
    text += fmt::format("{}; {}.", says, exact_of(p.certificate, left_out));
  }
  return text;
}

RowMatrix points_of(const DeepNetwork& network, const Dataset& data, double divide) {
  check(network);
  if (!(divide > 0 && std::isfinite(divide)))
    throw std::invalid_argument(fmt::format("`divide` must be above 0; got {}", divide));
  if (data.X.cols() != network.features())
    throw DataError(fmt::format("{}: points have {} features, the network takes {}", data.name, data.X.cols(),
                                network.features()));
  const RowMatrix X = divide != 1 ? RowMatrix(data.X / divide) : data.X;
  try {
    check_points(network, X);
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", data.name, error.what()));
  }
  return X;
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

ProvedNetwork judge(const DeepNetwork& network, const Dataset& data, double divide, Progress& progress) {
  const RowMatrix X = points_of(network, data, divide);
  return judge_outputs(network, data, targets_of(network, data), verified_outputs(network, X, progress));
}

ProveResult prove(const DeepNetwork& given, const Dataset& data, const ProveOptions& options,
                  Progress& progress) {
  const auto began = std::chrono::steady_clock::now();
  const RowMatrix X = points_of(given, data, options.divide);
  const std::vector<bool> moving = layers_named(options.layers, given.depth(), given.outputs());
  ProveResult r;
  DeepNetwork network = given;
  bool guessed = false;  // which class an output stands for
  if (data.task == Task::classification) {
    OutputClasses classes = output_classes(given, data, options.class_names);
    network.task = Task::classification;
    network.class_names = std::move(classes.names);
    guessed = !classes.remark.empty();
    if (guessed) r.remarks.push_back(std::move(classes.remark));
  } else if (!options.class_names.empty()) {
    throw std::invalid_argument(
        "`class_names` is for classes; the targets are numbers: `task=classification`");
  }
  const Matrix Y = targets_of(network, data);
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
  bool left_out = false;
  const auto leave_out = [&](const ResourceError& error) {
    const std::string remark = fmt::format("left out: {}", error.what());
    if (std::find(r.remarks.begin(), r.remarks.end(), remark) == r.remarks.end()) r.remarks.push_back(remark);
    return remark;
  };
  // To a certificate of either network, which need as much memory as each other; empty if one is tried.
  std::string obstacle;
  if (points.conflict) {
    const auto [one, other] = *points.conflict;
    obstacle = fmt::format("samples {} and {} are equal{} and have different targets: no network fits both",
                           record_of(data, one), record_of(data, other),
                           data.X.row(one) == data.X.row(other) ? "" : " once they are divided and rounded");
  } else if (obstacle = obstacle_to_certificate(network, moving, r.n_distinct * r.outputs);
             obstacle.empty()) {
    try {
      require_gram_memory(network, moving, r.n_distinct, 2, "the certificate");
    } catch (const ResourceError& error) {
      left_out = true;
      obstacle = leave_out(error);
    }
  }
  // What a certificate needs of the outputs is more than their values: where one is tried, they are taken
  // from its evaluation of the distinct points.
  const auto prove_of = [&](const char* which, const DeepNetwork& of) {
    progress.stage("outputs");
    const auto norms = verified::layer_norms(of, progress);
    const auto judged = [&](VerifiedOutputs outputs) {
      ProvedNetwork p = judge_outputs(of, data, Y, std::move(outputs));
      p.which = which;
      return p;
    };
    if (!obstacle.empty()) {
      ProvedNetwork p = judged(outputs_in_blocks(of, norms, X, progress));
      p.certificate.misfit = p.misfit;
      p.certificate.reason = obstacle;
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
    if (std::string remark = better_order(network, data, r.networks.front()); !remark.empty())
      r.remarks.push_back(std::move(remark));
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
  r.conclusion = conclusion_of(r, data.task, left_out);
  r.seconds = seconds_since(began);
  return r;
}

}  // namespace zeroloss
