#include "zeroloss/audit/audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "audit/given_probabilities.hpp"
#include "audit/kernel_ridge_setup.hpp"
#include "audit/label_scores.hpp"
#include "audit/noise_model.hpp"
#include "audit/predictor.hpp"
#include "audit/strongest.hpp"
#include "base/clock.hpp"
#include "base/percentage.hpp"
#include "linalg/median.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr std::size_t kMostTwins = 1000;
constexpr double kMostly = 0.75;  // of a list that looks wrong
constexpr double kFar = 8.9;      // median absolute deviations: six standard ones of a normal

/// For each row of `asked` the first other row of `train` that has the same numbers, whatever the scale of
/// features; train.n() where there is none.
std::vector<Index> equal_rows(const Dataset& train, const Dataset& asked) {
  const Index n = train.n();
  const bool same = &train == &asked;
  const auto less = [](const auto& a, const auto& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  };
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return less(train.X.row(a), train.X.row(b)); });
  std::vector<Index> equal;
  for (Index i = 0; i < asked.n(); ++i) {
    auto found = std::lower_bound(order.begin(), order.end(), i,
                                  [&](Index a, Index) { return less(train.X.row(a), asked.X.row(i)); });
    if (same && found != order.end() && *found == i) ++found;
    equal.push_back(found != order.end() && train.X.row(*found) == asked.X.row(i) ? *found : n);
  }
  return equal;
}

/// Equal rows, pairs whose distance is below a tenth of what is usual, and points whose distance is beyond it
/// by six robust deviations. `usual`: distances of training samples to their nearest.
void look_at_distances(const Dataset& train, const Dataset& asked, const Nearest& nearest,
                       const std::vector<double>& usual, AuditResult& result) {
  const bool same = &train == &asked;
  std::vector<double> deviations;  // infinite: of inducing points, whose nearest is not known
  for (double x : usual)
    if (std::isfinite(x)) deviations.push_back(x);
  const double middle = deviations.empty() ? 0 : median(deviations);
  for (double& x : deviations) x = std::abs(x - middle);
  const double far = deviations.empty() ? 0 : middle + kFar * median(deviations);
  const std::vector<Index> equal = equal_rows(train, asked);
  const auto next_to = [&](std::size_t i) { return equal[i] < train.n() ? equal[i] : nearest.index[i]; };
  for (std::size_t i = 0; i < nearest.index.size(); ++i) {
    const auto at = static_cast<Index>(i), other = next_to(i);
    if (other >= train.n()) continue;
    const double distance = other == equal[i]
                                ? 0  // without this, equal after rounding only
                                : std::max(nearest.distance[i], std::numeric_limits<double>::min());
    const bool mutual = same && next_to(static_cast<std::size_t>(other)) == at;
    if ((distance == 0 || distance < middle / 10) && !(mutual && other < at))
      result.twins.push_back({sample(asked, at), sample(train, other), distance,
                              asked.y.size() == 0 || asked.y(at) == train.y(other)});
    if (distance > far && far > 0) result.outliers.push_back({sample(asked, at), distance});
  }
  std::stable_sort(result.twins.begin(), result.twins.end(),
                   [](const Twins& a, const Twins& b) { return a.distance < b.distance; });
  if (result.twins.size() > kMostTwins) result.twins.resize(kMostTwins);
  std::stable_sort(result.outliers.begin(), result.outliers.end(),
                   [](const Outlier& a, const Outlier& b) { return a.distance > b.distance; });
}

constexpr Index kIssuesAtOnce = 64, kManyAtOnce = 1024;
constexpr double kShares = 0x1p27;     // numbers of a block of issues
constexpr double kSimilarities = 1e9;  // of samples and inducing points, made anew for each block

/// Names the samples with the largest shares h_j of the predictions that issues go by, which are sums of h_j
/// Y_j: of a training sample without itself h_j = -G_ij / G_ii.
class Reasons {
 public:
  Reasons(const Dataset& train, const Dataset& asked, const Predictor& predictor, const Features& points)
      : train_(train), asked_(asked), predictor_(predictor), points_(points) {}

