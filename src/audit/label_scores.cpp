#include "audit/label_scores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "audit/checked.hpp"
#include "audit/noise_model.hpp"
#include "audit/noise_rate.hpp"
#include "audit/residual_model.hpp"
#include "base/percentage.hpp"
#include "linalg/median.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

void sort_issues(AuditResult& result) {
  std::sort(result.issues.begin(), result.issues.end(), [](const LabelIssue& a, const LabelIssue& b) {
    return a.score != b.score ? a.score < b.score : a.position < b.position;
  });
}

LabelIssue issue_at(const Dataset& asked, Index i, const AuditResult& result) {
  const auto at = static_cast<std::size_t>(i);
  LabelIssue issue{sample(asked, i), i, result.predicted[at], result.scores[at]};
  if (!result.confidence.empty()) issue.confidence = result.confidence[at];
  return issue;
}

std::vector<Index> labels_of(const Dataset& data) {
  std::vector<Index> labels;
  for (Index i = 0; i < data.n(); ++i) labels.push_back(static_cast<Index>(data.y(i)));
  return labels;
}

/// What predictions do not tell.
void add_caveats(const Dataset& train, const std::vector<Index>& labels, const std::vector<bool>& known,
                 bool by_people, AuditResult& result) {
  std::vector<std::string> never;
  for (std::size_t k = 0; k < known.size(); ++k)
    if (!known[k]) never.push_back(train.class_names[k]);
  if (!never.empty())
    result.caveats.push_back(fmt::format("Never predicted, so that {} labels cannot be judged: {}.",
                                         never.size() == 1 ? "its" : "their", excerpt(never)));
  std::vector<Index> counts(known.size());
  for (const Index label : labels) ++counts[static_cast<std::size_t>(label)];
  const double largest = static_cast<double>(*std::max_element(counts.begin(), counts.end()));
  const double blind =
      1 - largest / static_cast<double>(labels.size());  // of naming the largest class always
  const char* doubt = by_people ? "" : " Probabilities and rates may be wrong here.";
  if (result.error > 0 && result.error >= 0.8 * blind)
    result.caveats.push_back(fmt::format(
        "The features say little of the classes: {} of the predictions disagree with the label, {} "
        "would if the largest class were always predicted.{}",
        percentage(result.error, 2), percentage(blind, 2), doubt));
  else if (result.error > 0.3)
    result.caveats.push_back(
        fmt::format("The classes overlap: {} of the predictions disagree with the label.{}",
                    percentage(result.error, 2), doubt));
}

/// What explains the labels: one way, and averaged over all rates of wrong ones.
struct Noise {
  NoiseModel model;
  IntegratedNoise integrated;
};
Noise noise_of(const Dataset& train, const Predicted& own, const Dataset& asked, const Matrix& F,
               Progress& progress) {
  const std::vector<Index> labels = labels_of(train);
  Noise of_train{noise_model(own.f, labels, nullptr, progress), {}};
  of_train.integrated = integrate_noise(own.f, labels, of_train.model, nullptr, progress);
  if (&train == &asked) return of_train;
  const std::vector<Index> theirs = labels_of(asked);
  Noise noise{noise_model(F, theirs, &of_train.model, progress), {}};
  noise.integrated = integrate_noise(F, theirs, noise.model, &of_train.integrated, progress);
  return noise;
}

/// Keeps as many of the worst as labels are expected to be wrong, but all that are more likely wrong than
/// right.
void keep_expected(std::vector<LabelIssue>& issues, double expected) {
  const auto wrong = std::ranges::count_if(issues, [](const LabelIssue& issue) { return issue.score < 0.5; });
  const auto kept =
      std::max(static_cast<std::size_t>(wrong), static_cast<std::size_t>(std::lround(expected)));
  if (kept < issues.size()) issues.resize(kept);
}

/// What is put together of all samples: candidates for issues, and how many labels to expect wrong.
struct Candidates {
  std::vector<Index> positions;
  std::vector<bool> judged;  // of all samples
};

