#include "zeroloss/theory/certify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "support/bounds.hpp"
#include "support/decompositions.hpp"
#include "support/engine_cases.hpp"
#include "support/shared_data.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"

namespace zeroloss {
namespace {

using namespace test;

// Of an eigenvalue that certify finds, and of the one beside which it is put.
double eigenvalue_error(double n, double lambda_max) { return 2 * backward_error(n) * lambda_max; }

// The least that is proved, theory 3: lambda_min less 1e-7 of it and what rounding may cost.
double least_proved(const CertifyResult& found, double lambda_min) {
  return lambda_min * (1 - 2e-7) - 2 * found.rounding_loss -
         eigenvalue_error(static_cast<double>(found.n), found.lambda_max);
}

Dataset dataset(RowMatrix X) {
  Dataset data;
  data.X = std::move(X);
  data.records.resize(static_cast<std::size_t>(data.n()));
  std::iota(data.records.begin(), data.records.end(), Index{0});
  data.name = "test";
  return data;
}

Dataset regression(RowMatrix X) {
  Dataset data = dataset(std::move(X));
  data.task = Task::regression;
  data.y = Vector::LinSpaced(data.n(), -1, 2);
  return data;
}

Dataset classes(RowMatrix X, Index count) {
  Dataset data = dataset(std::move(X));
  data.task = Task::classification;
  data.y.resize(data.n());
  for (Index i = 0; i < data.n(); ++i) data.y(i) = static_cast<double>(i % count);
  for (Index c = 0; c < count; ++c) data.class_names.push_back("class" + std::to_string(c));
  return data;
}

// What certify makes of points takes 20 bytes a number and 400 a point; a kernel is formed of points in
// memory alone, whatever they take.
TEST(Certify, PointsStayInTheirFileWhereTheyDoNotFit) {
  constexpr Index d = 100;
  const auto fit = static_cast<Index>(available_memory_bytes() / (20 * d + 400));
  EXPECT_TRUE(certify_in_place(2 * fit, d, {}));
  EXPECT_TRUE(certify_in_place(2 * fit, d, {.method = "tail"}));
  EXPECT_FALSE(certify_in_place(10, d, {}));
  EXPECT_FALSE(certify_in_place(fit / 4, d, {}));
  EXPECT_FALSE(certify_in_place(2 * fit, d, {.method = "factor"}));
  EXPECT_FALSE(certify_in_place(2 * fit, d, {.all_bounds = true}));
  EXPECT_FALSE(certify_in_place(2 * fit, d, {.spectrum = true}));
}

// Of +1, -1 and of orthogonal points K is diagonal; where a third point is beside one of them it is not.
TEST(Certify, PointsBetweenWhichTheKernelVanishesAreNoPair) {
  for (const RowMatrix& X :
       {RowMatrix{{1}, {1}, {-1}}, RowMatrix{{1, 0}, {0, 1}}, RowMatrix{{2, 1}, {-2, -1}}}) {
    const CertifyResult apart = certify(dataset(X));
    EXPECT_EQ(apart.outcome, "verified") << apart.conclusion;
    EXPECT_EQ(apart.conclusion.find("held down"), std::string::npos) << apart.conclusion;
    EXPECT_EQ(apart.bottleneck_distance, 0);
    EXPECT_FALSE(apart.bottleneck_antipodal);
  }
  const CertifyResult near = certify(dataset(RowMatrix{{1, 0}, {0, 1}, {0.1, 1}}));
  EXPECT_NE(near.conclusion.find("It is held down most by samples"), std::string::npos) << near.conclusion;
  CertifyOptions tail;
  tail.method = "tail";
  EXPECT_EQ(
      certify(dataset(RowMatrix{{1, 0, 0}, {0, 1, 0}, {0, 0.6, 0.8}}), tail).conclusion.find("It is held"),
      std::string::npos)
      << "the kernel may be held down by others";
}

TEST(Certify, DigitsAgreeWithScipy) {
  std::ifstream file(ZEROLOSS_TEST_DIR "/theory/data/certify_oracle.json");
  const auto answers = nlohmann::json::parse(file);
  ASSERT_EQ(answers.size(), 4u);
  for (const auto& expected : answers) {
    const auto data = read_dataset("digits", {.classes = expected["classes"]});
    const auto found = certify(data, {.activation = expected["activation"]});
    const auto n = static_cast<double>(found.n);
    const double error = eigenvalue_error(n, found.lambda_max);
    EXPECT_EQ(found.n, expected["n"]);
    EXPECT_NEAR(found.lambda_min, expected["lambda_min"], error);
    EXPECT_NEAR(found.lambda_max, expected["lambda_max"], error);
    // Of the products of 64 numbers, over the distance, here and there.
    const double of_product = test::gamma_of(64 + 4) + 2.01 * unit_row_error(64);
    EXPECT_NEAR(found.separation, expected["separation"], 3 * of_product / found.separation);
    ASSERT_TRUE(found.lambda_min_verified);
    EXPECT_LE(*found.lambda_min_verified, expected["lambda_min"].get<double>() + error);
    EXPECT_GE(*found.lambda_min_verified, least_proved(found, expected["lambda_min"]));
    ASSERT_EQ(found.complexity.size(), expected["complexity"].size());
    const double relative = solution_error(n, found.lambda_max / found.lambda_min);
    for (std::size_t c = 0; c < found.complexity.size(); ++c)
      EXPECT_NEAR(found.complexity[c], expected["complexity"][c], relative * found.complexity[c]);
    std::vector<Index> suspects;
    for (const auto& s : found.suspects) suspects.push_back(s.sample.record);
    std::sort(suspects.begin(), suspects.end());
    EXPECT_EQ(suspects, expected["suspects"].get<std::vector<Index>>());
    EXPECT_EQ(found.outcome, "verified");
  }
}

// UpperBound 3,000 points the forecast comes from Lanczos; everything else must not notice.
TEST(Certify, SlowMnistLargeAgreesWithItsParts) {
  ZEROLOSS_NEEDS_SHARED("mnist");
  const auto data = read_dataset((shared_data() / "mnist/train-images-idx3-ubyte.gz").string(), {.n = 3500});
  const auto found = certify(data);
  ASSERT_TRUE(found.lambda_min_verified);
  EXPECT_LE(*found.lambda_min_verified, found.lambda_min);
  EXPECT_GE(*found.lambda_min_verified, least_proved(found, found.lambda_min));
  ASSERT_TRUE(found.forecast);
  EXPECT_EQ(found.forecast->method, "Lanczos, 32 probes");
  EXPECT_NEAR(found.forecast->stable_step, 2 / found.lambda_max, 1e-9);  // Lanczos, of few steps
  EXPECT_NEAR(found.forecast->misfit[0], 1, test::gamma_of(8));  // a ratio estimate: exact at the start
  EXPECT_TRUE(std::is_sorted(found.forecast->misfit.rbegin(), found.forecast->misfit.rend()));
}

TEST(Certify, RowLengthsAndOrderDoNotMatter) {
  const RowMatrix X = sphere(60, 20);
  const auto plain = certify(regression(X));
  Dataset moved = regression(X);
  for (Index i = 0; i < 30; ++i) {
    moved.X.row(i).swap(moved.X.row(59 - i));
    std::swap(moved.y(i), moved.y(59 - i));
  }
  for (Index i = 0; i < 60; ++i) moved.X.row(i) *= std::pow(10.0, static_cast<double>(i % 7) * 40 - 120);
  const auto other = certify(moved);
  const double error = 2 * plain.rounding_loss + eigenvalue_error(60, plain.lambda_max);
  const double condition = plain.lambda_max / plain.lambda_min;
  EXPECT_NEAR(other.lambda_min, plain.lambda_min, error);
  EXPECT_NEAR(other.lambda_max, plain.lambda_max, error);
  EXPECT_NEAR(*other.leave_one_out_error, *plain.leave_one_out_error,
              2 * condition * solution_error(60, condition));  // of quotients of a solution's numbers
  EXPECT_NEAR(other.forecast->steps_to_accuracy, plain.forecast->steps_to_accuracy, 1);
  EXPECT_EQ(other.bottleneck[0].sample.record, 59 - plain.bottleneck[0].sample.record);
}

TEST(Certify, EqualPointsWithEqualLabelsAreMerged) {
  Dataset data = classes(sphere(12, 8), 2);
  data.X.row(7) = 4 * data.X.row(1);  // records 1 and 7: both class1
  const auto found = certify(data);
  EXPECT_EQ(found.outcome, "verified");
  EXPECT_EQ(found.n, 12);
  EXPECT_EQ(found.n_distinct, 11);
  ASSERT_EQ(found.duplicates.size(), 1u);
  EXPECT_EQ(found.duplicates[0][1].record, 7);
  EXPECT_TRUE(found.conflicts.empty());
}

TEST(Certify, EqualPointsWithDifferentLabelsAreImpossible) {
  Dataset data = classes(sphere(12, 8), 2);
  data.X.row(6) = 4 * data.X.row(1);
  const auto found = certify(data);
  EXPECT_EQ(found.outcome, "impossible");
  ASSERT_EQ(found.conflicts.size(), 1u);
  EXPECT_EQ(found.conflicts[0][0].label, "class1");
  EXPECT_EQ(found.conflicts[0][1].label, "class0");
  EXPECT_NE(found.conclusion.find("samples 1 (label class1) and 6 (label class0)"), std::string::npos)
      << found.conclusion;
  for (const auto& g : found.guarantees) EXPECT_FALSE(g.holds) << g.theorem;
}

// The double next to 3 x is not parallel to x, so these labels are not impossible: they are hard.
TEST(Certify, NearlyEqualPointsAreDistinct) {
  Dataset data = classes(sphere(12, 8), 2);
  data.X.row(6) = 3 * data.X.row(1);
  const auto found = certify(data);
  EXPECT_EQ(found.outcome, "not verified");
  EXPECT_TRUE(found.conflicts.empty());
  EXPECT_EQ(found.n_distinct, 12);
  ASSERT_TRUE(found.nearest);
  EXPECT_EQ(found.nearest->first.record, 1);
  EXPECT_EQ(found.nearest->second.record, 6);
  EXPECT_NE(found.conclusion.find("samples 1 (label class1) and 6 (label class0) are different points"),
            std::string::npos)
      << found.conclusion;
}

TEST(Certify, AnIdentifierColumnIsNotAnImpossibility) {
  Dataset data = classes(sphere(12, 3), 2);
  for (Index i = 0; i < 12; ++i) data.X(i, 0) = 1e18 + 256.0 * static_cast<double>(i);
  const auto found = certify(data);
  EXPECT_EQ(found.outcome, "not verified") << found.conclusion;
  EXPECT_TRUE(found.conflicts.empty());
  EXPECT_TRUE(found.nearest);
}

// Nanoseconds since 1970: the mean and the differences are known to 105 bits of it, and the verified bound is
// one of the exact points (lambda_min of their kernel is 0.06336876..).
TEST(Certify, CenteringIsExactFarFromTheOrigin) {
  Dataset data;
  data.X = RowMatrix{{5, 9, 8}, {0, 9, 10}, {10, -9, -1}, {2, -5, -3}, {3, 6, 2}, {-7, 4, 8}, {-6, 1, -3}};
  data.X = (RowMatrix::Constant(7, 3, 1.7e18) + 256 * data.X).eval();
  const auto found = certify(data, {.center = true});
  ASSERT_TRUE(found.lambda_min_verified);
  EXPECT_LE(*found.lambda_min_verified, 0.063368759625627183);
  EXPECT_GE(*found.lambda_min_verified, 0.06336875);
}

// Every figure about training is that of all samples: of the kernel with its equal rows.
TEST(Certify, EqualPointsCountAsOftenAsTheyOccur) {
  Dataset distinct = regression(sphere(9, 5));
  Dataset data = distinct;
  const std::vector<Index> rows{0, 1, 2, 3, 4, 5, 6, 7, 8, 2, 2, 5};
  data.X = distinct.X(rows, Eigen::all);
  data.y = distinct.y(rows);
  data.records.clear();
  const auto once = certify(distinct), often = certify(data);
  EXPECT_EQ(often.n_distinct, 9);
  EXPECT_NEAR(often.lambda_min, once.lambda_min, eigenvalue_error(9, once.lambda_max));
  Gram<double> full = [&] {
    Progress progress;
    return gram(data.X, sigma(activation("relu")), progress);
  }();
  const Vector values = eigenvalues(full.K);
  EXPECT_NEAR(often.lambda_max, values(11), eigenvalue_error(12, values(11)));
  EXPECT_NEAR(often.forecast->stable_step, 2 / values(11), eigenvalue_error(12, 2 / values(11)));
  EXPECT_GT(often.norm_X, once.norm_X);
  EXPECT_NEAR(often.norm_X, test::norm2(data.X), 1e-6 * often.norm_X);  // as spectral_norm_bound says
  for (std::size_t k = 0; k < often.guarantees.size(); ++k)
    if (often.guarantees[k].width && once.guarantees[k].width) {
      EXPECT_GT(*often.guarantees[k].width, *once.guarantees[k].width) << often.guarantees[k].theorem;
    }
}

TEST(Certify, AntipodalPairsVanishForEvenDerivativesOnly) {
  Dataset data = classes(sphere(12, 8), 2);
  data.X.row(6) = -data.X.row(1);
  for (const char* phi : {"tanh", "erf", "sigmoid", "quadratic", "sin"}) {
    const auto found = certify(data, {.activation = phi});
    EXPECT_EQ(found.outcome, "zero") << phi;
    EXPECT_EQ(found.lambda_min, 0) << phi;
    EXPECT_FALSE(found.lambda_min_verified) << phi;
    EXPECT_NE(found.reason.find("samples 1 and 6 are antipodal"), std::string::npos) << found.reason;
  }
  for (const char* phi : {"relu", "softplus", "gelu", "silu", "leaky_relu"}) {
    const auto found = certify(data, {.activation = phi});
    EXPECT_EQ(found.outcome, "verified") << phi;
    ASSERT_EQ(found.antipodal.size(), 1u);
    EXPECT_TRUE(found.antipodal[0].antipodal);
  }
}

TEST(Certify, ThreeAntipodalPairsInThePlaneVanishWherePhiPrimeIsConstantPlusOdd) {
  const RowMatrix base = sphere(3, 2);
  RowMatrix X(6, 2), two(4, 2);
  X << base, -base;
  two << base.topRows(2), -base.topRows(2);
  for (const char* phi : {"relu", "softplus", "gelu", "silu", "leaky_relu"}) {
    const auto found = certify(classes(X, 2), {.activation = phi});
    EXPECT_EQ(found.outcome, "zero") << phi;
    EXPECT_NE(found.reason.find("3 antipodal pairs, 1 depend"), std::string::npos) << found.reason;
    for (const auto& g : found.guarantees) EXPECT_FALSE(g.holds) << g.theorem;
    EXPECT_EQ(certify(classes(two, 2), {.activation = phi}).outcome, "verified") << phi;
  }
}

// Antipodal only in exact arithmetic: lengths that differ make the normalised rows differ in the last digit.
TEST(Certify, AntipodesOfOtherLengthAreFound) {
  RowMatrix X(6, 2);
  X << 3, 217, 48, 311, 90, 319, -57, -19 * 217, -5 * 48, -5 * 311, -270, -957;
  const auto found = certify(classes(X, 2));
  EXPECT_EQ(found.outcome, "zero");
  for (const auto& g : found.guarantees) EXPECT_FALSE(g.holds && g.verified) << g.theorem;
}

TEST(Certify, SeparationIsTheLeastOfManyNearPairs) {
  RowMatrix X(80, 5);
  const RowMatrix base = sphere(40, 5);
  double least = 1;
  for (Index i = 0; i < 40; ++i) {
    const double distance = 1e-14 * std::pow(10.0, 5.0 * static_cast<double>((i * 17) % 40) / 39);
    X.row(2 * i) = base.row(i);
    X.row(2 * i + 1) = base.row(i);
    X(2 * i + 1, 0) += distance;
  }
  Dataset data = regression(X);
  normalize_rows(data);
  for (Index i = 0; i < 40; ++i) least = std::min(least, (data.X.row(2 * i) - data.X.row(2 * i + 1)).norm());
  const auto found = certify(data);
  const double row = unit_row_error(5);  // of the rows here, of those of certify, and twice of its bound
  EXPECT_LE(found.separation, least + 2 * row);
  EXPECT_GE(found.separation, least - 6.1 * row);
}

TEST(Certify, PrintedBoundsAreBoundsToo) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto found = certify(regression(sphere(20, 6, seed)));
    const auto at = found.conclusion.find("lambda_min >= ");
    ASSERT_NE(at, std::string::npos);
    const double printed = std::stod(found.conclusion.substr(at + 14));
    EXPECT_LE(printed, *found.lambda_min_verified);
    EXPECT_GE(printed, *found.lambda_min_verified * (1 - 1e-5));  // six digits
  }
}