  void give(AuditResult& result, Index most, Progress& progress) const {
    if (most == 0) return;
    std::vector<LabelIssue>& issues = result.issues;
    const Index n = train_.n(), m = result.inducing;
    const bool all = m == n;
    const auto block = static_cast<std::size_t>(
        all ? kIssuesAtOnce
            : std::clamp(static_cast<Index>(kShares / static_cast<double>(n)), kIssuesAtOnce, kManyAtOnce));
    const auto blocks = static_cast<std::size_t>(kSimilarities / static_cast<double>(n * m));
    const std::size_t count =
        all ? issues.size() : std::min(issues.size(), block * std::max<std::size_t>(1, blocks));
    result.reasoned = static_cast<Index>(count);
    progress.stage("reasons", static_cast<double>(count));
    for (std::size_t begin = 0; begin < count; begin += block) {
      const std::size_t end = std::min(count, begin + block);
      std::vector<Index> which;
      for (std::size_t k = begin; k < end; ++k) which.push_back(issues[k].position);
      const Matrix h = weights(which);
      for (std::size_t k = begin; k < end; ++k) {
        const Vector share = shares(issues[k], h.col(static_cast<Index>(k - begin)));
        issues[k].against = strongest(train_, share, 1, most);
        issues[k].support = strongest(train_, share, -1, most);
      }
      progress.advance(static_cast<double>(end - begin));
    }
  }

 private:
  Matrix weights(const std::vector<Index>& which) const {
    if (&train_ != &asked_) return predictor_.weights(points_.rows(which));
    Matrix h = predictor_.columns(which);
    for (std::size_t k = 0; k < which.size(); ++k) {
      auto column = h.col(static_cast<Index>(k));
      column /= -predictor_.diagonal()(which[k]);
      column(which[k]) = 0;
    }
    return h;
  }

  /// Of the predicted class's output less the label's; of numbers, of how far the prediction is from the
  /// label towards where it is.
  Vector shares(const LabelIssue& issue, const Vector& h) const {
    Vector towards(train_.n());
    if (train_.task == Task::classification) {
      const auto predicted = static_cast<double>(class_of(train_, issue.predicted));
      const double label = asked_.y(issue.position);
      for (Index j = 0; j < train_.n(); ++j)
        towards(j) =
            static_cast<double>(train_.y(j) == predicted) - static_cast<double>(train_.y(j) == label);
    } else {
      const double label = asked_.y(issue.position);
      towards = train_.y.array() - label;
      if (parsed_number(issue.predicted).value_or(0) < label) towards *= -1;
    }
    return h.cwiseMax(0).cwiseProduct(towards);  // whose weight is negative is like the other side, and far
  }

  const Dataset& train_;
  const Dataset& asked_;
  const Predictor& predictor_;
  const Features& points_;
};

/// What a list says of which a share is right at most.
std::string conclude_guaranteed(const AuditResult& r) {
  const std::string share = percentage(*r.guarantee, 3);
  const Index trusted = r.checked - r.checked_wrong;
  if (!r.issues.empty())
    return fmt::format(
        "{} of {} labels {} named: at most {} of such a list is right, in expectation over the draw of the "
        "{}.",
        with_commas(std::ssize(r.issues)), with_commas(r.n), std::ssize(r.issues) == 1 ? "is" : "are", share,
        count(r.checked, "checked sample", "checked samples"));
  if (r.named > 0)
    return fmt::format(
        "All {} that can be named so that at most {} of them are right were looked at and kept.",
        count(r.named, "label", "labels"), share);
  std::string more;
  if (trusted < r.needed) more = fmt::format("; {} are necessary at least", with_commas(r.needed));
  std::string hope;
  if (r.checked == r.n)
    hope = " All samples were checked.";
  else if (r.enough > r.checked && r.expected_issues >= 1)
    hope = fmt::format(
        " By {} checked samples a list of some {} can be expected; `draw={}` with the same seed names "
        "those {} and more.",
        with_commas(r.enough), with_commas(std::lround(r.expected_issues)), r.enough, r.checked);
  else
    hope = " No number of checked samples promises more here.";
  return fmt::format(
      "No label can be named so that at most {} of those named are right, on average, by {}{}.{}", share,
      count(trusted, "checked sample with a right label", "checked samples with right labels"), more, hope);
}