Candidates judge_classes(const Dataset& train, const Predicted& own, const Dataset& asked, const Matrix& F,
                         const AuditOptions& options, AuditResult& result, Progress& progress) {
  const auto& names = train.class_names;
  const Index c = F.cols();
  const std::vector<Index> labels = labels_of(asked);
  const Noise noise = noise_of(train, own, asked, F, progress);
  std::vector<bool> known(static_cast<std::size_t>(c));  // predicted at all, of the predictor's own samples
  for (Index i = 0; i < own.f.rows(); ++i) {
    Index winner = 0;
    own.f.row(i).maxCoeff(&winner);
    known[static_cast<std::size_t>(winner)] = true;
  }
  Candidates candidates;
  Index wrong = 0;
  for (Index i = 0; i < asked.n(); ++i) {
    Index winner = 0;
    F.row(i).maxCoeff(&winner);
    const Index label = labels[static_cast<std::size_t>(i)];
    const double score = std::clamp(noise.integrated.right(i), 0.0, 1.0);
    const double confidence = std::clamp(noise.model.labels(i, winner), 0.0, 1.0);
    result.scores.push_back(score);
    result.confidence.push_back(confidence);
    result.predicted.push_back(names[static_cast<std::size_t>(winner)]);
    candidates.judged.push_back(known[static_cast<std::size_t>(label)]);
    if (!candidates.judged.back()) ++result.not_judged;
    if (winner == label) continue;
    ++wrong;
    if (candidates.judged.back()) candidates.positions.push_back(i);
  }
  result.error = static_cast<double>(wrong) / static_cast<double>(asked.n());

  add_caveats(train, labels, known, !options.checked.positions.empty(), result);

  const std::vector<Estimate> mistaken =
      estimate_confusions(F, labels, noise.model, options.bootstrap, options.predictor.seed, progress);
  result.noise_rate = noise.integrated.rate;
  if (2 * result.not_judged > asked.n()) result.noise_rate.low = 0, result.noise_rate.high = 1;
  for (Index j = 0; j < c; ++j)
    for (Index k = 0; k < c; ++k)
      if (const Estimate& e = mistaken[static_cast<std::size_t>(j * c + k)]; j != k && e.value >= 0.5)
        result.confusions.push_back(
            {names[static_cast<std::size_t>(k)], names[static_cast<std::size_t>(j)], e});
  std::stable_sort(result.confusions.begin(), result.confusions.end(),
                   [](const Confusion& a, const Confusion& b) { return a.samples.value > b.samples.value; });
  return candidates;
}

/// How large residuals of the predictor's own samples are where predictions are about as large: medians of a
/// tenth of them, over that of all, within a factor of 8; 1 for fewer than 60.
class LocalSize {
 public:
  LocalSize(const Vector& f, const Vector& sizes) {
    constexpr std::size_t kKnots = 40;
    const auto n = static_cast<std::size_t>(f.size());
    const double all = median({sizes.begin(), sizes.end()});
    if (n < 60 || !(all > 0)) return;
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto value = [](const Vector& v, std::size_t i) { return v(static_cast<Index>(i)); };
    std::sort(order.begin(), order.end(), [&](auto i, auto j) { return value(f, i) < value(f, j); });
    const std::size_t window = std::max<std::size_t>(20, n / 10);
    for (std::size_t k = 0; k < kKnots; ++k) {
      const std::size_t begin = k * (n - window) / (kKnots - 1);
      std::vector<double> some;
      for (std::size_t i = begin; i < begin + window; ++i) some.push_back(value(sizes, order[i]));
      at_.push_back(value(f, order[begin + window / 2]));
      size_.push_back(std::clamp(median(std::move(some)) / all, 0.125, 8.0));
    }
  }

