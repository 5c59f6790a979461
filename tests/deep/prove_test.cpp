#include "zeroloss/deep/prove.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "deep/equations.hpp"
#include "support/deep.hpp"
#include "support/rounding.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/deep/draw.hpp"

namespace zeroloss {
namespace {

Dataset classes_of(const RowMatrix& X, const std::vector<Index>& classes, Index count) {
  Dataset data;
  data.X = X;
  data.name = "made";
  data.task = Task::classification;
  for (Index k = 0; k < count; ++k) data.class_names.push_back(std::to_string(k));
  data.y.resize(X.rows());
  for (Index i = 0; i < X.rows(); ++i) data.y(i) = static_cast<double>(classes[static_cast<std::size_t>(i)]);
  data.records.resize(static_cast<std::size_t>(X.rows()));
  std::iota(data.records.begin(), data.records.end(), Index{100});
  return data;
}

DeepNetwork drawn(Index d, Index outputs, const std::string& phi = "tanh") {
  return draw(DeepDraw{.d = d, .outputs = outputs, .widths = {40, 40}, .activation = phi, .seed = 1});
}

const std::vector<Index> kLabels{0, 1, 2, 0, 1, 2, 1, 1, 0, 2, 0, 1};

// The outputs are those of classes in another order than the data's.
TEST(Prove, AnOrderThatWasGuessedWrongIsCorrected) {
  DeepNetwork network = drawn(5, 3);
  Dataset data = classes_of(test::random_rows(30, 5, 1), std::vector<Index>(30), 3);
  network.c = -predict(network, data.X).colwise().mean().transpose();  // each is the largest now and then
  const Matrix f = predict(network, data.X);
  for (Index i = 0; i < 30; ++i) {
    Index largest = 0;
    f.row(i).maxCoeff(&largest);
    data.y(i) = static_cast<double>((largest + 1) % 3);
  }
  Progress progress;
  const ProveResult r = prove(network, data, {}, progress);
  EXPECT_EQ(r.networks[0].wrong, 30);
  ASSERT_EQ(r.remarks.size(), 2U);
  EXPECT_NE(r.remarks[1].find("30 of 30 would be right with `class_names=1,2,0`"), std::string::npos)
      << r.remarks[1];
  EXPECT_EQ(prove(network, data, {.class_names = {"1", "2", "0"}}, progress).networks[0].right, 30);
  EXPECT_TRUE(prove(network, data, {.class_names = {"0", "1", "2"}}, progress).remarks.empty())
      << "that was asked for";
}

TEST(Prove, ClassesGetRightAndExact) {
  Progress progress;
  const Dataset data = classes_of(test::random_rows(12, 5, 1), kLabels, 3);
  const ProveResult r = prove(drawn(5, 3), data, {.polish = true}, progress);
  ASSERT_EQ(r.networks.size(), 2U);
  EXPECT_EQ(r.networks[0].right + r.networks[0].wrong + r.networks[0].undecided, 12);
  EXPECT_GT(r.networks[0].wrong, 0);
  const ProvedNetwork& p = r.networks[1];
  EXPECT_EQ(p.right, 12);
  EXPECT_NEAR(p.margin, 2, 2.01 * p.largest_error);  // of targets +-1
  EXPECT_TRUE(p.certificate.exists) << p.certificate.reason;
  // Cross-entropy of the sharpened network, by its definition.
  DeepNetwork sharp = r.polished;
  sharp.V *= p.sharpening;
  sharp.c *= p.sharpening;
  const Matrix f = predict(sharp, data.X);
  for (Index i = 0; i < 12; ++i) {
    double sum = 0;
    for (Index k = 0; k < 3; ++k) sum += std::exp(f(i, k) - f(i, static_cast<Index>(data.y(i))));
    EXPECT_LE(std::log(sum), 0.01 + 2 * test::rounding(sharp, data.X).maxCoeff());
    EXPECT_GT(std::log(sum), 0.005);
  }
}

// Behind a sigmoid, say, the outputs are other numbers, of the same classes.
TEST(Prove, TargetsAreOfWhatTheFileGives) {
  Dataset data = classes_of(test::random_rows(12, 5, 1), kLabels, 2);
  for (double& label : data.y) label = label > 0 ? 1 : 0;
  DeepNetwork network = drawn(5, 1);
  network.behind = "node 'p' (Sigmoid -> p)";
  Progress progress;
  EXPECT_EQ(prove(network, data, {}, progress).n, 12);
  data.task = Task::regression;
  data.class_names.clear();
  EXPECT_MESSAGE(DataError, prove(network, data, {}, progress), "made: ", "node 'p' (Sigmoid -> p)");
  network.behind.clear();
  EXPECT_EQ(prove(network, data, {}, progress).n, 12);
}

TEST(Prove, OneOutputIsTheSignOfTwoClasses) {
  Progress progress;
  const Dataset data = classes_of(test::random_rows(9, 4, 2), {0, 1, 1, 0, 1, 0, 0, 1, 1}, 2);
  const DeepNetwork network = drawn(4, 1, "relu");
  const ProveResult r = prove(network, data, {.polish = true}, progress);
  const Matrix f = predict(network, data.X);
  Index right = 0;
  for (Index i = 0; i < 9; ++i) right += (f(i, 0) > 0) == (data.y(i) == 1) ? 1 : 0;
  EXPECT_EQ(r.networks[0].right, right);
  EXPECT_EQ(r.networks[0].wrong_samples.size(), static_cast<std::size_t>(9 - right));
  for (const Index record : r.networks[0].wrong_samples) EXPECT_GE(record, 100);
  EXPECT_EQ(r.networks[1].right, 9);
  EXPECT_TRUE(r.networks[1].certificate.exists) << r.networks[1].certificate.reason;
}

TEST(Prove, EqualSamplesAreOneEquationOrAConflict) {
  Progress progress;
  RowMatrix X = test::random_rows(8, 4, 3);
  X.row(5) = X.row(2);
  Dataset data = classes_of(X, {0, 1, 1, 0, 1, 1, 0, 1}, 2);
  const DeepNetwork network = drawn(4, 1);
  const ProveResult same = prove(network, data, {.polish = true}, progress);
  EXPECT_EQ(same.n_distinct, 7);
  EXPECT_TRUE(same.networks[1].certificate.exists) << same.networks[1].certificate.reason;
  data.y(5) = 0;
  const ProveResult conflict = prove(network, data, {.polish = true}, progress);
  EXPECT_EQ(conflict.networks.size(), 1U);
  EXPECT_FALSE(conflict.networks[0].certificate.exists);
  EXPECT_NE(conflict.networks[0].certificate.reason.find("102 and 105"), std::string::npos)
      << conflict.networks[0].certificate.reason;
}

// Where a certificate is tried outputs are evaluated at the distinct points, elsewhere at all samples.
TEST(Prove, LabelsAreThoseOfEverySampleWhateverIsTried) {
  Progress progress;
  const RowMatrix some = test::random_rows(6, 5, 3);
  const std::vector<Index> rows{3, 0, 3, 5, 1, 4, 0, 3, 2, 1};
  Dataset data = classes_of(some(rows, Eigen::all), {2, 0, 2, 1, 1, 0, 0, 2, 2, 1}, 3);
  for (const bool single : {false, true}) {
    DeepNetwork network = drawn(5, 3);
    network.single = single;
    const VerifiedOutputs all = verified_outputs(network, data.X, progress);
    const ProveResult tried = prove(network, data, {}, progress);
    data.y(4) = 0;  // the other sample of the same point is of class 1
    const ProveResult conflict = prove(network, data, {}, progress);
    data.y(4) = 1;
    EXPECT_EQ(tried.n_distinct, 6);
    EXPECT_TRUE(std::isfinite(tried.networks[0].certificate.lipschitz));
    EXPECT_NE(conflict.networks[0].certificate.reason.find("no network fits both"), std::string::npos);
    for (const ProveResult* r : {&tried, &conflict}) {
      const ProvedNetwork& p = r->networks[0];
      EXPECT_EQ(p.right + p.wrong + p.undecided, 10);
      EXPECT_EQ(p.outputs.f, all.f);
      // Rows of J have weights, by which bounds are divided again: some hundred roundings of 2^-53, and the
      // factor 1 + 2^-30 once more where what float32 computes is bounded.
      EXPECT_LE((p.outputs.error - all.error).cwiseAbs().maxCoeff(), 0x1p-40 * all.error.maxCoeff());
      EXPECT_EQ(p.outputs.single_error.size(), single ? 30 : 0);
      if (single) {
        const Matrix both = all.single_error + all.error;
        const double off = 0x1p-29 * both.maxCoeff();  // as above
        EXPECT_LE((p.outputs.single_error - both).cwiseAbs().maxCoeff(), off);
      }
      for (std::size_t k = 0; k < rows.size(); ++k) {
        const auto first = std::ranges::find(rows, rows[k]) - rows.begin();
        EXPECT_EQ(p.outputs.error.row(static_cast<Index>(k)), p.outputs.error.row(first));
      }
    }
  }
}

// A unit of the first layer that is 0 at every point, so that its sign is never certain.
TEST(Prove, KinksAreNamedByTheirSamples) {
  Progress progress;
  const Dataset data = classes_of(test::random_rows(6, 4, 7), {0, 1, 1, 0, 1, 0}, 2);
  DeepNetwork network = prove(drawn(4, 1, "relu"), data, {.polish = true}, progress).polished;
  network.layers[0].W.row(5).setZero();
  network.layers[0].b(5) = 0;
  network.layers[1].W.col(5).setZero();
  const ProveResult r = prove(network, data, {.layers = "last2", .polish = true}, progress);
  EXPECT_TRUE(r.networks[1].certificate.exists)
      << "the unit does not move: " << r.networks[1].certificate.reason;
  const DeepCertificate c = prove(r.polished, data, {}, progress).networks[0].certificate;
  EXPECT_FALSE(c.exists);
  EXPECT_EQ(c.layer, 1);
  EXPECT_EQ(c.neuron, 5);
  EXPECT_GE(c.sample, 100);
  EXPECT_NE(c.reason.find("sample " + std::to_string(c.sample)), std::string::npos) << c.reason;
}

TEST(Prove, NumbersAreTargetsAsTheyAre) {
  Progress progress;
  Dataset data = classes_of(test::random_rows(10, 3, 4), std::vector<Index>(10, 0), 1);
  data.task = Task::regression;
  data.class_names.clear();
  data.y = 3 * Vector::Random(10);
  const ProveResult r = prove(drawn(3, 1), data, {.polish = true}, progress);
  EXPECT_TRUE(r.networks[1].certificate.exists) << r.networks[1].certificate.reason;
  const double rounding = test::rounding(r.polished, data.X).maxCoeff();
  EXPECT_LE(r.networks[1].largest_error, PolishOptions{}.tolerance * data.y.norm() + 2 * rounding);
  EXPECT_EQ(r.networks[1].right, 0);
  EXPECT_THROW(prove(drawn(3, 2), data, {}, progress), DataError);
}

// Weights near the end of the range, and points without a length: nothing is said to be proved of them.
TEST(Prove, WhatIsNotFiniteProvesNothing) {
  Progress progress;
  const Dataset data = classes_of(test::random_rows(6, 3, 5), {0, 1, 0, 1, 0, 1}, 2);
  DeepNetwork huge = drawn(3, 1);
  huge.layers[0].activation = "relu";
  huge.layers[0].W *= 1e300;
  huge.V *= 1e300;
  const ProveResult r = prove(huge, data, {}, progress);
  EXPECT_EQ(r.networks[0].right, 0);
  EXPECT_EQ(r.networks[0].undecided, 6);
  EXPECT_FALSE(r.networks[0].certificate.exists);
  EXPECT_EQ(r.networks[0].misfit, std::numeric_limits<double>::infinity());
  EXPECT_NE(r.conclusion.find("nothing is proved of its outputs"), std::string::npos) << r.conclusion;
  EXPECT_EQ(r.conclusion.find("nan"), std::string::npos) << r.conclusion;
  // Outputs that are infinite alike: which is larger is not known, whatever the third one is.
  DeepNetwork two = huge;
  two.V = RowMatrix::Constant(3, huge.V.cols(), 1e300);
  two.V.row(2).setZero();
  two.c = {};
  const Dataset first = classes_of(data.X, {0, 0, 0, 0, 0, 0}, 3);
  EXPECT_EQ(prove(two, first, {}, progress).networks[0].right, 0);
  DeepNetwork unit = drawn(3, 1);
  unit.unit = true;
  Dataset zero = data;
  zero.X.row(2).setZero();
  EXPECT_MESSAGE(DataError, prove(unit, zero, {}, progress), "point 2 has no length");
  EXPECT_MESSAGE(DataError, predict(unit, zero.X), "point 2 has no length");
}

TEST(Prove, DividesAndRefuses) {
  Progress progress;
  const Dataset data = classes_of(test::random_rows(6, 3, 5), {0, 1, 0, 1, 0, 1}, 2);
  Dataset larger = data;
  larger.X *= 16;
  EXPECT_EQ(prove(drawn(3, 1), data, {}, progress).networks[0].margin,
            prove(drawn(3, 1), larger, {.divide = 16}, progress).networks[0].margin);
  EXPECT_THROW(prove(drawn(3, 1), data, {.divide = 0}, progress), std::invalid_argument);
  EXPECT_THROW(prove(drawn(4, 1), data, {}, progress), DataError);
  const ProveResult numbered = prove(drawn(3, 3), data, {}, progress);  // classes 0 and 1
  EXPECT_NE(numbered.remarks.at(0).find("outputs 0 to 2 are 0, 1, 2: the labels of"), std::string::npos);
  Dataset from_one = data;
  from_one.class_names = {"1", "2"};
  EXPECT_MESSAGE(DataError, prove(drawn(3, 3), from_one, {}, progress), "3 outputs", "`class_names=0..2`");
  Dataset none = data;
  none.task = Task::none;
  EXPECT_THROW(prove(drawn(3, 1), none, {}, progress), DataError);
}

// Names come from the network, or are asked for, or are those of the whole source; never those that are kept.
TEST(Prove, OutputsStandForTheClassesOfTheWholeSource) {
  Progress progress;
  Dataset all = classes_of(test::random_rows(12, 5, 1), kLabels, 3);
  all.class_names = {"1", "2", "3"};
  const DeepNetwork network = drawn(5, 3);
  const ProvedNetwork whole = prove(network, all, {}, progress).networks[0];
  Dataset kept = all;  // the samples of classes 2 and 3
  std::vector<Index> rows;
  for (Index i = 0; i < 12; ++i)
    if (all.y(i) > 0) rows.push_back(i);
  kept.X = all.X(rows, Eigen::all);
  kept.y = all.y(rows).array() - 1;
  kept.class_names = {"2", "3"};
  kept.records.clear();
  for (const Index i : rows) kept.records.push_back(100 + i);
  EXPECT_MESSAGE(DataError, prove(network, kept, {}, progress), "2 classes (2, 3)", "does not name them",
                 "`class_names=A,B,..`");
  std::vector<Index> wrong;
  for (const Index record : whole.wrong_samples)
    if (all.y(record - 100) > 0) wrong.push_back(record);
  kept.source_classes = {"1", "2", "3"};
  const ProveResult of_source = prove(network, kept, {}, progress);
  EXPECT_EQ(of_source.networks[0].wrong_samples, wrong);
  EXPECT_NE(of_source.remarks.at(0).find("outputs 0 to 2 are 1, 2, 3"), std::string::npos);
  kept.source_classes = {"2", "3"};
  EXPECT_THROW(prove(network, kept, {}, progress), DataError);
  for (const std::vector<std::string>& asked : {std::vector<std::string>{"1", "2", "3"}, {"1..3"}}) {
    const ProveResult named = prove(network, kept, {.class_names = asked}, progress);
    EXPECT_EQ(named.networks[0].wrong_samples, wrong);
    EXPECT_TRUE(named.remarks.empty());
  }
  const ProveResult turned = prove(network, kept, {.class_names = {"3", "1", "2"}}, progress);
  EXPECT_NE(turned.networks[0].wrong_samples, wrong);
  DeepNetwork its_own = network;
  its_own.task = Task::classification;
  its_own.class_names = {"1", "2", "3"};
  EXPECT_EQ(prove(its_own, kept, {}, progress).networks[0].wrong_samples, wrong);
  const auto refused = [&](const DeepNetwork& of, const std::vector<std::string>& names, const char* why) {
    EXPECT_MESSAGE(std::invalid_argument, prove(of, kept, {.class_names = names}, progress), why);
  };
  refused(its_own, {"3", "1", "2"}, "the network names its classes: 1, 2, 3");
  refused(network, {"1", "2"}, "2 classes for 3 outputs");
  refused(network, {"1", "2", "2"}, "'2' twice");
  EXPECT_MESSAGE(DataError, prove(network, kept, {.class_names = {"1", "2", "4"}}, progress),
                 "class '3' is none of the network's: 1, 2, 4");
}

TEST(Prove, ASingleOutputIsBelowAndAboveZero) {
  Progress progress;
  const Dataset data = classes_of(test::random_rows(9, 4, 2), {0, 1, 1, 0, 1, 0, 0, 1, 1}, 2);
  const ProvedNetwork p = prove(drawn(4, 1), data, {}, progress).networks[0];
  const ProvedNetwork turned = prove(drawn(4, 1), data, {.class_names = {"1", "0"}}, progress).networks[0];
  EXPECT_EQ(p.right, turned.wrong);
  EXPECT_GT(p.right, 0);
  Dataset three = data;
  three.class_names = {"1", "2", "3"};
  EXPECT_MESSAGE(DataError, prove(drawn(4, 1), three, {}, progress), "`task=regression`");
}

// A threshold is what the last bias would be less by.
TEST(Prove, AThresholdIsWhereTheSecondClassBegins) {
  Progress progress;
  const Dataset data = classes_of(test::random_rows(40, 4, 2), std::vector<Index>(40), 2);
  const DeepNetwork network = drawn(4, 1);
  const Matrix f = predict(network, data.X);
  for (const double t : {-0.25, 0.0, 0.5}) {
    DeepNetwork shifted = network;
    shifted.c = network.c.array() - t;
    const ProvedNetwork p = prove(network, data, {.threshold = t}, progress).networks[0],
                        same = prove(shifted, data, {}, progress).networks[0];
    EXPECT_EQ(p.right, (f.array() < t).count());
    EXPECT_EQ(p.right, same.right);
    EXPECT_EQ(p.wrong_samples, same.wrong_samples);
    EXPECT_NEAR(p.margin, same.margin, 2 * (p.output_error + same.output_error));
    EXPECT_NEAR(p.misfit, same.misfit, 40 * 2 * (p.output_error + same.output_error));
  }
  // Behind a sigmoid it is compared with that.
  DeepNetwork sigmoid = network;
  sigmoid.behind = "node 'p' (Sigmoid -> p)";
  for (const double t : {0.01, 0.5, 0.55, 0.9}) {
    const ProveResult r = prove(sigmoid, data, {.threshold = t}, progress);
    EXPECT_EQ(r.networks[0].right, ((1 / (1 + (-f.array()).exp())) < t).count()) << t;
    ASSERT_FALSE(r.remarks.empty());
    EXPECT_NE(r.remarks.back().find(fmt::format("taken for 1 where that exceeds {}", t)), std::string::npos)
        << r.remarks.back();
  }
  EXPECT_NE(prove(sigmoid, data, {}, progress).remarks.back().find("exceeds 0.5, so where"),
            std::string::npos);
  const auto refused = [&](const DeepNetwork& of, double t, const char* why) {
    EXPECT_MESSAGE(std::invalid_argument, prove(of, data, {.threshold = t}, progress), why);
  };
  refused(sigmoid, 1, "between 0 and 1, since a sigmoid");
  refused(sigmoid, std::nan(""), "between 0 and 1");
  refused(network, 1e16, "between -1e15 and 1e15");
  refused(drawn(4, 2), 0.5, "for a single output; the network has 2");
  Dataset numbers = data;
  numbers.task = Task::regression;
  numbers.class_names.clear();
  EXPECT_MESSAGE(std::invalid_argument, prove(network, numbers, {.threshold = 0.5}, progress),
                 "`threshold` is for classes");
}

TEST(Prove, OutputsThatAreNeverBelowZeroAreSaid) {
  Progress progress;
  const Dataset data = classes_of(test::random_rows(9, 4, 2), std::vector<Index>(9), 2);
  DeepNetwork network = drawn(4, 1);
  network.c = Vector::Constant(1, 100);
  const ProveResult r = prove(network, data, {}, progress);
  EXPECT_NE(r.remarks.back().find("no output is below 0"), std::string::npos) << r.remarks.back();
  EXPECT_NE(r.remarks.back().find("`threshold=0.5`"), std::string::npos) << r.remarks.back();
}

TEST(Prove, OneFeatureTooManyMayBeTheLabels) {
  Progress progress;
  Dataset data;
  data.name = "made";
  data.X = test::random_rows(9, 5, 2);
  EXPECT_MESSAGE(DataError, prove(drawn(4, 1), data, {}, progress),
                 "points have 5 features, the network takes 4", "`target=COLUMN`");
  data.X = test::random_rows(9, 6, 2);
  try {
    prove(drawn(4, 1), data, {}, progress);
    ADD_FAILURE();
  } catch (const DataError& error) {
    EXPECT_EQ(std::string(error.what()).find("target"), std::string::npos) << error.what();
  }
}

// Factors of J, 8 N bytes a unit, and twice that of residual layers, are there beside J J^T.
TEST(Prove, FactorsOfTheJacobianCountAsMemory) {
  const Index n = 1000, m = 500, K = 3;
  const double N = n * K;
  DeepNetwork plain = drawn(5, K);
  plain.layers.resize(1);
  plain.layers[0].W = RowMatrix::Ones(m, 5);
  plain.layers[0].b = Vector::Ones(m);
  plain.V = RowMatrix::Ones(K, m);
  EXPECT_GE(internal::bytes_of_gram(plain, {true, true}, n, 1), 8 * N * N + 8 * N * m);
  EXPECT_GE(internal::bytes_of_gram(plain, {true, true}, n, 2), 16 * N * N);
  EXPECT_LT(internal::bytes_of_gram(plain, {true, true}, n, 2), 1.5 * 16 * N * N);
  DeepNetwork residual = plain;
  residual.layers[0].residual = true;
  residual.layers[0].W = RowMatrix::Ones(m, m);
  residual.layers[0].U = RowMatrix::Ones(m, m);
  EXPECT_GE(internal::bytes_of_gram(residual, {true, true}, n, 1), 8 * N * N + 16 * N * m);
  EXPECT_LT(internal::bytes_of_gram(residual, {false, true}, n, 1),
            internal::bytes_of_gram(residual, {true, true}, n, 1));
  EXPECT_MESSAGE(ResourceError, internal::require_gram_memory(plain, {true, true}, 100'000'000, 2, "it"),
                 "it needs", "as many points as `n=");
}

// Points that a division makes equal are not called equal.
TEST(Prove, QuotientsThatVanishAreNotThePoints) {
  Progress progress;
  Dataset data = classes_of((RowMatrix(2, 1) << 5e-324, 1e-323).finished(), {0, 0}, 1);
  data.task = Task::regression;
  data.class_names.clear();
  data.y = Vector{{1, 2}};
  EXPECT_EQ(prove(drawn(1, 1), data, {}, progress).n_distinct, 2);
  const ProveResult r = prove(drawn(1, 1), data, {.divide = 16}, progress);
  EXPECT_NE(r.networks[0].certificate.reason.find("once they are divided and rounded"), std::string::npos)
      << r.networks[0].certificate.reason;
}

// A sample of which nothing is seen to move: neither its sign nor a bound that overflows.
TEST(Prove, ASampleWithoutAGradientIsNamed) {
  Progress progress;
  DeepNetwork network = drawn(2, 1);
  for (Layer& layer : network.layers) layer.b.resize(0);
  network.c.resize(0);
  const Dataset data = classes_of((RowMatrix(2, 2) << 0, 0, 1, 1).finished(), {0, 1}, 2);
  const ProvedNetwork p = prove(network, data, {}, progress).networks[0];
  EXPECT_EQ(p.undecided_samples, std::vector<Index>{100});
  EXPECT_EQ(std::ranges::count(p.wrong_samples, 100), 0);
  EXPECT_NE(p.certificate.reason.find("at sample 100 an output is not seen to change"), std::string::npos)
      << p.certificate.reason;
}

// What float32 computes, in any order of the sums, is within the bound.
TEST(Prove, Float32StaysWithinItsBound) {
  Progress progress;
  for (const unsigned seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
    DeepNetwork network =
        test::random_network(seed, {.features = 6,
                                    .width = 20,
                                    .outputs = 3,
                                    .activations = {"relu", "leaky_relu", "identity", "tanh"}});
    const auto rounded = [](auto& numbers) {
      numbers = numbers.template cast<float>().template cast<double>();
    };
    for (Layer& layer : network.layers)
      rounded(layer.W), rounded(layer.b), rounded(layer.U), rounded(layer.bU);
    rounded(network.V), rounded(network.c), rounded(network.shift), rounded(network.factor);
    const RowMatrix X = test::random_rows(50, 6, seed) * (seed % 2 == 0 ? 1 : 1000);
    const Matrix exact = predict(network, X);
    network.single = true;
    const VerifiedOutputs outputs = verified_outputs(network, X, progress);
    double closest = 0;
    for (Index i = 0; i < X.rows(); ++i) {
      using Floats = Eigen::VectorXf;
      Floats h = X.row(i).transpose().cast<float>();
      if (network.shift.size() > 0) h -= network.shift.cast<float>();
      if (network.factor.size() > 0) h.array() *= network.factor.cast<float>().array();
      const auto times = [&](const RowMatrix& A, const Floats& x, const Vector& b) {
        Floats sums = b.size() > 0 ? Floats(b.cast<float>()) : Floats(Floats::Zero(A.rows()));
        for (Index k = 0; k < A.cols(); ++k) sums += A.col(k).cast<float>() * x(k);
        return sums;
      };
      for (const Layer& layer : network.layers) {
        Floats a = times(layer.W, h, layer.b);
        if (layer.activation == "relu") a = a.cwiseMax(0.0F);
        if (layer.activation == "leaky_relu") a = a.cwiseMax(static_cast<float>(layer.leak) * a);
        if (layer.activation == "tanh") a = a.array().tanh();
        if (layer.residual) a = layer.U.size() > 0 ? times(layer.U, a, layer.bU) : Floats(a);
        if (layer.residual && layer.U.size() == 0 && layer.bU.size() > 0) a += layer.bU.cast<float>();
        a *= static_cast<float>(layer.scale);
        h = layer.residual ? Floats(h + a) : a;
      }
      const Vector f = times(network.V, h, network.c).cast<double>();
      for (Index k = 0; k < 3; ++k) {
        const double off = std::abs(f(k) - exact(i, k));
        EXPECT_LE(off, outputs.single_error(i, k)) << seed << " " << i;
        closest = std::max(closest, off / outputs.single_error(i, k));
      }
    }
    EXPECT_GT(closest, 1e-4) << "the bound is of use";
  }
}

// Margins that float32 may turn round are named, of right and of wrong labels; others are not.
TEST(Prove, LabelsThatFloat32MayTurnAreNamed) {
  Progress progress;
  DeepNetwork network{.layers = {{.activation = "identity", .W = RowMatrix::Ones(1, 1)}},
                      .V = RowMatrix::Ones(1, 1),
                      .c = Vector::Constant(1, -1)};
  const double step = 0x1p-30;  // 1 + step is 1 in float32
  const Dataset data =
      classes_of((RowMatrix(4, 1) << 1 + step, 1 + step, 3, 0.5).finished(), {1, 0, 1, 1}, 2);
  const ProvedNetwork in_double = prove(network, data, {}, progress).networks[0];
  EXPECT_EQ(in_double.right, 2);
  EXPECT_EQ(in_double.wrong_samples, (std::vector<Index>{101, 103}));
  EXPECT_TRUE(in_double.single_samples.empty());
  network.single = true;
  const ProvedNetwork p = prove(network, data, {}, progress).networks[0];
  EXPECT_EQ(p.right, 2);
  EXPECT_EQ(p.single_samples, (std::vector<Index>{100, 101}));
  EXPECT_LT(p.single_error, 64 * 0x1p-24);  // some roundings of numbers up to 4
}

// A number that leaves the range of float32 on its way is infinite there, however small the output is; one
// that falls below it is lost, and so is a factor below it. Each output here is a number about 1 in real
// arithmetic.
TEST(Prove, NothingIsSaidWhereFloat32EndsOnTheWay) {
  Progress progress;
  const auto error = [&](double x, double factor, double weight, double scale, double out, double shift = 0) {
    DeepNetwork network{
        .layers = {{.activation = "relu", .W = RowMatrix::Constant(1, 1, weight), .scale = scale}},
        .V = RowMatrix::Constant(1, 1, out),
        .single = true};
    if (factor != 1) network.factor = Vector::Constant(1, factor);
    if (shift != 0) network.shift = Vector::Constant(1, shift);
    return verified_outputs(network, RowMatrix::Constant(1, 1, x), progress).single_error(0, 0);
  };
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_LT(error(1, 1, 1, 1, 1), 0x1p-20);  // 16 roundings of 2^-24
  EXPECT_LT(error(0x1p100, 0x1p-60, 0x1p-40, 1, 1), 0x1p-19);
  EXPECT_EQ(error(0x1p130, 1, 0x1p-130, 1, 1), inf) << "the point";
  EXPECT_EQ(error(0x1p126, 0x1p-100, 0x1p-27, 1, 1, -0x1p126), inf) << "the point less its shift";
  EXPECT_EQ(error(0x1p70, 0x1p70, 0x1p-140, 1, 1), inf) << "the point times its factor";
  EXPECT_EQ(error(0x1p110, 0x1p-110, 0x1p20, 1, 0x1p-20), inf) << "the map before the factor";
  EXPECT_EQ(error(0x1p60, 1, 1, 0x1p70, 0x1p-130), inf) << "the unit times its factor";
  EXPECT_EQ(error(0x1p60, 1, 0x1p60, 0x1p-120, 0x1p20), inf) << "the next map before the factor";
  EXPECT_EQ(error(0x1p120, 1, 1, 0x1p-127, 0x1p7), inf) << "a factor that may be 0";
  // W x is 2^-145 where the factor comes behind it: 0, or off by up to half of the least number.
  EXPECT_GE(error(0x1p-75, 0x1p75, 0x1p-70, 1, 0x1p70), 0x1p-126 * 0x1p75 * 0x1p70);
}

// The sum of +-1 over classes is the same everywhere. Output weights that have it too make J singular: rows
// of one point then sum to nothing in all hidden layers.
TEST(Prove, ConstantSumsOfTargetsMakeTheLastLayerSingular) {
  Progress progress;
  const RowMatrix X = test::random_rows(60, 6, 6);
  std::vector<Index> labels;
  for (Index i = 0; i < 60; ++i) labels.push_back((7 * i * i + i) % 3);
  DeepNetwork network = draw(DeepDraw{.d = 6, .outputs = 3, .widths = {50, 20}, .activation = "tanh"});
  const Dataset data = classes_of(X, labels, 3);
  DeepNetwork small = network;
  small.V *= 0.1;  // so small that they go there
  const ProveResult all = prove(small, data, {.layers = "all", .polish = true}, progress);
  EXPECT_LT(all.networks[1].misfit, 1e-6);                 // of a bound, far below 1
  EXPECT_LT(all.polished.V.colwise().sum().norm(), 1e-6);  // the misfit over what V sees of the points
  EXPECT_EQ(all.networks[1].certificate.lambda_min, 0);
  const ProveResult hidden = prove(network, data, {.polish = true}, progress);
  EXPECT_EQ(hidden.polished.V, network.V);
  EXPECT_TRUE(hidden.networks[1].certificate.exists) << hidden.networks[1].certificate.reason;
}

TEST(Prove, LayersByName) {
  using Flags = std::vector<bool>;
  EXPECT_EQ(layers_named("all", 2, 1), (Flags{true, true, true}));
  EXPECT_EQ(layers_named("auto", 2, 1), (Flags{true, true, true}));
  EXPECT_EQ(layers_named("auto", 2, 3), (Flags{true, true, false}));
  EXPECT_EQ(layers_named("hidden", 2, 1), (Flags{true, true, false}));
  EXPECT_EQ(layers_named("last2", 2, 1), (Flags{false, true, true}));
  EXPECT_EQ(layers_named("1,3", 2, 1), (Flags{true, false, true}));
  for (const char* wrong : {"", "0", "4", "1,", "last", "last0", "last4", "some", "1;2", "-1", " 1"})
    EXPECT_THROW(layers_named(wrong, 2, 1), std::invalid_argument) << wrong;
}

}  // namespace
}  // namespace zeroloss