std::string conclude(const AuditResult& r) {
  std::string text;
  const std::string others =
      r.not_judged > 0 ? fmt::format(" {} cannot be judged.", count(r.not_judged, "label", "labels")) : "";
  if (r.guarantee) {
    text = conclude_guaranteed(r);
  } else if (r.not_judged == r.n) {
    text = fmt::format("No label of {} can be judged.", count(r.n, "sample", "samples"));
  } else if (r.issues.empty() && r.checked_wrong > 0) {
    text = fmt::format(
        "Of {} {} wrong; no other label looks wrong.{}",
        count(r.checked, "checked sample", "checked samples"),
        r.checked_wrong == 1 ? std::string("1 label is") : with_commas(r.checked_wrong) + " labels are",
        others);
  } else if (r.issues.empty()) {
    text =
        fmt::format("No label of {} looks wrong.", count(r.n - r.not_judged, "sample", "samples")) + others;
    if (r.noise_rate.low >= 0.01 && r.noise_rate.low * static_cast<double>(r.n) >= 1)
      text = fmt::format("No single label of {} stands out as wrong, though some {} seem to be.{}",
                         count(r.n - r.not_judged, "sample", "samples"), percentage(r.noise_rate.value, 2),
                         others);
  } else {
    const LabelIssue& worst = r.issues.front();
    const std::string predicted = r.task == Task::regression
                                      ? fmt::format("{:.8g}", parsed_number(worst.predicted).value_or(0))
                                      : worst.predicted;
    const auto listed = static_cast<Index>(r.issues.size());
    double expected = 0;  // of them to be wrong
    for (const LabelIssue& issue : r.issues) expected += 1 - issue.score;
    const bool sure = r.task == Task::regression || expected >= kMostly * static_cast<double>(listed);
    text = fmt::format("{} of {} labels {}", with_commas(listed), with_commas(r.n),
                       sure ? (listed == 1 ? "looks wrong" : "look wrong")
                            : (listed == 1 ? "is worth a look" : "are worth a look"));
    if (!sure)
      text += fmt::format(
          ": {}{}",
          listed == 1      ? fmt::format("it is wrong with a probability of {}", percentage(expected, 2))
          : expected < 0.5 ? std::string("at most one of them is likely wrong")
                           : fmt::format("about {} of them wrong", with_commas(std::lround(expected))),
          expected >= 0.5 && listed > 1 && r.noise_rate.low == 0 ? ", perhaps none" : "");
    text += listed == 1 ? fmt::format("{} sample {}, for which {} is predicted.", sure ? ":" : ";",
                                      describe(worst.sample), predicted)
                        : fmt::format("; sample {} most of all, for which {} is predicted.",
                                      describe(worst.sample), predicted);
    text += others;
  }
  for (const std::string& caveat : r.caveats)
    text = !r.issues.empty() && (caveat.starts_with(kSayLittle) || caveat.ends_with(kPlaceholder))
               ? caveat + " " + text
               : text + " " + caveat;
  return text;
}

