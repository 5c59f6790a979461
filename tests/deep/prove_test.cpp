#include "zeroloss/deep/prove.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "support/deep.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/core/error.hpp"
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

TEST(Prove, ClassesGetRightAndExact) {
  Progress progress;
  const Dataset data = classes_of(test::random_rows(12, 5, 1), kLabels, 3);
  const ProveResult r = prove(drawn(5, 3), data, {.polish = true}, progress);
  ASSERT_EQ(r.networks.size(), 2U);
  EXPECT_EQ(r.networks[0].right + r.networks[0].wrong + r.networks[0].undecided, 12);
  EXPECT_GT(r.networks[0].wrong, 0);
  const ProvedNetwork& p = r.networks[1];
  EXPECT_EQ(p.right, 12);
  EXPECT_NEAR(p.margin, 2, 1e-6);
  EXPECT_TRUE(p.certificate.exists) << p.certificate.reason;
  // Cross-entropy of the sharpened network, by its definition.
  DeepNetwork sharp = r.polished;
  sharp.V *= p.sharpening;
  sharp.c *= p.sharpening;
  const Matrix f = predict(sharp, data.X);
  for (Index i = 0; i < 12; ++i) {
    double sum = 0;
    for (Index k = 0; k < 3; ++k) sum += std::exp(f(i, k) - f(i, static_cast<Index>(data.y(i))));
    EXPECT_LE(std::log(sum), 0.01 * (1 + 1e-6));
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
  EXPECT_LT(r.networks[1].largest_error, 1e-8);
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
  EXPECT_NE(r.conclusion.find("beyond the range of numbers"), std::string::npos) << r.conclusion;
  EXPECT_EQ(r.conclusion.find("nan"), std::string::npos) << r.conclusion;
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
  EXPECT_EQ(targets_of(drawn(3, 3), data).row(1), Eigen::RowVector3d(-1, 1, -1));  // class "1" is output 1
  Dataset named = data;
  named.class_names = {"a", "b"};
  EXPECT_THROW(prove(drawn(3, 3), named, {}, progress), DataError);
  Dataset none = data;
  none.task = Task::none;
  EXPECT_THROW(prove(drawn(3, 1), none, {}, progress), DataError);
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
  EXPECT_LT(all.networks[1].misfit, 1e-6);
  EXPECT_LT(all.polished.V.colwise().sum().norm(), 1e-6);
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
