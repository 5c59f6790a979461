// audit and influence from end to end, on data whose wrong labels are known.
#include "zeroloss/audit/audit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <numeric>
#include <set>
#include <thread>

#include "audit/similarity.hpp"
#include "support/bounds.hpp"
#include "support/points.hpp"
#include "zeroloss/audit/influence.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss {
namespace {

using test::pack;

Dataset digits(Index n, const std::string& labels = "given") {
  ReadOptions read;
  read.n = n;
  read.labels = labels;
  return read_dataset("digits", read);
}

// y = a smooth function of X, with some numbers replaced.
Dataset numbers(Index n, const std::set<Index>& wrong) {
  Random random(3, Stream::points);
  Dataset data;
  data.name = "numbers";
  data.task = Task::regression;
  data.X.resize(n, 3);
  data.y.resize(n);
  for (Index i = 0; i < n; ++i) {
    for (Index k = 0; k < 3; ++k) data.X(i, k) = random.normal();
    data.y(i) = 1000 + 10 * std::sin(data.X(i, 0)) + 5 * data.X(i, 1) + 0.1 * random.normal();
    data.records.push_back(i);
  }
  for (const Index i : wrong) data.y(i) += (data.y(i) > 1000 ? -1 : 1) * (12 + 6 * random.uniform());
  return data;
}

double average_precision(const std::vector<double>& scores, const std::vector<bool>& wrong) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a] < scores[b]; });
  double found = 0, sum = 0;
  for (std::size_t k = 0; k < order.size(); ++k)
    if (wrong[order[k]]) sum += ++found / static_cast<double>(k + 1);
  return sum / found;
}

TEST(Audit, FindsTheWrongLabelsOfDigits) {
  const Dataset clean = digits(600), data = digits(600, "noise:0.1");
  std::vector<bool> wrong;
  double count = 0;
  for (Index i = 0; i < 600; ++i) {
    wrong.push_back(clean.y(i) != data.y(i));
    count += wrong.back() ? 1 : 0;
  }
  const AuditResult r = audit(data);
  EXPECT_GT(average_precision(r.scores, wrong), 0.98);
  EXPECT_LE(r.noise_rate.low, count / 600);
  EXPECT_GE(r.noise_rate.high, count / 600);
  EXPECT_NEAR(static_cast<double>(r.issues.size()), count, 6);
  for (const double score : r.scores) EXPECT_TRUE(score >= 0 && score <= 1);
  for (std::size_t k = 0; k < r.issues.size(); ++k) {
    const LabelIssue& issue = r.issues[k];
    if (k > 0) {
      EXPECT_GE(issue.score, r.issues[k - 1].score);
    }
    EXPECT_EQ(issue.score, r.scores[static_cast<std::size_t>(issue.position)]);
    EXPECT_NE(issue.predicted, issue.sample.label);
    ASSERT_LE(issue.against.size(), 3U);
    for (const Reason& reason : issue.against) {
      EXPECT_GT(reason.influence, 0);
      EXPECT_NE(reason.sample.record, issue.sample.record) << "no sample speaks for itself";
      EXPECT_EQ(reason.sample.label, issue.predicted);
    }
    for (const Reason& reason : issue.support) {
      EXPECT_LT(reason.influence, 0);
      EXPECT_EQ(reason.sample.label, issue.sample.label);
    }
  }
  double mistaken = 0;
  for (const Confusion& c : r.confusions) {
    EXPECT_NE(c.given, c.meant);
    EXPECT_LE(c.samples.low, c.samples.value);
    EXPECT_GE(c.samples.high, c.samples.value);
    mistaken += c.samples.value;
  }
  // sums over 600 samples, of parts of 1, and over 90 pairs
  EXPECT_LE(mistaken / 600, r.noise_rate.value + test::gamma_of(600 + 90 + 20));
}

TEST(Audit, FindsTheWrongNumbersOfARegression) {
  const std::set<Index> planted{5, 50, 77, 123, 180};
  const Dataset data = numbers(200, planted);
  const AuditResult r = audit(data);
  std::vector<bool> wrong(200);
  for (const Index i : planted) wrong[static_cast<std::size_t>(i)] = true;
  EXPECT_GT(average_precision(r.scores, wrong), 0.9);
  EXPECT_TRUE(r.confidence.empty());
  EXPECT_LE(r.noise_rate.low, 0.025);
  EXPECT_GE(r.noise_rate.high, 0.025);
  ASSERT_FALSE(r.issues.empty());
  for (const LabelIssue& issue : r.issues) {
    const double predicted = std::stod(issue.predicted), label = data.y(issue.position);
    for (const Reason& reason : issue.against)
      EXPECT_EQ(data.y(reason.sample.record) > label, predicted > label) << issue.position;
  }
}

