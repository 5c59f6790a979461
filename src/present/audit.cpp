#include "zeroloss/present/audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <unordered_map>

#include "present/common.hpp"
#include "present/pictures.hpp"
#include "present/table.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/chart/chart.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr std::size_t kMostLines = 20;   // of a table
constexpr std::size_t kMostShown = 100;  // issues with what differs most
constexpr std::size_t kMostTelling = 5;

// ---- text ----

std::string estimate(const Estimate& e, double times, int digits) {
  return fmt::format("{0:.{3}f} ({1:.{3}f} to {2:.{3}f})", times * e.value, times * e.low, times * e.high,
                     digits);
}

/// Its number, and its id where it has one: everywhere both.
std::string numbered(const Sample& s) {
  return s.id.empty() ? fmt::format("{}", s.record) : fmt::format("{} '{}'", s.record, excerpt(s.id));
}

/// The head of a column of samples, which says whether ids stand there too.
std::string head(const std::string& name, const Sample& first) {
  return first.id.empty() ? name : name + " 'id'";
}

std::string with_label(const Sample& s) {
  return s.label.empty() ? numbered(s) : fmt::format("{} ({})", numbered(s), s.label);
}

/// Of issues, whose reasons all have the class that their column is for, without labels.
std::string names(const std::vector<Reason>& reasons, bool labels) {
  std::vector<std::string> words;
  words.reserve(reasons.size());
  for (const Reason& r : reasons) words.push_back(labels ? with_label(r.sample) : numbered(r.sample));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string more(std::size_t all, std::size_t shown, const char* where) {
  return all > shown
             ? fmt::format("  and {} more in {}\n", with_commas(static_cast<Index>(all - shown)), where)
             : "";
}

/// A number predicted, with digits that the targets' spread makes worth reading.
std::string predicted_text(Task task, const std::string& predicted) {
  return task == Task::regression ? fmt::format("{:.8g}", parsed_number(predicted).value_or(0)) : predicted;
}

std::string issue_table(const AuditResult& r) {
  if (r.issues.empty()) return "";
  const bool classes = r.task == Task::classification;
  Table table({head("sample", r.issues.front().sample), "label", "predicted", "right with",
               classes ? "confidence" : "", "speak against it", "speak for it"});
  for (std::size_t k = 0; k < std::min(kMostLines, r.issues.size()); ++k) {
    const LabelIssue& i = r.issues[k];
    table.add({numbered(i.sample), i.sample.label, predicted_text(r.task, i.predicted),
               i.score < 1e-4 ? "< 0.01 %" : fmt::format("{:.2g} %", 100 * i.score),
               i.confidence ? fmt::format("{:.0f} %", 100 * *i.confidence) : "", names(i.against, !classes),
               names(i.support, !classes)});
  }
  return "\nlabels to look at, worst first\n" + table.text("  ") +
         more(r.issues.size(), kMostLines, "the JSON and the run folder");
}

/// Where no label looks wrong: the five that are least likely to be right, if any is doubtful at all. Without
/// those that cannot be judged, which would look wrong otherwise.
std::string least_sure(const Dataset& asked, const AuditResult& r) {
  if (!r.issues.empty() || r.not_judged == r.n) return "";
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < r.scores.size(); ++i)
    if (r.scores[i] >= 0.5 || sample(asked, static_cast<Index>(i)).label == r.predicted[i])
      order.push_back(i);
  const auto count = std::min<std::size_t>(5, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      return r.scores[a] != r.scores[b] ? r.scores[a] < r.scores[b] : a < b;
                    });
  Table table({head("sample", sample(asked, 0)), "label", "predicted", "right with"});
  for (std::size_t k = 0; k < count; ++k) {
    const Sample s = sample(asked, static_cast<Index>(order[k]));
    if (s.label == r.predicted[order[k]]) break;
    table.add({numbered(s), s.label, predicted_text(r.task, r.predicted[order[k]]),
               fmt::format("{:.3g} %", 100 * r.scores[order[k]])});
  }
  return table.rows() == 0 ? "" : "\nthe least sure of them\n" + table.text("  ");
}

std::string drawn_line(const AuditResult& r) {
  if (r.drawn.empty()) return "";
  std::vector<std::string> words;
  for (std::size_t k = 0; k < std::min(kMostLines / 2, r.drawn.size()); ++k)
    words.push_back(with_label(r.drawn[k]));
  return fmt::format(
      "\ndrawn at random, to look at: {}{}\n", fmt::join(words, ", "),
      r.drawn.size() > words.size()
          ? fmt::format(" and {} more", with_commas(static_cast<Index>(r.drawn.size() - words.size())))
          : "");
}