TEST(Certify, ConflictsOfNumbersThatAgreeToManyDigits) {
  Dataset data = regression(sphere(5, 3));
  data.X.row(3) = data.X.row(1);
  data.y(1) = 1.00000001;
  data.y(3) = 1.00000002;
  const auto found = certify(data);
  EXPECT_EQ(found.outcome, "impossible");
  EXPECT_NE(found.conclusion.find("1.00000002"), std::string::npos) << found.conclusion;
  EXPECT_FALSE(found.lambda_min_verified);
  EXPECT_FALSE(found.forecast);
}

TEST(Certify, AnUnstableStepIsNeverCalledConverged) {
  Dataset data = regression(sphere(12, 4));
  data.y.setZero();
  const auto found = certify(data, {.step = 100});
  EXPECT_TRUE(std::isinf(found.forecast->steps_to_accuracy));
}

TEST(Certify, RecordsMayBeLeftOutOfADatasetMadeByHand) {
  Dataset data = regression(sphere(6, 3));
  data.records.clear();
  EXPECT_EQ(certify(data).outcome, "verified");
}

// Five classes are five networks: their failures add up.
TEST(Certify, FailureProbabilityIsThatOfAllNetworks) {
  const auto found = certify(classes(sphere(100, 60), 5));
  for (const auto& g : found.guarantees) {
    if (!g.width) continue;
    EXPECT_EQ(*g.failure_probability, 0.01) << g.theorem;
  }
}