/// Throws for what people cannot have said of these samples.
void check_people(const AuditOptions& options, const Dataset& asked) {
  const CheckedSamples& checked = options.checked;
  if (options.draw < 0 || options.draw > asked.n())
    throw std::invalid_argument(fmt::format("audit: draw must be from 0 to the {}; got {}",
                                            count(asked.n(), "sample", "samples"), options.draw));
  if (options.guarantee && !(*options.guarantee > 0 && *options.guarantee < 1))
    throw std::invalid_argument(
        fmt::format("audit: guarantee must be above 0 and below 1; got {}", *options.guarantee));
  if (options.guarantee && checked.positions.empty())
    throw std::invalid_argument(
        "audit: `guarantee` needs samples that somebody checked: draw some with `draw`, look at them, and "
        "give what you found as `checked`");
  if (checked.wrong.size() != checked.positions.size())
    throw std::invalid_argument(fmt::format("audit: {} checked samples and {} decisions",
                                            checked.positions.size(), checked.wrong.size()));
  for (const Index i : options.accepted)
    if (i < 0 || i >= asked.n())
      throw std::invalid_argument(fmt::format("audit: accepted sample {} of {}", i, asked.n()));
  if (checked.positions.empty()) return;
  const auto n = std::min<Index>(std::ssize(checked.positions), asked.n());
  if (checked.positions != draw_samples(asked.n(), n, checked.seed))
    throw DataError(fmt::format(
        "audit: checked samples are not the {} of {} that the seed {} draws: only a random choice says how "
        "many labels are wrong",
        n, asked.n(), checked.seed));
}

void check_options(const AuditOptions& options) {
  check(options.predictor, "audit");
  if (options.reasons < 0)
    throw std::invalid_argument(fmt::format("audit: reasons must be >= 0; got {}", options.reasons));
  if (options.bootstrap < 20)
    throw std::invalid_argument(fmt::format("audit: bootstrap must be >= 20; got {}", options.bootstrap));
}

/// Throws ResourceError where there is none for the noise model of classes, of the data and of so many
/// others.
void check_memory(const Dataset& train, Index others, const AuditOptions& options) {
  if (train.task != Task::classification) return;
  require_memory(noise_bytes(train.n() + others, train.classes(), options.bootstrap),
                 fmt::format("audit: what is known of {} labels of {}", with_commas(train.n()),
                             count(train.classes(), "class", "classes")),
                 "leave out or merge classes, or try a smaller `n`");
}

/// What an answer begins with.
AuditResult begun(const Dataset& train, const Dataset& asked, const KernelRidgeSetup& prepared) {
  AuditResult result;
  result.task = train.task;
  result.n = asked.n();
  result.d = train.d();
  result.classes = train.classes();
  prepared.tell(result);
  return result;
}

AuditResult run(const Dataset& train, const Dataset* test, const AuditOptions& options, Progress& progress,
                const Group& group) {
  const auto began = std::chrono::steady_clock::now();
  check_options(options);
  const Dataset& asked = test == nullptr ? train : *test;
  check_audited(train, "audit");
  if (test != nullptr) {
    check_against(train, *test, "audit");
    require_targets(*test, "audit");
  }
  check_people(options, asked);
  check_probabilities(train, "audit");
  check_probabilities(asked, "audit");
  if ((train.probabilities.size() > 0) != (asked.probabilities.size() > 0))
    throw DataError(fmt::format("audit: `probabilities` are given of {} alone; both data sets need them",
                                (train.probabilities.size() > 0 ? train : asked).name));

  check_memory(train, test != nullptr ? test->n() : 0, options);
  const Targets targets(train);
  const KernelRidgeSetup prepared(train, targets.centred(), options.predictor, group, progress);
  AuditResult result = begun(train, asked, prepared);
  const Predictor& predictor = prepared.predictor();
  Features points;
  Nearest nearest = prepared.nearest();
  Predicted own{targets.restored(targets.centred() - predictor.left_out()), predictor.diagonal()};
  Blend blend;
  if (train.probabilities.size() > 0) {
    std::vector<Index> labels;
    for (const double y : train.y) labels.push_back(static_cast<Index>(y));
    blend = fit_blend(own.f, train.probabilities, labels, progress);
    if (blend.given > 0) own.f = blend(own.f, train.probabilities);
    result.probabilities = blend.given;
  }
  if (test == nullptr) {
    judge(train, own, train, own, options, result, progress);
  } else {
    points = prepared.similarity().features(prepared.inputs(asked, progress));
    Matrix f = targets.restored(predictor.predict(points, &nearest));
    if (blend.given > 0) f = blend(f, asked.probabilities);
    judge(train, own, asked, {f, Vector::Constant(f.rows(), own.precision.mean())}, options, result,
          progress);
  }
  look_at_distances(train, asked, nearest, prepared.nearest().distance, result);
  for (const Index i : draw_samples(asked.n(), options.draw, options.predictor.seed))
    result.drawn.push_back(sample(asked, i));
  Reasons(train, asked, predictor, points).give(result, options.reasons, progress);
  progress.finish();
  result.conclusion = conclude(result);
  result.seconds = seconds_since(began);
  return result;
}

}  // namespace