TEST(Audit, PlaceholdersAreNamed) {
  Dataset data = numbers(200, {});
  for (const Index i : {3, 50, 77, 140}) data.y(i) = 900;  // others are 970 to 1030
  const AuditResult r = audit(data);
  EXPECT_NE(r.conclusion.find("4 of the targets are 900, and all of these look wrong"), std::string::npos)
      << r.conclusion;
  EXPECT_TRUE(audit(numbers(200, {3})).caveats.empty());
}

TEST(Audit, ShiftAndUnitOfNumbersDoNotMatter) {
  const Dataset data = numbers(120, {7, 70});
  Dataset other = data;
  other.y = data.y.array() * 0x1p-30;
  EXPECT_EQ(audit(data).scores, audit(other).scores);
}

TEST(Audit, AnotherSetIsJudgedByThisOne) {
  const Dataset all = digits(800);
  Dataset train = digits(500), test = digits(800, "noise:0.1");
  const auto rest = Eigen::seq(500, 799);
  test.X = RowMatrix(test.X(rest, Eigen::all));
  test.y = Vector(test.y(rest));
  test.records = std::vector<Index>(test.records.begin() + 500, test.records.end());
  test.X.row(3) = train.X.row(17);  // leakage
  std::vector<bool> wrong;
  for (Index i = 0; i < 300; ++i) wrong.push_back(test.y(i) != all.y(500 + i));
  Progress silent;
  const AuditResult r = audit(train, test, {}, silent);
  EXPECT_EQ(r.n, 300);
  EXPECT_GT(average_precision(r.scores, wrong), 0.85);
  ASSERT_FALSE(r.twins.empty());
  EXPECT_EQ(r.twins.front().distance, 0);
  EXPECT_EQ(r.twins.front().first.record, 503);
  EXPECT_EQ(r.twins.front().second.record, 17);
}

TEST(Audit, NamesTwinsAndOutliers) {
  Dataset data = numbers(150, {});
  data.X.row(40) = data.X.row(9);
  data.X.row(90) = data.X.row(9);
  data.y(40) = data.y(9);
  data.X.row(77).setConstant(40);
  const AuditResult r = audit(data);
  ASSERT_GE(r.twins.size(), 2U);
  EXPECT_EQ(r.twins[0].distance, 0);
  EXPECT_EQ(r.twins[1].distance, 0);
  ASSERT_FALSE(r.outliers.empty());
  EXPECT_EQ(r.outliers.front().sample.record, 77);
}

// Beside it all others are equal after rounding.
TEST(Audit, EqualRowsAreFoundBesideAnOutlierOfAnyLength) {
  Dataset data = numbers(60, {});
  data.X.row(30) = data.X.row(1);
  data.X.row(45) = data.X.row(1);
  data.X.row(59).setConstant(1e20);
  data.X(59, 1) = -1e20;
  const AuditResult r = audit(data);
  ASSERT_EQ(r.twins.size(), 2U);
  EXPECT_EQ(r.twins[0].first.record, 1);
  EXPECT_EQ(r.twins[0].second.record, 30);
  EXPECT_EQ(r.twins[1].first.record, 45);
  EXPECT_EQ(r.twins[1].second.record, 1);
  EXPECT_EQ(r.twins[1].distance, 0);
  EXPECT_FALSE(r.twins[0].same_label);
  Progress silent;
  const Dataset test = numbers(3, {});  // whose rows are the first of `data`
  const AuditResult of_test = audit(data, test, {}, silent);
  ASSERT_EQ(of_test.twins.size(), 3U);
  EXPECT_EQ(of_test.twins[1].second.record, 1);
}

TEST(Audit, InducingPointsSayTheSame) {
  const Dataset data = digits(700, "noise:0.1");
  AuditOptions options;
  options.predictor.inducing = 300;
  const AuditResult some = audit(data, options), all = audit(data);
  EXPECT_EQ(some.inducing, 300);
  std::set<Index> a, b;
  for (const LabelIssue& issue : some.issues) a.insert(issue.position);
  for (const LabelIssue& issue : all.issues) b.insert(issue.position);
  std::vector<Index> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  EXPECT_GT(static_cast<double>(both.size()), 0.85 * static_cast<double>(b.size()));
}