TEST(Certify, QuadraticHasRankAtMostDTimesDPlusOneOverTwo) {
  EXPECT_EQ(certify(classes(sphere(10, 4), 2), {.activation = "quadratic"}).outcome, "verified");
  const auto found = certify(classes(sphere(11, 4), 2), {.activation = "quadratic"});
  EXPECT_EQ(found.outcome, "zero");
  EXPECT_NE(found.reason.find("10 < 11"), std::string::npos) << found.reason;
}

TEST(Certify, TooSmallForDoubleIsNotCertifiedAndSaysByHowMuch) {
  const auto found = certify(classes(sphere(200, 3), 2), {.activation = "softplus"});
  EXPECT_EQ(found.outcome, "not verified");
  EXPECT_FALSE(found.lambda_min_verified);
  EXPECT_GT(found.rounding_loss, std::abs(found.lambda_min));
  EXPECT_NE(found.conclusion.find("Not certified in double precision"), std::string::npos);
  for (const auto& g : found.guarantees) EXPECT_FALSE(g.holds && g.verified && g.lambda_from == "lambda_min");
}

TEST(Certify, WithoutLabelsTheLabelPartsAreLeftOut) {
  const auto found = certify(dataset(sphere(20, 6)));
  EXPECT_EQ(found.outcome, "verified");
  EXPECT_FALSE(found.forecast);
  EXPECT_FALSE(found.leave_one_out_error);
  EXPECT_TRUE(found.complexity.empty());
  EXPECT_TRUE(found.suspects.empty());
}

