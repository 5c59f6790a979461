#include "deep/judge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "linalg/rounding.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

// Of one rounded operation.
double below(double x) { return std::nextafter(x, -std::numeric_limits<double>::infinity()); }
double above(double x) { return std::nextafter(x, std::numeric_limits<double>::infinity()); }

// By how much a single output exceeds its threshold.
struct Single {
  double f, error;
};
Single over_threshold(const NetworkOutputs& network, double f, double error) {
  if (network.threshold == 0 && network.threshold_error == 0) return {f, error};
  const double over = f - network.threshold;
  return {over, (error + network.threshold_error + 2 * u * std::abs(over)) * kUp};
}

// Bounds of a sample's margin: by how much the output of its own class exceeds the largest of the others.
struct Margin {
  double least, most;
};
Margin margin_of(const NetworkOutputs& network, const Matrix& outputs, const Matrix& errors, const Matrix& Y,
                 Index i) {
  const auto f = outputs.row(i), error = errors.row(i), y = Y.row(i);
  if (f.size() == 1) {
    const Single over = over_threshold(network, f(0), error(0));
    const double signed_output = y(0) > network.threshold ? over.f : -over.f;
    return {below(signed_output - over.error), above(signed_output + over.error)};
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

}  // namespace

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

RowMatrix divided_points(const Dataset& data, double divide) {
  if (!(divide > 0 && std::isfinite(divide)))
    throw std::invalid_argument(fmt::format("`divide` must be above 0; got {}", divide));
  return divide != 1 ? RowMatrix(data.X / divide) : data.X;
}

std::pair<NetworkOutputs, std::string> with_class_names(NetworkOutputs network, const Dataset& data,
                                                        const ProveOptions& options) {
  if (data.task == Task::classification) {
    network = with_threshold(std::move(network), options);
    OutputClasses classes = output_classes(network, data, options.class_names);
    network.class_names = std::move(classes.names);
    return {std::move(network), std::move(classes.remark)};
  }
  if (options.threshold)
    throw std::invalid_argument("`threshold` is for classes; the targets are numbers: `task=classification`");
  if (!options.class_names.empty())
    throw std::invalid_argument(
        "`class_names` is for classes; the targets are numbers: `task=classification`");
  return {std::move(network), ""};
}

NetworkOutputs with_threshold(NetworkOutputs network, const ProveOptions& options) {
  if (!options.threshold) return network;
  const double t = *options.threshold;
  if (network.count > 1)
    throw std::invalid_argument(
        fmt::format("`threshold` is for a single output; the network has {}, of which the largest decides",
                    network.count));
  if (!ends_with_sigmoid(network.behind)) {
    if (!(std::abs(t) <= 1e15))  // t - 1 and t + 1 are the targets
      throw std::invalid_argument(fmt::format("`threshold` must be between -1e15 and 1e15; got {}", t));
    network.threshold = t;
    return network;
  }
  if (!(t > 0 && t < 1))
    throw std::invalid_argument(
        fmt::format("`threshold` must be between 0 and 1, since a sigmoid is compared with it; got {}", t));
  // log(t/(1 - t)) of two logarithms, each within 64 ulp; 1 - t, rounded, moves its one by 2 u at most.
  const double one = std::log(t), other = std::log1p(-t);
  network.threshold = t == 0.5 ? 0 : one - other;
  network.threshold_error = t == 0.5 ? 0 : 200 * u * (std::abs(one) + std::abs(other)) + kTiny;
  return network;
}

std::string remark_on_threshold(const NetworkOutputs& network, const ProveOptions& options,
                                const VerifiedOutputs& outputs) {
  if (network.count != 1 || network.class_names.size() != 2) return "";
  const std::string second = excerpt(network.class_names.back());
  if (ends_with_sigmoid(network.behind))
    return fmt::format(
        "the outputs end with a sigmoid: a sample is taken for {} where that exceeds {}, so where the number "
        "before it, which is the output here, exceeds {:.4g}",
        second, options.threshold.value_or(0.5), network.threshold);
  if (options.threshold || !((outputs.f - outputs.error).array() >= 0).all()) return "";
  return fmt::format(
      "no output is below 0, so that every sample is taken for {}: where outputs are probabilities, say "
      "`threshold=0.5`",
      second);
}

Index proved_label(const NetworkOutputs& network, const Matrix& f, const Matrix& error, Index i) {
  if (f.cols() == 1) {
    const Single over = over_threshold(network, f(i, 0), error(i, 0));
    return std::abs(over.f) > over.error ? (over.f > 0 ? 1 : 0) : -1;
  }
  Index top = 0;
  f.row(i).maxCoeff(&top);
  for (Index k = 0; k < f.cols(); ++k)
    if (k != top && !((f(i, top) - f(i, k)) * kDown > (error(i, top) + error(i, k)) * kUp)) return -1;
  return top;
}

DataError unfit_points(const Dataset& data, const std::string& takes, Index features) {
  const bool labels_inside = data.task == Task::none && data.X.cols() == features + 1;
  return DataError(fmt::format(
      "{}: points have {} features{}, {}{}", data.name, data.X.cols(),
      data.feature_names.empty() ? "" : fmt::format(" ({})", excerpt(data.feature_names)), takes,
      labels_inside ? ": one may be the labels, and no column is called so: name it by `target=COLUMN`"
                    : ""));
}

Index record_of(const Dataset& data, Index i) {
  return data.records.empty() ? i : data.records[static_cast<std::size_t>(i)];
}

ProvedNetwork judge_outputs(const NetworkOutputs& network, const Dataset& data, const Matrix& Y,
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
    const Margin margin = margin_of(network, outputs.f, outputs.error, Y, i);
    const Index record = record_of(data, i);
    if (!(margin.least >= p.margin)) {
      p.margin = std::isnan(margin.least) ? -std::numeric_limits<double>::infinity() : margin.least;
      p.margin_sample = record;
    }
    const bool right = margin.least > 0, wrong = margin.most < 0;
    ++(right ? p.right : wrong ? p.wrong : p.undecided);
    if (!right) (wrong ? p.wrong_samples : p.undecided_samples).push_back(record);
    if (!network.single || !(right || wrong)) continue;
    const Margin single = margin_of(network, outputs.f, outputs.single_error, Y, i);
    if (right ? !(single.least > 0) : !(single.most < 0)) p.single_samples.push_back(record);
  }
  for (auto* samples : {&p.wrong_samples, &p.undecided_samples, &p.single_samples})
    std::sort(samples->begin(), samples->end());
  if (p.margin > 0 && network.threshold == 0) p.sharpening = sharpening_of(p.margin, network.count);
  return p;
}