// Images of gratings, whose class is their direction: their phase is random, so that pixels say nothing.
Dataset gratings(Index n, double wrong, std::vector<bool>& is_wrong) {
  constexpr Index kPixels = 20;
  Random random(4, Stream::points);
  Dataset data;
  data.name = "gratings";
  data.task = Task::classification;
  data.class_names = {"a", "b", "c"};
  data.picture = {kPixels, kPixels, 1};
  data.X.resize(n, kPixels * kPixels);
  data.y.resize(n);
  for (Index i = 0; i < n; ++i) {
    const auto c = static_cast<double>(random.below(3));
    const double angle = 1.05 * c + 0.2 * random.normal(), phase = 6.3 * random.uniform();
    const double frequency = 0.8 + 0.9 * random.uniform();
    for (Index k = 0; k < data.X.cols(); ++k)
      data.X(i, k) = 128 +
                     60 * std::sin((std::cos(angle) * static_cast<double>(k / kPixels) +
                                    std::sin(angle) * static_cast<double>(k % kPixels)) *
                                       frequency +
                                   phase) +
                     20 * random.normal();
    is_wrong.push_back(random.uniform() < wrong);
    data.y(i) = is_wrong.back() ? std::fmod(c + 1 + static_cast<double>(random.below(2)), 3) : c;
    data.records.push_back(i);
  }
  data.X = data.X.cwiseMax(0).cwiseMin(255);
  return data;
}

TEST(Audit, ImagesAreJudgedByTheirPatches) {
  std::vector<bool> wrong;
  const Dataset data = gratings(300, 0.1, wrong);
  AuditOptions pixels, both;
  pixels.predictor.image_features = "pixels";
  both.predictor.image_features = "both";
  const AuditResult by_itself = audit(data), by_pixels = audit(data, pixels), by_both = audit(data, both);
  EXPECT_NE(by_itself.image_features, "pixels");
  EXPECT_FALSE(by_itself.mirrored) << "a mirror image is of another class";
  EXPECT_EQ(by_pixels.image_features, "pixels");
  EXPECT_EQ(by_both.image_features, "both");
  EXPECT_LT(by_itself.error + 0.1, by_pixels.error);
  EXPECT_GT(average_precision(by_itself.scores, wrong), average_precision(by_pixels.scores, wrong) + 0.1);

  // The patches are those of the training images, for others too.
  std::vector<bool> wrong_too;
  Dataset others = gratings(330, 0.1, wrong_too);
  const auto rest = Eigen::seq(300, 329);
  others.X = RowMatrix(others.X(rest, Eigen::all));
  others.y = Vector(others.y(rest));
  others.records.resize(30);
  others.X.row(3) = data.X.row(17).array() + 0.5;
  Progress silent;
  const AuditResult r = audit(data, others, {}, silent);
  EXPECT_LT(r.error, 0.3);
  ASSERT_FALSE(r.twins.empty());
  EXPECT_EQ(r.twins.front().first.record, 3);
  EXPECT_EQ(r.twins.front().second.record, 17);
  others.picture.together = true;
  EXPECT_THROW(audit(data, others, {}, silent), DataError);
}

TEST(Audit, OnlyImagesHavePatches) {
  AuditOptions options;
  options.predictor.image_features = "patches";
  EXPECT_THROW(audit(digits(100), options), DataError) << "8 x 8 pixels are too few";
  EXPECT_EQ(audit(digits(100)).image_features, "");
  options.predictor.image_features = "colours";
  EXPECT_THROW(audit(digits(100), options), std::invalid_argument);
  std::vector<bool> wrong;
  Dataset blank = gratings(40, 0, wrong);
  for (Index i = 0; i < 40; ++i) blank.X.row(i).setConstant(static_cast<double>(i));
  options.predictor.image_features = "patches";
  EXPECT_THROW(audit(blank, options), DataError) << "without contrast";
  EXPECT_EQ(audit(blank).image_features, "pixels");
}