TEST(Certify, SmallestDataSets) {
  for (const auto& [n, d] : {std::pair<Index, Index>{1, 1}, {1, 5}, {2, 1}, {2, 2}, {3, 2}}) {
    const auto found = certify(regression(sphere(n, d)));
    EXPECT_FALSE(found.conclusion.empty()) << n << d;
    if (n == 1) {
      EXPECT_EQ(found.outcome, "verified");
      EXPECT_NEAR(found.lambda_min, 0.5, sigma(activation("relu")).error() + 4 * kUnit);  // Sigma = (1/2)
      EXPECT_TRUE(std::isinf(found.separation));
    }
  }
}

// A flipped label among points of two tight clusters is the one that leave-one-out names.
TEST(Certify, AFlippedLabelIsSuspected) {
  RowMatrix X(40, 10);
  const RowMatrix noise = sphere(40, 10);
  for (Index i = 0; i < 40; ++i) {
    X.row(i) = 0.2 * noise.row(i);
    X(i, i % 2) += 1;
  }
  Dataset data = classes(X, 2);
  data.y(5) = 0;
  const auto found = certify(data);
  ASSERT_EQ(found.suspects.size(), 1u);
  EXPECT_EQ(found.suspects[0].sample.record, 5);
  EXPECT_EQ(found.suspects[0].sample.label, "class0");
  EXPECT_EQ(found.suspects[0].predicted, "class1");
  EXPECT_EQ(*found.leave_one_out_error, 1.0 / 40);
  EXPECT_LT(found.complexity[0], found.complexity_shuffled[0]);
}