std::string confusion_table(const AuditResult& r) {
  if (r.confusions.empty()) return "";
  Table table({"label", "meant", "samples", "95 % interval"});
  for (std::size_t k = 0; k < std::min<std::size_t>(kMostLines / 2, r.confusions.size()); ++k) {
    const Confusion& c = r.confusions[k];
    table.add({c.given, c.meant, fmt::format("{:.1f}", c.samples.value),
               fmt::format("{:.1f} to {:.1f}", c.samples.low, c.samples.high)});
  }
  return "\nclasses that are mistaken for others\n" + table.text("  ") +
         more(r.confusions.size(), kMostLines / 2, "the JSON and the run folder");
}

std::string twin_table(const AuditResult& r, bool test) {
  if (r.twins.empty()) return "";
  Table table({head(test ? "test sample" : "sample", r.twins.front().first),
               head(test ? "training sample" : "sample", r.twins.front().second), "distance", ""});
  for (std::size_t k = 0; k < std::min<std::size_t>(kMostLines / 2, r.twins.size()); ++k) {
    const Twins& t = r.twins[k];
    table.add({with_label(t.first), with_label(t.second),
               t.distance == 0 ? "0 (equal)" : short_number(t.distance),
               t.same_label || r.task != Task::classification ? "" : "labels differ"});
  }
  return (test ? std::string("\ntest samples next to equal to a training sample (leakage)\n")
               : std::string("\nsamples next to equal\n")) +
         table.text("  ") + more(r.twins.size(), kMostLines / 2, "the JSON and the run folder");
}

std::string outlier_line(const AuditResult& r) {
  if (r.outliers.empty()) return "";
  std::vector<std::string> words;
  for (std::size_t k = 0; k < std::min<std::size_t>(kMostLines / 2, r.outliers.size()); ++k)
    words.push_back(with_label(r.outliers[k].sample));
  return fmt::format(
      "\nfar from all others: {}{}\n", fmt::join(words, ", "),
      r.outliers.size() > words.size()
          ? fmt::format(" and {} more", with_commas(static_cast<Index>(r.outliers.size() - words.size())))
          : "");
}

template <class Result>
std::string predictor_line(const Result& r, const char* all) {
  const std::string scale = r.scale == "columns"  ? "each to deviation 1, and their ranks"
                            : r.scale == "common" ? "one scale for all"
                                                  : "as they are given";
  const std::string patches =
      fmt::format("features of patches{}", r.mirrored ? " of images and mirror images" : "");
  if (r.embedding > 0) {
    const std::string rest = r.embedding < 1 ? ", a quarter of the given features: " + scale : "";
    return fmt::format(
        "kernel of {} of the embedding{}; ridge {:.3g}; {}", r.activation, rest, r.ridge,
        r.inducing < r.n ? fmt::format("{} inducing points", with_commas(r.inducing)) : std::string(all));
  }
  const std::string kernel =
      r.image_features == "patches" ? fmt::format("kernel of {} of {}", r.activation, patches)
      : r.image_features == "both"
          ? fmt::format("kernel of {} of {}, a quarter of pixels: {}", r.activation, patches, scale)
          : fmt::format("kernel of {} and single features; features: {}{}", r.activation,
                        r.image_features.empty() ? "" : "pixels, ", scale);
  return fmt::format(
      "{}; ridge {:.3g}; {}", kernel, r.ridge,
      r.inducing < r.n ? fmt::format("{} inducing points", with_commas(r.inducing)) : std::string(all));
}

/// Whose judgement rates and probabilities are.
std::string by_people(const AuditResult& r) {
  return r.checked == 0
             ? ""
             : fmt::format(", by {}, {} of them wrong", count(r.checked, "checked sample", "checked samples"),
                           with_commas(r.checked_wrong));
}