TEST(Audit, NoBitDependsOnTheNumberOfThreads) {
  const Dataset data = digits(300, "noise:0.2");
  const int before = set_thread_count(1);
  const AuditResult one = audit(data);
  set_thread_count(2);
  const AuditResult two = audit(data);
  set_thread_count(before);
  EXPECT_EQ(one.scores, two.scores);
  EXPECT_EQ(one.ridge, two.ridge);
}

TEST(Audit, SmallAndOddData) {
  for (const Index n : {4, 5, 9}) {
    Dataset data = numbers(n, {});
    EXPECT_EQ(audit(data).scores.size(), static_cast<std::size_t>(n));
    data.X.setConstant(3);  // all points equal
    EXPECT_EQ(audit(data).scores.size(), static_cast<std::size_t>(n));
    data.X.setRandom();
    data.X *= 1e300;
    EXPECT_EQ(audit(data).scores.size(), static_cast<std::size_t>(n));
  }
  Dataset data = digits(40);
  data.y.setZero();
  data.y(0) = 1;  // a class of one sample, eight of none
  const AuditResult r = audit(data);
  EXPECT_EQ(r.scores.size(), 40U);
  for (const double score : r.scores) EXPECT_TRUE(std::isfinite(score));
}

// What the features say nothing of is not judged: neither numbers, nor a class that is never predicted.
TEST(Audit, SaysWhatCannotBeJudged) {
  Random random(9, Stream::noise);
  Dataset data = numbers(150, {});
  for (Index i = 0; i < 150; ++i) data.y(i) = random.uniform();
  AuditResult r = audit(data);
  EXPECT_TRUE(r.issues.empty());
  EXPECT_EQ(r.caveats.size(), 1U);
  EXPECT_EQ(r.not_judged, 150);
  EXPECT_EQ(r.conclusion.find("No label of 150 samples can be judged."), 0U) << r.conclusion;
  EXPECT_EQ(r.noise_rate.high, 1);
  for (Index i = 0; i < 150; ++i) data.y(i) = random.normal();
  EXPECT_TRUE(audit(data).issues.empty());

  data.task = Task::classification;
  data.class_names = {"no", "yes"};
  for (Index i = 0; i < 150; ++i) data.y(i) = i % 12 == 0 ? 1 : 0;
  r = audit(data);
  EXPECT_TRUE(r.issues.empty());
  ASSERT_FALSE(r.caveats.empty());
  EXPECT_NE(r.conclusion.find("yes"), std::string::npos) << r.conclusion;
  EXPECT_EQ(r.not_judged, 13);
  EXPECT_NE(r.conclusion.find(" 137 samples"), std::string::npos) << r.conclusion;
  EXPECT_NE(r.conclusion.find(" 13 labels cannot be judged."), std::string::npos) << r.conclusion;
}

// Prices: what is usual for large ones is not wrong.
TEST(Audit, SkewedNumbersAreNotAccused) {
  Random random(4, Stream::noise);
  Dataset data = numbers(300, {});
  for (Index i = 0; i < 300; ++i) data.y(i) = std::exp(data.X(i, 0) + data.X(i, 1) + 0.2 * random.normal());
  EXPECT_LE(audit(data).issues.size(), 3U);
}