TEST(Certify, AnOutlierOfARegressionIsSuspected) {
  Dataset data = regression(sphere(60, 4));
  for (Index i = 0; i < 60; ++i) data.y(i) = data.X.row(i).sum();
  data.y(17) += 30;
  const auto found = certify(data);
  ASSERT_FALSE(found.suspects.empty());
  EXPECT_EQ(found.suspects[0].sample.record, 17);
}

TEST(Certify, AllBoundsOfTheQuadraticHaveTwoTerms) {
  EXPECT_EQ(certify(classes(sphere(8, 4), 2), {.activation = "quadratic", .all_bounds = true}).outcome,
            "verified");
}

TEST(Certify, AllBoundsAreProvenAndBelowLambda) {
  const auto found = certify(classes(sphere(40, 12), 2), {.activation = "softplus", .all_bounds = true});
  std::size_t sources = 0;
  for (const auto& g : found.guarantees) {
    if (g.lambda_from.empty() || !g.width) continue;
    ++sources;
    EXPECT_TRUE(g.verified) << g.theorem << " " << g.lambda_from;
  }
  EXPECT_GE(sources, 4u);
}

// G o G has rank d (d + 1)/2 at most: three points of the plane fill it, the fourth is too much.
TEST(Certify, PowersOfGHaveTheRankOfTheirSymmetricTensors) {
  for (const Index n : {3, 4}) {
    const auto found = certify(classes(sphere(n, 2), 2), {.all_bounds = true});
    bool there = false;
    for (const auto& g : found.guarantees)
      if (g.lambda_from.ends_with("lambda_min(G o G)")) {
        there = true;
        EXPECT_EQ(g.width.has_value(), n == 3) << n << " points, " << g.theorem;
      }
    EXPECT_TRUE(there);
  }
}

// Four classes are four networks, whose failures add up.
TEST(Certify, EveryClassHasItsShareOfTheProbability) {
  const RowMatrix X = sphere(12, 5);
  const auto width = [&](Index count, double probability) {
    for (const auto& g : certify(classes(X, count), {.failure_probability = probability}).guarantees)
      if (g.id == "zl_b") return g.width.value();
    return 0.0;
  };
  EXPECT_GT(width(4, 0.01), width(2, 0.01));
  EXPECT_EQ(width(4, 0.04), width(2, 0.01));
}

// Two points 1e-7 apart, of a smooth phi: lambda_min is some 1e-15, and rounding may be all of it.
TEST(Certify, NothingIsPromisedOfARoundedLambda) {
  const auto found = certify(classes(RowMatrix{{1, 0}, {1, 1e-7}, {0, 1}}, 2), {.activation = "tanh"});
  EXPECT_GT(found.rounding_loss, found.lambda_min);
  EXPECT_FALSE(found.lambda_min_verified);
  for (const auto& g : found.guarantees) EXPECT_FALSE(g.lambda_from == "lambda_min" && g.width) << g.theorem;
}

TEST(Certify, SpectrumOnRequest) {
  const auto found = certify(dataset(sphere(30, 9)), {.spectrum = true});
  ASSERT_EQ(found.spectrum.size(), 30u);
  const double error = eigenvalue_error(30, found.lambda_max);
  EXPECT_NEAR(found.spectrum.front(), found.lambda_min, error);
  EXPECT_NEAR(found.spectrum.back(), found.lambda_max, error);
  EXPECT_NEAR(std::accumulate(found.spectrum.begin(), found.spectrum.end(), 0.0), 15,
              30 * error);  // trace of Sigma
}