std::string facts(const Dataset& train, const AuditResult& r, bool test) {
  Facts fact(26);
  fact("wrong labels", r.not_judged == r.n && r.checked == 0
                           ? "not known, since no label can be judged"
                           : estimate(r.noise_rate, 100, 1) + " % of all, 95 % interval" + by_people(r));
  if (r.reasoned > 0 && r.reasoned < std::ssize(r.issues))
    fact("reasons",
         fmt::format("for the {} that are worst; `reasons=0` leaves them out, a smaller `inducing` "
                     "gives more",
                     with_commas(r.reasoned)));
  if (r.accepted > 0)
    fact("kept by people", count(r.accepted, "label, not named again", "labels, not named again"));
  if (r.guarantee && r.enough == r.checked && r.expected_issues >= 1)
    fact("list to expect", fmt::format("some {} labels, with {}", with_commas(std::lround(r.expected_issues)),
                                       count(r.checked, "checked sample", "checked samples")));
  fact(test ? "predictions that disagree" : "leave-one-out error",
       r.task == Task::classification ? fmt::format("{:.2f} %", 100 * r.error)
                                      : fmt::format("{:.3g} of the targets' spread", r.error));
  fact("predictor", predictor_line(r, test ? "of all samples" : "exact leave-one-out"));
  if (train.embedding.size() > 0 && r.embedding == 0)
    fact("embedding", "not taken: left-out labels are predicted better without it");
  if (train.probabilities.size() > 0)
    fact("probabilities", r.probabilities > 0
                              ? fmt::format("taken, their logarithms times {:.3g}", r.probabilities)
                              : std::string("not taken: they say nothing more"));
  return fact.text();
}

// ---- what differs ----

/// Of numbers: mean and standard deviation of a column, 0 of a constant one.
struct Column {
  double mean = 0, deviation = 0;
};

std::vector<Column> columns_of(const RowMatrix& X) {
  std::vector<Column> columns;
  for (Index k = 0; k < X.cols(); ++k) {
    const double mean = X.col(k).mean();
    columns.push_back({mean, std::sqrt((X.col(k).array() - mean).square().mean())});
  }
  return columns;
}

std::string feature_name(const Dataset& data, Index k) {
  return data.feature_names.empty() ? fmt::format("column {}", k)
                                    : data.feature_names[static_cast<std::size_t>(k)];
}

Eigen::RowVectorXd mean_of(const Dataset& train, const std::unordered_map<Index, Index>& rows,
                           const std::vector<Reason>& reasons) {
  Eigen::RowVectorXd mean = Eigen::RowVectorXd::Zero(train.d());
  for (const Reason& reason : reasons) mean += train.X.row(rows.at(reason.sample.record));
  return mean / static_cast<double>(reasons.size());
}

/// The features that say most that a sample is none of its label: far from those that speak for it, near
/// those that speak against it.
Json differences(const Dataset& train, const Dataset& asked, const AuditResult& r) {
  const auto columns = columns_of(train.X);
  std::unordered_map<Index, Index> rows;
  for (Index i = 0; i < train.n(); ++i) rows.emplace(train.records[static_cast<std::size_t>(i)], i);
  Json all = Json::array();
  for (std::size_t q = 0; q < std::min(kMostShown, r.issues.size()); ++q) {
    const LabelIssue& issue = r.issues[q];
    Json list = Json::array();
    if (!issue.against.empty() && !issue.support.empty()) {
      const auto x = asked.X.row(issue.position);
      const auto theirs = mean_of(train, rows, issue.against), labels = mean_of(train, rows, issue.support);
      std::vector<std::pair<double, Index>> telling;
      for (Index k = 0; k < train.d(); ++k)
        if (const Column& c = columns[static_cast<std::size_t>(k)]; c.deviation > 0)
          telling.emplace_back((std::abs(x(k) - theirs(k)) - std::abs(x(k) - labels(k))) / c.deviation, k);
      const std::size_t count = std::min(kMostTelling, telling.size());
      std::partial_sort(telling.begin(), telling.begin() + static_cast<std::ptrdiff_t>(count), telling.end());
      for (std::size_t k = 0; k < count && telling[k].first < 0; ++k) {
        const Index at = telling[k].second;
        list.push_back(
            Json{{"feature", feature_name(train, at)},
                 {"value", x(at)},
                 {"theirs", theirs(at)},
                 {"labels", labels(at)},
                 {"deviations", (x(at) - labels(at)) / columns[static_cast<std::size_t>(at)].deviation}});
      }
    }
    all.push_back(Json{{"sample", issue.sample.record}, {"differences", list}});
  }
  return all;
}

// ---- figures ----

std::string scores_figure(const Dataset& asked, const AuditResult& r) {
  std::vector<double> sorted = r.scores;
  std::sort(sorted.begin(), sorted.end());
  Curve curve{"probability that the label is right", {}, {}, {}};
  const auto n = sorted.size();
  double last = 0;
  for (std::size_t k = 0; k < n; ++k) {  // ever farther apart on a log axis
    const double at = static_cast<double>(k + 1);
    if (k + 1 < n && k > 200 && at < last * 1.01) continue;
    last = at;
    curve.x.push_back(at);
    curve.y.push_back(sorted[k]);
  }
  return line_chart(fmt::format("Labels of {}, worst first", asked.name), {"samples", true},
                    {"probability that the label is right", false}, {curve});
}