void give_target(Dataset& data, const Target& target) {
  data.task = target.task;
  data.y = target.y;
  data.class_names = target.class_names;
  data.target_name = target.name;
}

std::vector<AuditResult> audit_each(const Dataset& data, const std::vector<Target>& all,
                                    const AuditOptions& options, Progress& progress, const Group& group) {
  auto began = std::chrono::steady_clock::now();
  check_options(options);
  if (all.empty()) throw std::invalid_argument("audit: no target");
  if (options.draw > 0 || options.guarantee || !options.checked.positions.empty() ||
      !options.accepted.empty())
    throw std::invalid_argument("audit: `draw`, `checked`, `accepted` and `guarantee` are for one target");
  if (data.probabilities.size() > 0) throw std::invalid_argument("audit: `probabilities` are of one target");
  Dataset each = data;
  const auto take = [&](const Target& target) {
    give_target(each, target);
    if (target.records != data.records)
      throw DataError(
          fmt::format("audit: targets '{}' and '{}' are not known of the same records: audit each by itself",
                      all.front().name, target.name));
    check_audited(each, "audit");
    check_memory(each, 0, options);
  };
  std::vector<Targets> targets;
  std::vector<Index> begins{0};  // of their columns
  for (const Target& target : all) {
    take(target);
    targets.emplace_back(each);
    begins.push_back(begins.back() + targets.back().centred().cols());
  }
  Matrix Y(data.n(), begins.back());
  for (std::size_t k = 0; k < all.size(); ++k)
    Y.middleCols(begins[k], begins[k + 1] - begins[k]) = targets[k].centred();
  const KernelRidgeSetup prepared(each, Y, options.predictor, group, progress);
  const Matrix left_out = prepared.predictor().left_out();
  std::vector<AuditResult> results;
  for (std::size_t k = 0; k < all.size(); ++k) {
    take(all[k]);
    AuditResult result = begun(each, each, prepared);
    const Matrix residuals = left_out.middleCols(begins[k], begins[k + 1] - begins[k]);
    const Predicted own{targets[k].restored(targets[k].centred() - residuals),
                        prepared.predictor().diagonal()};
    judge(each, own, each, own, options, result, progress);
    look_at_distances(each, each, prepared.nearest(), prepared.nearest().distance, result);
    Reasons(each, each, prepared.predictor(), {}).give(result, options.reasons, progress);
    progress.finish();
    result.conclusion = conclude(result);
    result.seconds = seconds_since(began);
    began = std::chrono::steady_clock::now();
    results.push_back(std::move(result));
  }
  return results;
}

AuditResult audit(const Dataset& data, const AuditOptions& options, Progress& progress, const Group& group) {
  return run(data, nullptr, options, progress, group);
}

Services audit_services() { return {{kAuditService, serve_similarities}}; }

AuditResult audit(const Dataset& data, const AuditOptions& options) {
  Progress silent;
  return audit(data, options, silent);
}

AuditResult audit(const Dataset& data, const Dataset& test, const AuditOptions& options, Progress& progress,
                  const Group& group) {
  return run(data, &test, options, progress, group);
}

}  // namespace zeroloss