// The tail is a bound of the same number, and says the same of the points.
TEST(Certify, TheTailIsBelowTheFactor) {
  const auto data = read_dataset("digits", {.classes = {"3", "8"}});
  for (const char* phi : {"relu", "leaky_relu"}) {
    const auto factor = certify(data, {.activation = phi, .method = "factor"});
    const auto tail = certify(data, {.activation = phi, .method = "tail", .passes = 2});
    EXPECT_EQ(factor.method, "factor");
    EXPECT_FALSE(factor.tail);
    EXPECT_EQ(factor.left_out, "");
    ASSERT_EQ(tail.method, "tail");
    ASSERT_TRUE(tail.tail);
    EXPECT_EQ(tail.tail->passes.size(), 2u);
    EXPECT_EQ(tail.outcome, "verified") << phi;
    ASSERT_TRUE(tail.lambda_min_verified) << phi;
    EXPECT_LT(*tail.lambda_min_verified, *factor.lambda_min_verified) << phi;
    EXPECT_TRUE(std::isnan(tail.lambda_min) && std::isnan(tail.lambda_max) && std::isnan(tail.rounding_loss));
    EXPECT_NE(tail.left_out.find("leave-one-out"), std::string::npos);
    EXPECT_FALSE(tail.forecast);
    EXPECT_EQ(tail.norm_X, factor.norm_X);
    EXPECT_EQ(tail.separation, factor.separation);
    EXPECT_EQ(tail.near_pairs, factor.near_pairs);
    ASSERT_EQ(tail.closest.size(), factor.closest.size());
    EXPECT_EQ(tail.closest[0].first.record, factor.closest[0].first.record);
    EXPECT_EQ(tail.bottleneck.size(), 6u);
    ASSERT_EQ(tail.guarantees.size(), factor.guarantees.size());
    for (std::size_t k = 0; k < tail.guarantees.size(); ++k)
      if (tail.guarantees[k].width && tail.guarantees[k].verified && factor.guarantees[k].width) {
        EXPECT_GE(*tail.guarantees[k].width, *factor.guarantees[k].width * (1 - test::gamma_of(32)))
            << phi << " " << k;
      }
  }
  const auto smooth = certify(data, {.activation = "gelu", .method = "tail"});  // whose series ends too soon
  EXPECT_EQ(smooth.outcome, "not verified");
  EXPECT_FALSE(smooth.lambda_min_verified);
  const auto relu = certify(data, {.method = "tail"});
  EXPECT_GT(*relu.lambda_min_verified, 0.0115);  // 0.0118 with exact tails, weights 1 and no rounding
}

TEST(Certify, TheTailSaysWhyItProvesNothing) {
  Dataset bunch = regression(0.01 * sphere(40, 5));
  bunch.X.col(0).array() += 1;
  const auto found = certify(bunch, {.method = "tail"});
  EXPECT_EQ(found.outcome, "not verified");
  EXPECT_NE(
      found.conclusion.find("Not certified by the tail: the tail of the kernel's power series from rho^"),
      std::string::npos)
      << found.conclusion;
  for (const auto& g : found.guarantees) EXPECT_FALSE(g.holds && g.lambda_from == "lambda_min");

  Dataset equal = regression(sphere(9, 5));
  equal.X.row(3) = 2 * equal.X.row(7);
  const auto conflict = certify(equal, {.method = "tail"});
  EXPECT_EQ(conflict.outcome, "impossible");
  EXPECT_FALSE(conflict.lambda_min_verified);
  equal.y(3) = equal.y(7);
  const auto merged = certify(equal, {.method = "tail"});
  EXPECT_EQ(merged.n_distinct, 8);
  EXPECT_EQ(merged.duplicates.size(), 1u);

  Dataset opposite = regression(sphere(9, 20));
  opposite.X.row(3) = -opposite.X.row(7);
  const auto zero = certify(opposite, {.activation = "tanh", .method = "tail"});
  EXPECT_EQ(zero.outcome, "zero");
  EXPECT_EQ(zero.lambda_min, 0);
  EXPECT_EQ(certify(dataset(RowMatrix::Ones(1, 1)), {.method = "tail"}).outcome, "verified");
}

TEST(Certify, TheMethodIsChosenByWhatIsAskedFor) {
  const Dataset data = regression(sphere(20, 5));
  EXPECT_EQ(certify(data).method, "factor");
  EXPECT_THROW(certify(data, {.method = "cholesky"}), std::invalid_argument);
  EXPECT_THROW(certify(data, {.method = "tail", .passes = 0}), std::invalid_argument);
  EXPECT_THROW(certify(data, {.method = "tail", .all_bounds = true}), std::invalid_argument);
  EXPECT_THROW(certify(data, {.method = "tail", .spectrum = true}), std::invalid_argument);
}

// What is said of many layers: lambda_min, the forecast and leave-one-out of their own kernel, and nothing
// that is proved of one hidden layer alone.
TEST(Certify, ManyLayersHaveTheirOwnKernel) {
  const auto data = read_dataset("digits", {.classes = {"3", "8"}});
  for (const bool residual : {false, true}) {
    const auto found = certify(data, {.activation = "tanh", .depth = 3, .residual = residual});
    Progress progress;
    Dataset unit = data;
    normalize_rows(unit);
    const auto K =
        gram(unit.X, deep_tangent(activation("tanh"), {.layers = 3, .residual = residual}), progress);
    const Vector values = eigenvalues(K.K);
    EXPECT_EQ(found.outcome, "verified");
    const auto n = static_cast<double>(found.n);
    const double error = eigenvalue_error(n, found.lambda_max);
    EXPECT_NEAR(found.lambda_min, values(0), error);
    // Lanczos ends where this changes by 1e-11 of it.
    EXPECT_NEAR(found.lambda_max, values(values.size() - 1), 1e-10 * found.lambda_max);
    ASSERT_TRUE(found.lambda_min_verified);
    EXPECT_LE(*found.lambda_min_verified, values(0) + error);
    EXPECT_GE(*found.lambda_min_verified, least_proved(found, values(0)));
    EXPECT_NE(found.conclusion.find(found.network), std::string::npos);
    EXPECT_TRUE(found.guarantees.empty());
    EXPECT_TRUE(found.complexity.empty());
    EXPECT_FALSE(found.left_out.empty());
    ASSERT_TRUE(found.forecast);
    EXPECT_NEAR(found.forecast->start_misfit, std::sqrt(2),
                2 * backward_error(n));  // every label and every variance is 1
    const Eigensystem all = eigensystem(K.K);
    const Matrix inverse = all.vectors * all.values.cwiseInverse().asDiagonal() * all.vectors.transpose();
    Vector y = data.y.array() * 2 - 1;
    Index wrong = 0;
    const Vector weights = inverse * y;
    for (Index i = 0; i < y.size(); ++i) wrong += (y(i) - weights(i) / inverse(i, i)) * y(i) <= 0;
    EXPECT_EQ(found.leave_one_out_error.value(), static_cast<double>(wrong) / n);
  }
}