std::vector<Index> shown_records(const AuditResult& r, bool train_only, bool test) {
  std::vector<Index> records;
  for (std::size_t k = 0; k < std::min(kMostShown, r.issues.size()); ++k) {
    if (!train_only) records.push_back(r.issues[k].sample.record);
    if (test != train_only) continue;
    for (const auto* reasons : {&r.issues[k].against, &r.issues[k].support})
      for (const Reason& reason : *reasons) records.push_back(reason.sample.record);
  }
  for (std::size_t k = 0; k < std::min<std::size_t>(kMostLines, r.twins.size()); ++k) {
    if (!train_only) records.push_back(r.twins[k].first.record);
    if (test == train_only) records.push_back(r.twins[k].second.record);
  }
  if (!train_only) {
    for (std::size_t k = 0; k < std::min<std::size_t>(kMostLines, r.outliers.size()); ++k)
      records.push_back(r.outliers[k].sample.record);
    for (const Sample& s : r.drawn) records.push_back(s.record);
  }
  return records;
}

std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

Json data_of(const Dataset& data, const Dataset* test, const Json& options) {
  Json json = answer_json(data, options);
  json["test"] =
      test == nullptr ? Json() : Json{{"data", test->name}, {"digest", test->digest}, {"n", test->n()}};
  return json;
}

}  // namespace

std::string audit_text(const Dataset& data, const Dataset* test, const AuditOptions&, const AuditResult& r) {
  std::string text = heading(data, "") + "\n";
  if (test != nullptr) text += heading(*test, "; audited") + "\n";
  if (r.inducing < data.n())
    text += fmt::format("  predicted by {} of {} samples, the inducing points; `inducing` says how many\n",
                        with_commas(r.inducing), with_commas(data.n()));
  text += "\n" + r.conclusion + "\n";
  if (test != nullptr && !r.issues.empty())
    text +=
        "Correct test labels by looking at the samples. To drop those that a model contradicts makes every "
        "model look better than it is.\n";
  return text + "\n" + facts(data, r, test != nullptr) + issue_table(r) +
         (r.guarantee ? "" : least_sure(test ? *test : data, r)) + drawn_line(r) + confusion_table(r) +
         twin_table(r, test != nullptr) + outlier_line(r) + fmt::format("\n{:.1f} s\n", r.seconds);
}

std::string audit_json(const Dataset& data, const Dataset* test, const AuditOptions& options,
                       const AuditResult& result, const Next& next) {
  Json json = data_of(data, test, told(options));
  tell(json, result);
  json["next"] = told(next);
  return json.dump(1);
}

std::string audit_csv(const Dataset& asked, const AuditResult& r) {
  std::vector<bool> issue(r.scores.size());
  for (const LabelIssue& i : r.issues) issue[static_cast<std::size_t>(i.position)] = true;
  std::string csv = "sample,id,label,predicted,score,confidence,issue\n";
  for (std::size_t i = 0; i < r.scores.size(); ++i) {
    const Sample s = sample(asked, static_cast<Index>(i));
    csv += fmt::format(
        "{},{},{},{},{:.17g},{},{}\n", s.record, cell(s.id), cell(s.label), cell(r.predicted[i]), r.scores[i],
        r.confidence.empty() ? "" : fmt::format("{:.17g}", r.confidence[i]), issue[i] ? "true" : "false");
  }
  return csv;
}

std::string drawn_csv(const AuditResult& r, const AuditOptions& options, const Dataset& asked) {
  std::unordered_map<Index, const char*> known;  // decisions, by record
  for (std::size_t k = 0; k < options.checked.positions.size(); ++k)
    known[asked.records[static_cast<std::size_t>(options.checked.positions[k])]] =
        options.checked.wrong[k] ? "wrong" : "right";
  std::string csv = "sample,id,label,decision,new_label,drawn,seed\n";
  for (const Sample& s : r.drawn) {
    const auto found = known.find(s.record);
    csv += fmt::format("{},{},{},{},,{},{}\n", s.record, cell(s.id), cell(s.label),
                       found == known.end() ? "" : found->second, r.drawn.size(), options.predictor.seed);
  }
  return csv;
}

/// What is known of the samples that were drawn, for those who have no picture of them.
Json drawn_rows(const Dataset& asked, const AuditResult& r) {
  constexpr Index kMostFeatures = 40;
  std::unordered_map<Index, Index> rows;
  for (Index i = 0; i < asked.n(); ++i) rows.emplace(asked.records[static_cast<std::size_t>(i)], i);
  Json all = Json::array();
  for (const Sample& s : r.drawn) {
    Json features = Json::array();
    for (Index k = 0; k < std::min(asked.d(), kMostFeatures); ++k)
      features.push_back(Json{{"feature", feature_name(asked, k)}, {"value", asked.X(rows.at(s.record), k)}});
    all.push_back(Json{{"sample", s.record}, {"features", features}});
  }
  return all;
}