namespace {

std::string without_bounds(const ProvedNetwork& p) {
  return p.outputs.f.allFinite()
             ? "nothing is proved of its outputs: what they may be off by has no bound here"
             : "outputs are beyond the range of numbers";
}

}  // namespace

std::string labels_of(const ProvedNetwork& p, Index n) {
  if (p.right + p.wrong == 0 && !std::isfinite(p.output_error)) return without_bounds(p);
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

std::string better_order(const NetworkOutputs& network, const Dataset& data, const ProvedNetwork& p) {
  const std::vector<std::string>& names = network.class_names;
  const auto count = std::ssize(names);
  if (2 * p.wrong <= data.n()) return "";
  Matrix seen = Matrix::Zero(count, count);  // samples, by the output that is largest and by class
  for (Index i = 0; i < data.n(); ++i) {
    const std::string& label = data.class_names[static_cast<std::size_t>(data.y(i))];
    Index output = 0;
    if (network.count == 1)
      output = p.outputs.f(i, 0) > network.threshold ? 1 : 0;
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

std::string said_of(const ProvedNetwork& p, Task task, Index n) {
  if (task == Task::classification) return labels_of(p, n);
  if (!std::isfinite(p.largest_error)) return without_bounds(p);
  return fmt::format("every target within {}, proved", decimal(p.largest_error, 3, Rounding::up));
}

std::string conflict_of(const Dataset& data, const std::pair<Index, Index>& samples) {
  const auto [one, other] = samples;
  return fmt::format("samples {} and {} are equal{} and have different targets: no network fits both",
                     record_of(data, one), record_of(data, other),
                     data.X.row(one) == data.X.row(other) ? "" : " once they are divided and rounded");
}

namespace {

// `of`: what the certificate's weights are those of.
std::string exact_of(const DeepCertificate& c, bool left_out, const char* of) {
  if (left_out) return "whether an exact network lies beside it was left out";
  if (!c.exists) return "no exact network is proved beside it";
  return fmt::format("an exact zero-loss network lies within {} of {}, proved{}",
                     decimal(c.radius, 3, Rounding::up), of,
                     c.descends ? ", and gradient descent reaches one" : "");
}

}  // namespace

std::string conclusion_of(const ProveResult& r, Task task) {
  const bool left_out = std::ranges::any_of(
      r.remarks, [](const std::string& remark) { return remark.starts_with("left out: "); });
  std::string text;
  for (const ProvedNetwork& p : r.networks) {
    const std::string says = said_of(p, task, r.n);
    if (!text.empty())
      text +=
          fmt::format("\nPolished, at a distance of {} ({} of the length of its weights): ",
                      decimal(r.distance, 3, Rounding::up), decimal(r.relative_distance, 3, Rounding::up));
    else
      text = "The network given: ";
    const char* of = r.near_file && &p == &r.networks.front() ? "the layers that were read" : "it";
    text += fmt::format("{}; {}.", says, exact_of(p.certificate, left_out, of));
  }
  return text;
}

}  // namespace zeroloss::internal