TEST(Certify, TheTailOfManyLayersIsBelowTheirKernels) {
  const auto data = read_dataset("digits", {.classes = {"3", "8"}});
  for (const bool residual : {false, true}) {
    const auto tail = certify(data, {.depth = 3, .residual = residual, .method = "tail", .passes = 2});
    const auto factor = certify(data, {.depth = 3, .residual = residual});
    EXPECT_EQ(tail.outcome, "verified");
    EXPECT_LE(tail.lambda_min_verified.value(), factor.lambda_min);
    EXPECT_GE(tail.lambda_min_verified.value(), factor.lambda_min / 50);
    EXPECT_TRUE(tail.guarantees.empty());
    EXPECT_NE(tail.left_out.find("leave-one-out"), std::string::npos);
  }
}

// Of more points the initial outputs are drawn: their forecast agrees with what all eigenvalues say.
TEST(Certify, TheForecastOfManyLayersHasNormalOutputs) {
  RowMatrix X = sphere(3001, 6);
  const Dataset many = regression(X);
  const auto found = certify(many, {.depth = 2});
  ASSERT_TRUE(found.forecast);
  EXPECT_EQ(found.forecast->method, "Lanczos, 32 probes");
  const auto fewer = certify(regression(X.topRows(3000)), {.depth = 2, .step = found.forecast->step});
  EXPECT_EQ(fewer.forecast->method, "eigendecomposition");
  for (const std::size_t k : {5u, 10u, 20u, 30u})
    EXPECT_NEAR(found.forecast->misfit[k], fewer.forecast->misfit[k],
                5 * found.forecast->standard_error[k] + 0.02 * fewer.forecast->misfit[k]);
}

TEST(Certify, AntipodesVanishForManyLayersOfOneParity) {
  RowMatrix X = sphere(12, 8);
  X.row(7) = -X.row(2);
  const auto outcome = [&](const std::string& phi, bool residual) {
    return certify(dataset(X), {.activation = phi, .depth = 3, .residual = residual}).outcome;
  };
  for (const auto* odd : {"tanh", "erf", "sin"})
    for (const bool residual : {false, true}) EXPECT_EQ(outcome(odd, residual), "zero") << odd;
  EXPECT_EQ(outcome("quadratic", false), "zero");
  EXPECT_EQ(outcome("quadratic", true), "verified");
  for (const auto* neither : {"relu", "softplus", "sigmoid", "gelu"})
    for (const bool residual : {false, true}) EXPECT_NE(outcome(neither, residual), "zero") << neither;
}

TEST(Certify, WhatIsAboutOneLayerIsRefusedForMany) {
  const auto data = regression(sphere(5, 3));
  for (const CertifyOptions& options :
       {CertifyOptions{.depth = 0}, CertifyOptions{.depth = 1001}, CertifyOptions{.depth = 2, .width = 100},
        CertifyOptions{.residual = true, .all_bounds = true}})
    EXPECT_THROW(certify(data, options), std::invalid_argument);
}

TEST(Certify, BadOptionsAndData) {
  const Dataset data = classes(sphere(6, 3), 2);
  for (const double bad : {0.0, 1.0, -1.0, 2.0, std::nan("")}) {
    EXPECT_THROW(certify(data, {.failure_probability = bad}), std::invalid_argument);
    EXPECT_THROW(certify(data, {.accuracy = bad}), std::invalid_argument);
  }
  EXPECT_THROW(certify(data, {.width = -1}), std::invalid_argument);
  EXPECT_THROW(certify(data, {.step = -1}), std::invalid_argument);
  EXPECT_THROW(certify(data, {.activation = "swish"}), std::invalid_argument);
  Dataset zero = data;
  zero.X.row(4).setZero();
  EXPECT_THROW(certify(zero), DataError);
  Dataset nan = data;
  nan.X(2, 1) = std::nan("");
  EXPECT_THROW(certify(nan), DataError);
  Dataset longer = data;
  longer.X.row(3) *= 1 + 1e-9;
  EXPECT_THROW(certify(longer, {.normalize = false}), DataError);
  EXPECT_NO_THROW(certify(data, {.normalize = false}));
  std::atomic<bool> cancel{true};
  Progress stopped({}, &cancel);
  EXPECT_THROW(certify(data, {}, stopped), Interrupted);
}

struct StudiedLabels {
  CertifyResult found, in_double;
  std::vector<std::string> stages;
};

StudiedLabels labels_of(const Dataset& data, const char* activation) {
  StudiedLabels both;
  CertifyOptions options;
  options.activation = activation;
  Progress progress([&](const ProgressReport& report) {
    if (report.finished) both.stages.push_back(report.stage);
  });
  both.found = certify(data, options, progress);
  EngineInDouble engine;
  Progress silent;
  both.in_double = certify(data, options, silent, engine);
  return both;
}