void write_audit(RunFolder& folder, const Dataset& data, const Dataset* test, const ReadOptions& read,
                 const AuditOptions& options, const AuditResult& r, const std::vector<std::string>& command,
                 const Next& next) {
  const Dataset& asked = test == nullptr ? data : *test;
  folder.write("result.json", audit_json(data, test, options, r, next) + "\n");
  folder.write("scores.csv", audit_csv(asked, r));
  folder.write("scores.vl.json", scores_figure(asked, r));
  if (!r.drawn.empty()) folder.write("drawn.csv", drawn_csv(r, options, asked));
  if (!r.drawn.empty() && picture_of(asked).height == 0)
    folder.write("drawn.json", drawn_rows(asked, r).dump(1) + "\n");
  if (!r.issues.empty()) folder.write("differences.json", differences(data, asked, r).dump(1) + "\n");
  write_pictures(folder, asked, shown_records(r, false, test != nullptr));
  if (test != nullptr)
    if (const auto pictures = pictures_json(data, shown_records(r, true, true)); !pictures.empty())
      folder.write("pictures-of-training.json", pictures + "\n");
  folder.write("manifest.json", manifest("audit", command, told(options), data, read, r.seconds));
  folder.finish();
}

Next after_audit(const std::vector<std::string>& words, const AuditResult& r, const std::string& out) {
  if (!out.empty() && !r.drawn.empty())
    return {"say of each drawn sample whether its label is right, on a page", {"zeroloss", "report", out}};
  if (!out.empty() && !r.issues.empty())
    return {"walk through the labels that look wrong", {"zeroloss", "report", out}};
  if (!r.issues.empty()) {
    Next next = after_figures(words, out);
    next.why = "look at them beside the samples that speak against them";
    return next;
  }
  return after_figures(words, out);
}

// ---- influence ----

std::string influence_text(const Dataset& data, const Dataset& test, const InfluenceOptions&,
                           const InfluenceResult& r) {
  std::string text = heading(data, "") + "\n" + heading(test, "; explained") + "\n\n" + r.conclusion + "\n\n";
  Facts fact(26);
  fact("predictor", predictor_line(r, "of all samples"));
  text += fact.text();
  Table tests({head("test sample", sample(test, 0)), "predicted", "output", "for it", "against it"});
  for (std::size_t k = 0; k < std::min(kMostLines, r.tests.size()); ++k) {
    const Explained& e = r.tests[k];
    tests.add({with_label(e.sample), predicted_text(r.task, e.predicted), short_number(e.output),
               names(e.support, true), names(e.against, true)});
  }
  text += "\npredictions, and the training samples that matter most for them\n" + tests.text("  ") +
          more(r.tests.size(), kMostLines, "the JSON and the run folder");
  Table values({head("training sample", sample(data, 0)), "value", ""});
  for (const Reason& reason : r.best)
    values.add({with_label(reason.sample), short_number(reason.influence), "helps"});
  for (const Reason& reason : r.worst)
    values.add({with_label(reason.sample), short_number(reason.influence), "harms"});
  if (values.rows() > 0) text += "\ntraining samples by their influence on all of them\n" + values.text("  ");
  return text + fmt::format("\n{:.1f} s\n", r.seconds);
}

std::string influence_json(const Dataset& data, const Dataset& test, const InfluenceOptions& options,
                           const InfluenceResult& result, const Next& next) {
  Json json = data_of(data, &test, told(options));
  tell(json, result);
  json["next"] = told(next);
  return json.dump(1);
}

void write_influence(RunFolder& folder, const Dataset& data, const Dataset& test, const ReadOptions& read,
                     const InfluenceOptions& options, const InfluenceResult& r,
                     const std::vector<std::string>& command, const Next& next) {
  folder.write("result.json", influence_json(data, test, options, r, next) + "\n");
  std::string csv = "sample,id,label,value\n";
  for (std::size_t i = 0; i < r.values.size(); ++i) {
    const Sample s = sample(data, static_cast<Index>(i));
    csv += fmt::format("{},{},{},{:.17g}\n", s.record, cell(s.id), cell(s.label), r.values[i]);
  }
  folder.write("values.csv", csv);
  folder.write("manifest.json", manifest("influence", command, told(options), data, read, r.seconds));
  folder.finish();
}

}  // namespace zeroloss