  double operator()(double f) const {
    if (at_.empty()) return 1;
    const auto above = std::lower_bound(at_.begin(), at_.end(), f);
    const auto k = std::min(static_cast<std::size_t>(above - at_.begin()), at_.size() - 1);
    return size_[k];
  }

 private:
  std::vector<double> at_, size_;
};

/// The median distance from the median.
double spread(const Vector& values) {
  const double middle = median({values.begin(), values.end()});
  const Vector distances = (values.array() - middle).abs();
  return median({distances.begin(), distances.end()});
}

/// A noise model that flags no label.
ResidualModel silent(ResidualModel model) {
  model.judges = false;
  model.rate = 0;
  model.right.setOnes();
  return model;
}

/// Residuals in units of the targets' largest, and the precision that sizes around them leave.
struct Residuals {
  Vector size, precision;
  Residuals(const Dataset& data, const Predicted& p, double unit)
      : size(data.y / unit - p.f.col(0) / unit), precision(p.precision) {}
  void locally(const LocalSize& local, const Vector& f) {
    for (Index i = 0; i < f.size(); ++i) precision(i) /= local(f(i)) * local(f(i));
  }
};

Candidates judge_numbers(const Dataset& train, const Predicted& own, const Dataset& asked,
                         const Predicted& predicted, const AuditOptions& options, AuditResult& result) {
  const Matrix& F = predicted.f;
  const double unit = train.y.cwiseAbs().maxCoeff();
  const double range = train.y.maxCoeff() / unit - train.y.minCoeff() / unit;
  Residuals theirs(train, own, unit), these(asked, predicted, unit);
  const Vector own_sizes = (theirs.size.array() * theirs.precision.array().sqrt()).abs();
  const LocalSize local(own.f.col(0), own_sizes);
  theirs.locally(local, own.f.col(0));
  these.locally(local, F.col(0));
  ResidualModel model = residual_model(theirs.size, theirs.precision, range);
  if (model.share > 0.1 && !(spread(theirs.size) < 0.9 * spread(train.y / unit))) model = silent(model);
  if (&train != &asked) {
    const ResidualModel same = residual_model(these.size, these.precision, range, model.scale);
    model = model.judges ? same : silent(same);
  }
  Candidates candidates;
  for (Index i = 0; i < asked.n(); ++i) {
    result.scores.push_back(std::clamp(model.right(i), 0.0, 1.0));
    result.predicted.push_back(fmt::format("{}", F(i, 0)));
    candidates.positions.push_back(i);
    candidates.judged.push_back(model.judges);
  }
  result.noise_rate =
      estimate_rate(these.size, these.precision, range, model, options.bootstrap, options.predictor.seed);
  const Vector part = train.y / unit;
  const double deviation =
      std::sqrt((part.array() - part.mean()).square().mean() * static_cast<double>(asked.n()));
  result.error = these.size.norm() / deviation;
  if (model.judges) return candidates;
  result.not_judged = asked.n();
  result.caveats.emplace_back(
      "The features say too little of the target: residuals are nearly as large as its own spread.");
  return candidates;
}

/// Of labels that may be wrong those to look at, by the scores: as many as are expected to be wrong, but
/// those that were accepted, in whose place none comes.
void list_issues(const Dataset& asked, const Candidates& candidates, const AuditOptions& options,
                 AuditResult& result) {
  std::vector<bool> looked_at(result.scores.size()), accepted(result.scores.size());
  for (const Index i : options.checked.positions) looked_at[static_cast<std::size_t>(i)] = true;
  for (const Index i : options.accepted) accepted[static_cast<std::size_t>(i)] = true;
  double expected = 0;  // wrong labels, of those that can be judged
  for (std::size_t i = 0; i < result.scores.size(); ++i)
    if (candidates.judged[i] && !looked_at[i]) expected += 1 - result.scores[i];
  for (const Index i : candidates.positions) {
    const auto at = static_cast<std::size_t>(i);
    if (!looked_at[at] && (asked.task == Task::classification || result.scores[at] < 0.5))
      result.issues.push_back(issue_at(asked, i, result));
  }
  sort_issues(result);
  if (asked.task == Task::classification) keep_expected(result.issues, expected);
  std::erase_if(result.issues,
                [&](const LabelIssue& issue) { return accepted[static_cast<std::size_t>(issue.position)]; });
}

