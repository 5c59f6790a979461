#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/base/progress.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/processes/process_group.hpp"

/// Which labels are wrong: what a kernel predictor says of every sample that it was not shown (theory 14).
namespace zeroloss {

/// Kernel ridge regression of the labels.
struct PredictorOptions {
  std::string activation = "auto";      ///< of the kernel's network half: a name, or auto: by leave-one-out
  std::string scale = "auto";           ///< columns, common, given, or auto: by leave-one-out
  std::optional<double> ridge{};        ///< > 0; nothing: by leave-one-out
  std::string image_features = "auto";  ///< pixels, patches, both, or auto: by leave-one-out
  Index inducing = 0;                   ///< points that it is a sum over; 0: all where their kernel fits
  std::uint64_t seed = 0;               ///< of what is drawn, [0, 2^53)
};
template <Is<PredictorOptions> T, class Visitor>
void fields(T& o, const Visitor& visit) {
  visit(Field{"activation", "Of the kernel's network half: a name, or auto: by leave-one-out"}.under(
            "Predictor"),
        o.activation);
  visit(Field{"scale",
              "columns (each to deviation 1, and its ranks), common (one number for all), given (as "
              "`standardize` made them), or auto: columns or common by leave-one-out"}
            .of("auto|columns|common|given")
            .under("Predictor"),
        o.scale);
  visit(Field{"ridge", "Added to the kernel's diagonal, where k(x, x) = 1 [by leave-one-out]"}
            .taking("NUMBER")
            .under("Predictor"),
        o.ridge);
  visit(Field{"image_features",
              "Of images of 16 x 16 pixels and more: pixels, patches (how much of some typical patches is "
              "where), both "
              "(three quarters patches), or auto: by leave-one-out"}
            .of("auto|pixels|patches|both")
            .under("Predictor"),
        o.image_features);
  visit(Field{"inducing",
              "Points that the predictor is a sum over; 0 = all where their kernel fits, at most 60,000"}
            .under("Predictor"),
        o.inducing);
  visit(Field{"seed", "Of what is drawn: an integer from 0 to 2^53 - 1"}, o.seed);
}

/// What people found of samples that draw_samples() drew.
struct CheckedSamples {
  std::vector<Index> positions{};  ///< in the data set, ascending; none: nobody looked
  std::vector<bool> wrong{};       ///< of each, whether its label is
  std::uint64_t seed = 0;          ///< of the draw
};

/// Positions of `count` of n samples, each set of them as likely as another, ascending. 0 <= count <= n.
std::vector<Index> draw_samples(Index n, Index count, std::uint64_t seed);

struct AuditOptions {
  PredictorOptions predictor{};
  Index reasons = 3;                  ///< samples named for and against each label that looks wrong, >= 0
  Index bootstrap = 100;              ///< draws behind the intervals, fewer for many samples; >= 20
  Index draw = 0;                     ///< samples to draw, for people to look at, >= 0
  std::optional<double> guarantee{};  ///< names labels of which this share is right at most, in (0, 1)
  CheckedSamples checked{};           ///< of another draw, of the data that are judged
  std::vector<Index> accepted{};      ///< positions whose labels people left as they are: not named again
};
template <Is<AuditOptions> T, class Visitor>
void fields(T& o, const Visitor& visit) {
  fields(o.predictor, visit);
  visit(Field{"reasons", "Samples named for and against each label that looks wrong"}.under("Answer"),
        o.reasons);
  visit(Field{"bootstrap", "Draws behind the intervals, fewer for many samples"}.under("Answer"),
        o.bootstrap);
  visit(Field{"draw", "Samples to draw at random, for people to look at: drawn.csv and the page have them"}
            .under("Checked samples"),
        o.draw);
  visit(
      Field{"guarantee",
            "Name labels of which at most this share is right, in expectation; needs checked samples [none]"}
          .taking("SHARE")
          .under("Checked samples"),
      o.guarantee);
}

/// A training sample and what it does to a prediction: of audit its share, of influence what leaving it out
/// would take away.
struct Reason {
  Sample sample;
  double influence = 0;
};
template <Is<Reason> T, class Visitor>
void fields(T& r, const Visitor& visit) {
  fields(r.sample, visit);
  visit(
      Field{"influence",
            "audit: its share of the predicted class's output less the label's, or of how far the predicted "
            "number is from the label; influence: what leaving it out would take away."},
      r.influence);
}

/// A label that is worth a look.
struct LabelIssue {
  Sample sample;
  Index position = 0;                     ///< in the data set
  std::string predicted;                  ///< class, or the number predicted
  double score = 0;                       ///< probability that the label is right
  std::optional<double> confidence = {};  ///< as AuditResult::confidence
  std::vector<Reason> against =
      {};  ///< of samples with a positive weight those that speak most for what is predicted
  std::vector<Reason> support = {};  ///< and those that speak most for the label
};
template <Is<LabelIssue> T, class Visitor>
void fields(T& i, const Visitor& visit) {
  fields(i.sample, visit);
  visit(Field{"position", "In the data set, from 0."}, i.position);
  visit(Field{"predicted", "Class, or the number predicted."}, i.predicted);
  visit(Field{"score", "Probability that the label is right."}, i.score);
  visit(Field{"confidence", "How often labels agree with predictions like this one; null: regression."},
        i.confidence);
  visit(Field{"against", "Samples that speak most for what is predicted."}, i.against);
  visit(Field{"support", "Samples that speak most for the label."}, i.support);
}

/// An estimate with its 95 % interval.
struct Estimate {
  double value = 0, low = 0, high = 0;
};
template <Is<Estimate> T, class Visitor>
void fields(T& e, const Visitor& visit) {
  visit(Field{"value"}, e.value);
  visit(Field{"low", "Of the 95 % interval."}, e.low);
  visit(Field{"high", "Of the 95 % interval."}, e.high);
}

/// How many samples of one class are labelled as another.
struct Confusion {
  std::string given, meant;
  Estimate samples;
};
template <Is<Confusion> T, class Visitor>
void fields(T& c, const Visitor& visit) {
  visit(Field{"given", "The label."}, c.given);
  visit(Field{"meant", "The class."}, c.meant);
  fields(c.samples, visit);
}

/// Two samples that are next to equal.
struct Twins {
  Sample first, second;
  double distance = 0;  ///< 0: equal
  bool same_label = true;
};
template <Is<Twins> T, class Visitor>
void fields(T& t, const Visitor& visit) {
  visit(Field{"first", "A sample."}, t.first);
  visit(Field{"second", "The one next to it; of the training data where these are others."}, t.second);
  visit(
      Field{"distance",
            "Mean difference of a feature, in standard deviations; where patches or an embedding count, the "
            "distance of these as points of length 1; 0: equal."},
      t.distance);
  visit(Field{"same_label", "Their labels agree."}, t.same_label);
}

/// A sample that is far from every other one.
struct Outlier {
  Sample sample;
  double distance = 0;  ///< to the nearest
};
template <Is<Outlier> T, class Visitor>
void fields(T& o, const Visitor& visit) {
  fields(o.sample, visit);
  visit(Field{"distance", "To the nearest sample, as for `twins`."}, o.distance);
}

struct AuditResult {
  std::string conclusion;  ///< the answer in a sentence or two
  Task task = Task::none;
  Index n = 0, d = 0, classes = 0;
  std::string activation, scale;  ///< that were taken
  std::string image_features;     ///< pixels, patches or both; empty: no images that have patches
  bool mirrored = false;          ///< patches of mirror images too
  double embedding = 0;           ///< share of the embedding that was given in the kernel
  double probabilities = 0;       ///< factor of the logarithms of those that were given, beside the outputs
  double ridge = 0;
  Index inducing = 0;  ///< points that the predictor is a sum over; n: all
  double error = 0;    ///< fraction of predictions that disagree with the label; regression: relative misfit
  std::vector<double> scores;          ///< n: probability that the label is right
  std::vector<std::string> predicted;  ///< n classes or numbers, each without its own sample
  std::vector<double> confidence;      ///< n: how often labels agree with such a prediction; classification
  /// Worst first, another class being predicted: as many as are expected to be wrong, and all with score <
  /// 1/2; regression: these. With a guarantee the list that it is about, whatever is predicted.
  std::vector<LabelIssue> issues;
  Estimate noise_rate;                ///< fraction of wrong labels
  std::vector<Confusion> confusions;  ///< most first: half a sample or more is expected
  std::vector<Twins> twins;           ///< nearest first
  std::vector<Outlier> outliers;      ///< farthest first
  std::vector<Sample> drawn;          ///< to look at, if that was asked
  Index accepted = 0;                 ///< labels that people had kept, which are not named
  Index reasoned = 0;                 ///< issues, from the first on, that have samples for and against them
  Index checked = 0, checked_wrong = 0;  ///< samples that people had looked at, and wrong labels among them
  std::optional<double> guarantee{};     ///< share of `issues` that is right at most, in expectation
  Index named = 0;                       ///< labels of that list, with those that were accepted
  Index needed =
      0;  ///< checked right labels below which there is no such list, 1/guarantee - 1; 0: not asked
  Index enough = 0;  ///< checked samples, those or some doublings of them, by which a list can be expected
  double expected_issues = 0;        ///< how many labels it may have then, on average
  Index not_judged = 0;              ///< labels of which nothing is said, right or wrong; see caveats
  std::vector<std::string> caveats;  ///< what these data do not tell, a sentence each
  double seconds = 0;
};
template <Is<AuditResult> T, class Visitor>
void fields(T& r, const Visitor& visit) {
  visit(Field{"conclusion", "The answer in a sentence or two."}, r.conclusion);
  visit(Field{"task", "regression | classification."}, r.task);
  visit(Field{"n", "Samples."}, r.n);
  visit(Field{"d", "Features."}, r.d);
  visit(Field{"classes", "Classes; 0: regression."}, r.classes);
  visit(Field{"activation", "Of the kernel's network half."}, r.activation);
  visit(Field{"scale", "Of the features: columns, common or given."}, r.scale);
  visit(Field{"image_features", "pixels, patches or both; empty: no images of 16 x 16 pixels and more."},
        r.image_features);
  visit(Field{"mirrored", "An image's features are means of its own and its mirror image's."}, r.mirrored);
  visit(Field{"embedding", "Share of the embedding that was given in the kernel: 0, 0.75 or 1."},
        r.embedding);
  visit(Field{"probabilities",
              "Factor of the logarithms of the probabilities that were given; 0: they say nothing more."},
        r.probabilities);
  visit(Field{"ridge", "Added to the kernel's diagonal."}, r.ridge);
  visit(Field{"inducing", "Points that the predictor is a sum over."}, r.inducing);
  visit(Field{"error",
              "Fraction of leave-one-out predictions that disagree with the label; regression: relative "
              "misfit."},
        r.error);
  visit(Field{"scores", "Of every sample, in order: probability that its label is right."}, r.scores);
  visit(Field{"predicted", "Of every sample, without it: class or number."}, r.predicted);
  visit(Field{"confidence", "Of every sample: how often labels agree with predictions like its own."},
        r.confidence);
  visit(
      Field{
          "issues",
          "Labels that are worth a look, worst first: as many as are expected to be wrong, and all that are "
          "more likely wrong than right; with a guarantee the list that it is about."},
      r.issues);
  visit(Field{"noise_rate", "Fraction of wrong labels, with its 95 % interval."}, r.noise_rate);
  visit(Field{"confusions", "Samples of one class that are labelled as another, most first."}, r.confusions);
  visit(Field{"twins", "Samples that are next to equal, nearest first."}, r.twins);
  visit(Field{"outliers", "Samples far from every other one, farthest first."}, r.outliers);
  visit(Field{"drawn", "Samples to look at, drawn at random, if that was asked."}, r.drawn);
  visit(Field{"accepted", "Labels that people had looked at and kept, which are not named again."},
        r.accepted);
  visit(Field{"reasoned", "How many of `issues`, from the first on, have samples for and against them."},
        r.reasoned);
  visit(Field{"checked", "Samples that people had looked at."}, r.checked);
  visit(Field{"checked_wrong", "Wrong labels among them."}, r.checked_wrong);
  visit(Field{"guarantee",
              "Of `issues` at most this share is right, in expectation; null: that was not asked."},
        r.guarantee);
  visit(Field{"named", "Labels of that list, with those that were accepted."}, r.named);
  visit(Field{"needed",
              "Checked right labels below which there is no such list: 1/guarantee - 1; 0: not asked."},
        r.needed);
  visit(Field{"enough", "Checked samples, those or some doublings of them, by which a list can be expected."},
        r.enough);
  visit(Field{"expected_issues", "How many labels it may have then, on average."}, r.expected_issues);
  visit(Field{"not_judged", "Labels of which nothing is said, right or wrong: see `caveats`."}, r.not_judged);
  visit(Field{"caveats", "What these data do not tell, a sentence each."}, r.caveats);
  visit(Field{"seconds"}, r.seconds);
}

/// The labels of `data`. Exact leave-one-out of the kernel's ridge regression: n^3 multiply-adds and
/// 4 n^2 + 24 n d bytes (and 24 n p of p features of patches or an embedding) for up to 60,000 points, if
/// that fits; else of the same with `inducing` points, whose m^2 n multiply-adds need 16 m^2 bytes.
/// Activation, scale and ridge are chosen on at most 1,000 points. Throws DataError for data without targets
/// or that cannot be used (fewer than 4 points or 2 classes, no spread of the targets), std::invalid_argument
/// for options out of range, ResourceError, Interrupted.
AuditResult audit(const Dataset& data, const AuditOptions& options, Progress& progress,
                  const Group& group = {});
AuditResult audit(const Dataset& data, const AuditOptions& options = {});

/// The labels of `test`, by the predictor of `data`; twins are pairs of a test and a training sample, and an
/// outlier is far from every training sample. Throws what audit() throws, DataError for test points of
/// another number of features or labels that the data do not have.
AuditResult audit(const Dataset& data, const Dataset& test, const AuditOptions& options, Progress& progress,
                  const Group& group = {});

/// One of several targets of the same points.
struct Target {
  std::string name;
  Task task = Task::none;
  Vector y;                                ///< as Dataset::y
  std::vector<std::string> class_names{};  ///< as Dataset::class_names
  std::vector<Index> records{};            ///< as Dataset::records, which have to be those of the points
};

/// Makes it the target of the data.
void give_target(Dataset& data, const Target& target);

/// Audits each target of the points of `data`, whose own targets are not looked at: one kernel and one
/// factorisation for all, chosen by the errors of all together. Throws what audit() throws,
/// std::invalid_argument for options that are about one target.
std::vector<AuditResult> audit_each(const Dataset& data, const std::vector<Target>& targets,
                                    const AuditOptions& options, Progress& progress, const Group& group = {});

/// What the other processes of a group do for both and for influence(): the kernel of all samples is dealt to
/// them, n^2/P numbers a process.
Services audit_services();

}  // namespace zeroloss