constexpr Index kNotEveryEigenvalue = 3100;  // points, above those whose every eigenvalue is computed

// What comes from float32 is that of double as far as certify compares it.
TEST(Certify, LabelsInFloatAreThoseOfDouble) {
  constexpr Index n = kNotEveryEigenvalue;
  RowMatrix twice = sphere(n, 30);
  twice.row(17) = twice.row(4);
  Dataset repeated = classes(twice, 3);
  repeated.y(17) = repeated.y(4);
  for (const Dataset& data : {classes(sphere(n, 30), 2), repeated}) {
    const auto [found, before, stages] = labels_of(data, "relu");
    EXPECT_EQ(std::count(stages.begin(), stages.end(), "Cholesky factorisation in float32"), 1);
    EXPECT_EQ(std::count(stages.begin(), stages.end(), "Cholesky factorisation"), 0);
    constexpr double kDigit = 2.5e-4;  // what certify allows an entry of the inverse's diagonal
    ASSERT_TRUE(found.lambda_min_verified && before.lambda_min_verified);
    EXPECT_EQ(found.ridge, 0);
    EXPECT_NEAR(found.lambda_min, before.lambda_min, before.rounding_loss + 1e-9 * before.lambda_min);
    EXPECT_EQ(*found.leave_one_out_error, *before.leave_one_out_error);
    std::map<Index, double> scores;  // those that are nearly equal may have changed places
    for (const Suspect& suspect : before.suspects) scores[suspect.sample.record] = suspect.score;
    ASSERT_EQ(found.suspects.size(), before.suspects.size());
    for (const Suspect& suspect : found.suspects) {
      ASSERT_TRUE(scores.contains(suspect.sample.record));
      // A margin is the difference of two outputs, each off by so much of its distance from the label.
      EXPECT_NEAR(suspect.score, scores[suspect.sample.record], 4 * kDigit);
    }
    ASSERT_EQ(found.complexity.size(), before.complexity.size());
    for (std::size_t c = 0; c < found.complexity.size(); ++c)
      EXPECT_NEAR(found.complexity[c], before.complexity[c], kDigit * before.complexity[c]);
    ASSERT_TRUE(found.forecast && before.forecast);
    EXPECT_NEAR(found.forecast->steps_to_accuracy, before.forecast->steps_to_accuracy,
                4 * kDigit * before.forecast->steps_to_accuracy);
  }
}

// Numbers, two points close together, and several on an arc whose smooth kernel hides lambda_min from
// float32: the answer is that of double, bit by bit.
TEST(Certify, LabelsThatFloatDoesNotSeeAreThoseOfDouble) {
  constexpr Index n = kNotEveryEigenvalue;
  RowMatrix near = sphere(n, 30), arc = near;
  near.row(n - 1) = near.row(2);  // neither is one of every fourth point
  near(n - 1, 0) += 1e-6;
  near.row(n - 1).normalize();
  const Eigen::RowVectorXd begin = arc.row(1),
                           across = (arc.row(2) - arc.row(2).dot(begin) * begin).normalized();
  double angle = 0;
  for (const Index i : {1, 2, 3, 5, 6})
    arc.row(i) = (std::cos(angle) * begin + std::sin(angle) * across).normalized(), angle += 0.06;
  struct Case {
    Dataset data;
    const char* activation;
    bool tried;
  };
  const Case cases[] = {{regression(sphere(n, 30)), "relu", false},
                        {classes(near, 2), "relu", false},
                        {classes(arc, 2), "erf", true}};
  for (const auto& [data, activation, tried] : cases) {
    const auto [found, before, stages] = labels_of(data, activation);
    EXPECT_EQ(std::count(stages.begin(), stages.end(), "Cholesky factorisation in float32"), tried ? 1 : 0);
    EXPECT_EQ(std::count(stages.begin(), stages.end(), "Cholesky factorisation"), 1);
    EXPECT_EQ(found.lambda_min, before.lambda_min);
    EXPECT_EQ(found.lambda_min_verified, before.lambda_min_verified);
    EXPECT_EQ(found.leave_one_out_error, before.leave_one_out_error);
    EXPECT_EQ(found.complexity, before.complexity);
    ASSERT_EQ(found.suspects.size(), before.suspects.size());
    for (std::size_t k = 0; k < found.suspects.size(); ++k)
      EXPECT_EQ(found.suspects[k].score, before.suspects[k].score);
  }
}

TEST(Certify, CenteringSubtractsTheMeanPoint) {
  Dataset data = regression(sphere(25, 5));
  data.X.rowwise() += Eigen::RowVectorXd::Constant(5, 10);
  const auto centred = certify(data, {.center = true}), plain = certify(data);
  EXPECT_GT(centred.lambda_min, 10 * plain.lambda_min);  // points no longer bunch together
  Dataset by_hand = data;
  subtract(by_hand, mean_point(data.X));
  EXPECT_NEAR(certify(by_hand).lambda_min, centred.lambda_min,
              2 * centred.rounding_loss + eigenvalue_error(25, centred.lambda_max));
}

}  // namespace
}  // namespace zeroloss