/// The least or the greatest target, if it repeats and nearly always looks wrong: a placeholder, as -200 is.
void add_placeholders(const Dataset& asked, AuditResult& result) {
  constexpr Index kRepeats = 3;
  constexpr double kNearlyAll = 0.8;
  for (const double odd : {asked.y.minCoeff(), asked.y.maxCoeff()}) {
    const Index all = (asked.y.array() == odd).count();
    const auto listed = std::ranges::count_if(
        result.issues, [&](const LabelIssue& issue) { return asked.y(issue.position) == odd; });
    if (all < kRepeats || static_cast<double>(listed) < kNearlyAll * static_cast<double>(all)) continue;
    result.caveats.push_back(fmt::format(
        "{} of the targets are {}, and {} of these look wrong: if that stands for a missing value, "
        "`na_values={}`{}",
        with_commas(all), odd, all == listed ? "all" : with_commas(listed), odd, kPlaceholder));
  }
}

/// Those of which a share is right at most, whatever the scores mean.
void list_guaranteed(const Dataset& asked, const Vector& right, const AuditOptions& options,
                     AuditResult& result) {
  const double most = *options.guarantee;
  std::vector<bool> accepted(result.scores.size());
  for (const Index i : options.accepted) accepted[static_cast<std::size_t>(i)] = true;
  const std::vector<Index> list = guaranteed(right, options.checked, most);
  for (const Index i : list)
    if (!accepted[static_cast<std::size_t>(i)]) result.issues.push_back(issue_at(asked, i, result));
  sort_issues(result);
  result.guarantee = most;
  result.named = std::ssize(list);
  result.needed = static_cast<Index>(std::ceil(1 / most) - 1);
  Vector wrong(right.size());
  for (Index i = 0; i < wrong.size(); ++i) wrong(i) = 1 - result.scores[static_cast<std::size_t>(i)];
  result.enough = result.checked;
  result.expected_issues = expected_length(right, wrong, result.checked, most);
  while (result.expected_issues < 1 && 2 * result.enough < asked.n()) {
    result.enough *= 2;
    result.expected_issues = expected_length(right, wrong, result.enough, most);
  }
}

}  // namespace

Index class_of(const Dataset& data, const std::string& name) {
  return std::find(data.class_names.begin(), data.class_names.end(), name) - data.class_names.begin();
}

void judge(const Dataset& train, const Predicted& own, const Dataset& asked, const Predicted& predicted,
           const AuditOptions& options, AuditResult& result, Progress& progress) {
  const Candidates candidates = train.task == Task::classification
                                    ? judge_classes(train, own, asked, predicted.f, options, result, progress)
                                    : judge_numbers(train, own, asked, predicted, options, result);
  const Vector right = Eigen::Map<const Vector>(result.scores.data(), std::ssize(result.scores));
  if (const CheckedSamples& checked = options.checked; !checked.positions.empty()) {
    const Recalibrated by_people = recalibrate(right, checked);
    for (Index i = 0; i < right.size(); ++i)
      result.scores[static_cast<std::size_t>(i)] = 1 - by_people.wrong(i);
    result.noise_rate = by_people.rate;
    result.checked = std::ssize(checked.positions);
    result.checked_wrong = std::ranges::count(checked.wrong, true);
  }
  result.accepted = std::ssize(options.accepted);
  if (options.guarantee)
    list_guaranteed(asked, right, options, result);
  else
    list_issues(asked, candidates, options, result);
  if (asked.task == Task::regression) add_placeholders(asked, result);
}

}  // namespace zeroloss::internal
