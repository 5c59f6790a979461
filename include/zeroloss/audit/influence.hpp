#pragma once
#include <string>
#include <vector>

#include "zeroloss/audit/audit.hpp"

/// What every training sample does to predictions of other points: exactly what leaving it out would change.
namespace zeroloss {

struct InfluenceOptions {
  PredictorOptions predictor{};
  Index top = 5;  ///< samples named for and against each prediction, >= 0
};
template <Is<InfluenceOptions> T, class Visitor>
void fields(T& o, const Visitor& visit) {
  fields(o.predictor, visit);
  visit(Field{"top", "Samples named for and against each prediction"}.under("Answer"), o.top);
}

/// Of one test point.
struct Explained {
  Sample sample;
  std::string predicted;             ///< class, or number
  double output = 0;                 ///< what influences add to: classes: the output of `for` less the best
                                     ///< other one's; the number predicted
  std::vector<Reason> support = {};  ///< samples that raise the output most
  std::vector<Reason> against = {};  ///< those that lower it most
};
template <Is<Explained> T, class Visitor>
void fields(T& e, const Visitor& visit) {
  fields(e.sample, visit);
  visit(Field{"predicted", "Class, or number."}, e.predicted);
  visit(
      Field{"output",
            "What the influences are on: the label's output (without labels: the predicted class's) less the "
            "best other one's; regression: the number predicted."},
      e.output);
  visit(Field{"support", "Samples that raise it most."}, e.support);
  visit(Field{"against", "Samples that lower it most."}, e.against);
}

struct InfluenceResult {
  std::string conclusion;
  Task task = Task::none;
  Index n = 0, n_test = 0, d = 0;
  std::string activation, scale;
  std::string image_features;  ///< pixels, patches or both; empty: no images that have patches
  bool mirrored = false;       ///< patches of mirror images too
  double embedding = 0;        ///< share of the embedding that was given in the kernel
  double ridge = 0;
  Index inducing = 0;
  std::optional<double> error{};    ///< of the predictions; nothing without labels
  std::vector<Explained> tests;     ///< in the order of the test points
  std::vector<double> values;       ///< n: what each training sample adds, the mean over all test points
  std::vector<Reason> best, worst;  ///< training samples with the largest values, and the most negative ones
  double seconds = 0;
};
template <Is<InfluenceResult> T, class Visitor>
void fields(T& r, const Visitor& visit) {
  visit(Field{"conclusion", "The answer in a sentence."}, r.conclusion);
  visit(Field{"task", "regression | classification."}, r.task);
  visit(Field{"n", "Training samples."}, r.n);
  visit(Field{"n_test", "Test points."}, r.n_test);
  visit(Field{"d", "Features."}, r.d);
  visit(Field{"activation", "Of the kernel's network half."}, r.activation);
  visit(Field{"scale", "Of the features: columns, common or given."}, r.scale);
  visit(Field{"image_features", "pixels, patches or both; empty: no images of 16 x 16 pixels and more."},
        r.image_features);
  visit(Field{"mirrored", "An image's features are means of its own and its mirror image's."}, r.mirrored);
  visit(Field{"embedding", "Share of the embedding that was given in the kernel: 0, 0.75 or 1."},
        r.embedding);
  visit(Field{"ridge", "Added to the kernel's diagonal."}, r.ridge);
  visit(Field{"inducing", "Points that the predictor is a sum over."}, r.inducing);
  visit(Field{"error", "Fraction misclassified, or relative misfit; null without labels."}, r.error);
  visit(Field{"tests", "Every test point with the samples that matter most for it."}, r.tests);
  visit(
      Field{"values",
            "Of every training sample: its influence, the mean over the test points; regression with labels: "
            "how much smaller it makes the squared error of the test points, in squared deviations."},
      r.values);
  visit(Field{"best", "The training samples with the largest values."}, r.best);
  visit(Field{"worst", "Those with the most negative ones."}, r.worst);
  visit(Field{"seconds"}, r.seconds);
}

/// n^2 + n d multiply-adds a test point and output, besides those of audit(data); 1,024 test points at once.
/// Throws what audit(data, test) throws; test labels may be missing.
InfluenceResult influence(const Dataset& data, const Dataset& test, const InfluenceOptions& options,
                          Progress& progress, const Group& group = {});
InfluenceResult influence(const Dataset& data, const Dataset& test, const InfluenceOptions& options = {});

}  // namespace zeroloss