// Four terabytes, said at once.
TEST(Audit, SaysWhatTooManyClassesTake) {
  Dataset data = numbers(120'000, {});
  data.task = Task::classification;
  for (Index k = 0; k < 60'000; ++k) data.class_names.push_back(std::to_string(k));
  for (Index i = 0; i < data.n(); ++i) data.y(i) = static_cast<double>(i / 2);
  try {
    audit(data);
    ADD_FAILURE();
  } catch (const ResourceError& error) {
    EXPECT_NE(std::string(error.what()).find("60,000 classes"), std::string::npos) << error.what();
  }
}

TEST(Audit, CanBeStoppedAtAnyTime) {
  const Dataset data = digits(600, "noise:0.1");
  const auto seconds = [&](double after) {
    std::atomic<bool> cancel{false};
    Progress progress({}, &cancel, 0);
    std::thread stop([&] {
      std::this_thread::sleep_for(std::chrono::duration<double>(after));
      cancel = true;
    });
    const auto began = std::chrono::steady_clock::now();
    try {
      audit(data, {}, progress);
    } catch (const Interrupted&) {
    }
    stop.join();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  const double whole = seconds(0) < 1 ? audit(data).seconds : 0;
  for (int k = 1; k <= 12; ++k) seconds(whole * k / 12);
}

TEST(Audit, CanBeStoppedWhileItLooksAtLabels) {
  const Dataset data = digits(600, "noise:0.1");
  std::atomic<bool> cancel{false};
  std::set<std::string> seen;
  Progress progress(
      [&](const ProgressReport& report) {
        seen.insert(report.stage);
        if (report.stage == "labels") cancel = true;
      },
      &cancel, 0);
  EXPECT_THROW(audit(data, {}, progress), Interrupted);
  EXPECT_TRUE(seen.contains("labels"));
  EXPECT_FALSE(seen.contains("reasons"));
}

TEST(Audit, AFewSamplesOfAnotherSetAreJudgedByWhatIsUsual) {
  const Dataset train = numbers(200, {});
  Dataset test = numbers(3, {});
  test.y(1) = 1030;
  Progress silent;
  const AuditResult r = audit(train, test, {}, silent);
  ASSERT_EQ(r.issues.size(), 1U);
  EXPECT_EQ(r.issues.front().position, 1);
  EXPECT_EQ(std::stod(r.issues.front().predicted), std::stod(r.predicted[1])) << "all digits";
}

TEST(Audit, SaysWhatIsWrong) {
  Dataset data = numbers(3, {});
  EXPECT_THROW(audit(data), DataError);
  data = numbers(20, {});
  data.y.setConstant(2);
  EXPECT_THROW(audit(data), DataError);
  data.y(3) = 3;  // two values
  EXPECT_THROW(audit(data), DataError);
  data = numbers(20, {});
  data.X(3, 1) = NAN;
  EXPECT_THROW(audit(data), DataError);
  data = numbers(20, {});
  data.task = Task::none;
  data.y.resize(0);
  EXPECT_THROW(audit(data), DataError);
  AuditOptions options;
  options.predictor.ridge = 0;
  EXPECT_THROW(audit(numbers(20, {}), options), std::invalid_argument);
  options = {};
  options.predictor.scale = "rows";
  EXPECT_THROW(audit(numbers(20, {}), options), std::invalid_argument);
  options = {};
  options.predictor.activation = "x";
  EXPECT_THROW(audit(numbers(20, {}), options), std::invalid_argument);
  options = {};
  options.bootstrap = 3;
  EXPECT_THROW(audit(numbers(20, {}), options), std::invalid_argument);
  Progress silent;
  Dataset other = numbers(20, {});
  other.X.conservativeResize(20, 2);
  EXPECT_THROW(audit(numbers(20, {}), other, {}, silent), DataError);
  EXPECT_THROW(influence(numbers(20, {}), other), DataError);
}

// f and its influences against training anew without each sample; scales, ranks, middle and unit stay.
class TrainedAnew {
 public:
  TrainedAnew(const Dataset& data, const Dataset& test, double ridge)
      : similarity_({data.X, {}}, "columns", "relu", 0),
        A_(similarity_.features({data.X, {}})),
        K_(similarities(similarity_, A_, A_, nullptr)),
        B_(similarities(similarity_, similarity_.features({test.X, {}}), A_, nullptr)),
        ridge_(ridge) {}

  // Outputs of the test points for targets Y, t x c, without sample j (-1: with all).
  Matrix outputs(const Matrix& Y, Index j) const {
    std::vector<Index> rest;
    for (Index i = 0; i < Y.rows(); ++i)
      if (i != j) rest.push_back(i);
    Packed<double> K = pack(K_(rest, rest));
    shift_diagonal(K, ridge_);
    Progress silent;
    EXPECT_TRUE(factor(K, silent));
    Matrix coefficients = Y(rest, Eigen::all);
    solve(K, coefficients);
    return B_(Eigen::all, rest) * coefficients;
  }

  // A bound of the rounding of such outputs, here and in closed form: entries of K are off by 30 u and a sum
  // of d terms, and a left-out sample is one output more, of itself.
  double rounding(const Matrix& Y) const {
    const auto n = static_cast<double>(Y.rows()), d = static_cast<double>(A_.unit.cols());
    Packed<double> K = pack(K_);
    shift_diagonal(K, ridge_);
    Progress silent;
    EXPECT_TRUE(factor(K, silent));
    Matrix coefficients = Y, weights = B_.transpose();
    solve(K, coefficients);
    solve(K, weights);
    const double error = test::cholesky_error(n, 1 + ridge_) + test::gamma_of(d + 30);
    const double size = 1 + weights.colwise().lpNorm<1>().maxCoeff();
    return 4 * error * size * size * coefficients.colwise().lpNorm<1>().maxCoeff();
  }

 private:
  internal::Similarity similarity_;
  internal::Features A_;
  RowMatrix K_, B_;
  double ridge_;
};

TEST(Influence, OfNumbersIsWhatTrainingAnewChanges) {
  const Dataset data = numbers(40, {3, 30}), test = numbers(10, {});
  InfluenceOptions options;
  options.predictor = {.activation = "relu", .scale = "columns", .ridge = 0.1};
  options.top = 40;
  const InfluenceResult r = influence(data, test, options);
  const double mean = data.y.mean(), unit = std::sqrt((data.y.array() - mean).square().mean());
  const TrainedAnew anew(data, test, 0.1);
  const Matrix Y = (data.y.array() - mean) / unit, y = (test.y.array() - mean) / unit;
  const Matrix f = anew.outputs(Y, -1);
  // the mean is a sum of 40 terms, and moves all targets
  const double shift = test::gamma_of(42) * data.y.cwiseAbs().maxCoeff();
  const double off = anew.rounding(Y) + shift / unit * (1 + std::sqrt(40));
  EXPECT_NEAR(*r.error, (y - f).norm() / std::sqrt(10), off);
  for (Index j = 0; j < 40; ++j) {
    const Matrix g = anew.outputs(Y, j);
    const double size = (y - g).norm() + (y - f).norm();
    EXPECT_NEAR(r.values[static_cast<std::size_t>(j)], ((y - g).squaredNorm() - (y - f).squaredNorm()) / 10,
                2 * size * off / std::sqrt(10) + test::gamma_of(12) * size * size / 10);
    for (Index i = 0; i < 10; ++i) {
      const Explained& e = r.tests[static_cast<std::size_t>(i)];
      EXPECT_NEAR(e.output, mean + unit * f(i), unit * off + shift);
      EXPECT_EQ(e.support.size() + e.against.size(), 40U);
      for (const auto* reasons : {&e.support, &e.against})
        for (const Reason& reason : *reasons)
          if (reason.sample.record == j) {
            EXPECT_NEAR(reason.influence, unit * (f(i) - g(i)), 2 * unit * off);
          }
    }
  }
}

// All samples of a data set, and so of every one on every test point.
void check_digits(Index n, Index t) {
  const Dataset data = digits(n);
  Dataset test = digits(n + t);
  const auto rest = Eigen::seq(n, n + t - 1);
  test.X = RowMatrix(test.X(rest, Eigen::all));
  test.y = Vector(test.y(rest));
  test.records = std::vector<Index>(test.records.begin() + n, test.records.end());
  InfluenceOptions options;
  options.predictor = {.activation = "relu", .scale = "columns", .ridge = 0.1};
  const InfluenceResult r = influence(data, test, options);
  Matrix Y = Matrix::Zero(n, 10);
  for (Index i = 0; i < n; ++i) Y(i, static_cast<Index>(data.y(i))) = 1;
  const Eigen::RowVectorXd shares = Y.colwise().mean();
  Y.rowwise() -= shares;
  const TrainedAnew anew(data, test, 0.1);
  const Matrix f = anew.outputs(Y, -1).rowwise() + shares;
  const double off = 4 * anew.rounding(Y);  // of the mean of four outputs
  for (Index j = 0; j < n; ++j) {
    const Matrix g = anew.outputs(Y, j).rowwise() + shares;
    double value = 0;
    for (Index i = 0; i < t; ++i) {
      const auto label = static_cast<Index>(test.y(i));
      Index other = label == 0 ? 1 : 0;
      for (Index k = 0; k < 10; ++k)
        if (k != label && f(i, k) > f(i, other)) other = k;
      value += (f(i, label) - f(i, other)) - (g(i, label) - g(i, other));
    }
    ASSERT_NEAR(r.values[static_cast<std::size_t>(j)], value / static_cast<double>(t), off) << j;
  }
}

TEST(Influence, OfClassesIsWhatTrainingAnewChanges) { check_digits(120, 30); }

TEST(Influence, SlowOfAllDigitsIsWhatTrainingAnewChanges) { check_digits(1700, 97); }

}  // namespace
}  // namespace zeroloss
