#include "zeroloss/memorize/memorizer.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <cmath>
#include <limits>

#include "memorize/cases.hpp"
#include "support/targets.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

MemorizeOptions with(std::optional<Index> hidden, const std::string& precision = "float64") {
  MemorizeOptions options;
  options.hidden = hidden;
  options.precision = precision;
  return options;
}

MemorizeResult memorize_targets(const RowMatrix& X, const Matrix& Y, const MemorizeOptions& options = {}) {
  Dataset data;
  data.X = X;
  data.name = "points";
  Progress silent;
  return memorize(data, Y, options, silent);
}

/// The least of ||z||^2 - t and t - p over ||z||^2 of all neurons, in long double: what a neuron is silent on
/// are the later images and every place within the longest code.
long double exact_margin(const Memorizer& network, Index images, const Matrix& Y) {
  using Long = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  const Long U = network.U.cast<long double>(), Q = network.U_out.cast<long double>();
  const bool classes = network.task == Task::classification;
  const long double code = classes ? Q.rowwise().norm().maxCoeff()
                                   : Y.cast<long double>().rowwise().norm().maxCoeff() / network.V_out(0, 0);
  long double least = 1;
  const auto neuron = [&](long double square, long double t, long double p) {
    least = std::min({least, (square - t) / square, (t - p) / square});
  };
  for (Index a = 0; a < images; ++a) {
    const long double square = U.row(a).squaredNorm();
    long double p = std::sqrt(square) * code;
    for (Index i = a + 1; i < images; ++i) p = std::max(p, U.row(a).dot(U.row(i)));
    neuron(square, -network.s(a), p);
  }
  for (Index j = 0; j < Q.rows() && classes; ++j)
    for (Index i = 0; i < Q.rows(); ++i)
      if (i != j || Q.rows() == 1)
        neuron(Q.row(j).squaredNorm(), -network.s_out(j), i != j ? Q.row(j).dot(Q.row(i)) : 0.0L);
  return least;
}

/// Everything a result says about its network, computed again from the formula.
void expect_true(const MemorizeResult& result, const RowMatrix& X, const Matrix& Y) {
  ASSERT_TRUE(result.network) << result.conclusion;
  const Memorizer& network = *result.network;
  const Matrix outputs = test::reference_outputs(network, X, test::best_target_fuses());
  EXPECT_EQ(predict(network, X), outputs);
  const double error = (outputs - Y).cwiseAbs().maxCoeff();
  EXPECT_GE(result.max_error, error);
  EXPECT_LE(result.max_error, std::nextafter(error, kInfinity));
  EXPECT_EQ(result.n, X.rows());
  EXPECT_EQ(result.d, X.cols());
  EXPECT_EQ(result.r, Y.cols());
  EXPECT_EQ(result.hidden, network.hidden());
  EXPECT_EQ(result.blocks, (result.n_distinct + result.hidden - 1) / result.hidden);
  const Index k = result.hidden, p = network.U_out.rows();
  EXPECT_EQ(result.parameters,
            k * X.cols() + network.b_0.size() + result.blocks * k * (2 * k + 1) + p * (k + 1) + p * Y.cols());
  EXPECT_EQ(result.parameters, network.parameters());
  double margin = 1;
  for (Index a = 0; a < result.n_distinct; ++a) {
    const double square = network.U.row(a).squaredNorm(), gap = (square + network.s(a)) / square;
    EXPECT_GT(gap, 0);
    margin = std::min(margin, gap);
    EXPECT_LE(result.block_margins[static_cast<std::size_t>(a / k)], gap);
  }
  for (Index a = 0; a < p && network.task == Task::classification; ++a) {
    const double square = network.U_out.row(a).squaredNorm();
    margin = std::min(margin, (square + network.s_out(a)) / square);
  }
  // A threshold is stored with rounding, so the sides of the gap are equal to that.
  const double rounding = static_cast<double>(16 * k + 64) * test::kUnit;  // theory 11
  EXPECT_NEAR(result.min_margin, std::max(0.0, margin - rounding),
              rounding + (network.precision == "float32" ? 2 * 0x1p-24 : 0));
  EXPECT_LE(result.min_margin, std::max(0.0L, exact_margin(network, result.n_distinct, Y)));
  for (const RowMatrix* A : {&network.A_0, &network.U, &network.V, &network.U_out, &network.V_out})
    EXPECT_TRUE(network.precision == "float64" || *A == A->cast<float>().cast<double>());
}

Matrix unit_targets(const Dataset& data) {
  Matrix Y = Matrix::Zero(data.n(), data.classes());
  for (Index i = 0; i < data.n(); ++i) Y(i, static_cast<Index>(data.y(i))) = 1;
  return Y;
}

TEST(Memorizer, ClassesOfAnyShape) {
  int memorized = 0;
  for (const Index n : {1, 2, 3, 8, 33, 150})
    for (const Index d : {1, 2, 5, 40})
      for (const Index k : {1, 2, 3, 4, 7, 16})
        for (const Index r : {1, 2, 3, 10}) {
          if (k == 1 && r > 2) continue;
          SCOPED_TRACE(testing::Message() << "n " << n << ", d " << d << ", k " << k << ", r " << r);
          const Dataset data = test::labelled(test::normal_points(n, d, 5), r, 7);
          const MemorizeResult result = memorize(data, with(k));
          ASSERT_EQ(result.status, MemorizeStatus::memorized) << result.conclusion;
          EXPECT_EQ(result.correct, n);
          EXPECT_EQ(result.n_distinct, n);
          EXPECT_LT(result.max_error, test::output_error(*result.network));
          expect_true(result, data.X, unit_targets(data));
          ++memorized;
        }
  EXPECT_EQ(memorized, 6 * 4 * (6 * 4 - 2));
}

TEST(Memorizer, RealTargetsOfAnyDimension) {
  for (const std::string precision : {"float64", "float32"})
    for (const Index n : {1, 5, 64})
      for (const Index r : {1, 2, 5})
        for (const Index k : {5, 8}) {
          SCOPED_TRACE(testing::Message() << precision << ", n " << n << ", r " << r << ", k " << k);
          const RowMatrix X = test::normal_points(n, 12, 2);
          const Matrix Y = 1000 * test::normal_targets(n, r);
          const MemorizeResult result = memorize_targets(X, Y, with(k, precision));
          ASSERT_EQ(result.status, MemorizeStatus::memorized) << result.conclusion;
          const double tolerance = precision == "float32" ? 1e-3 : 1e-6;  // the header's
          EXPECT_LE(result.max_error, tolerance * Y.cwiseAbs().maxCoeff());
          expect_true(result, X, Y);
        }
}

// Images do not depend on targets, so that these can be chosen for a code of 3/8 of the shortest image, which
// twice its length would take above a half.
TEST(Memorizer, CodesOfTargetsAreWithinHalfOfTheShortestImage) {
  const RowMatrix X = test::normal_points(10, 3);
  Matrix Y = Matrix::Zero(10, 2);
  const auto shortest = [&](const MemorizeResult& result) {
    return result.network->U.topRows(10).rowwise().norm().minCoeff();
  };
  Y(0, 1) = 0.375 * shortest(memorize_targets(X, Matrix::Ones(10, 2), with(4)));
  for (const double size : {1.0, 1000.0, 0.001}) {
    const MemorizeResult result = memorize_targets(X, size * Y, with(4));
    ASSERT_EQ(result.status, MemorizeStatus::memorized) << result.conclusion;
    const double code = size * Y(0, 1) / result.network->V_out(0, 0);
    EXPECT_LE(code, shortest(result) / 2);
    EXPECT_GT(code, shortest(result) / 4) << "no smaller than a power of two has to be";
  }
}

TEST(Memorizer, RegressionDataHasOneTarget) {
  Dataset data = test::labelled(test::normal_points(20, 3), 2);
  data.task = Task::regression;
  data.class_names.clear();
  data.y = test::normal_targets(20, 1).col(0);
  const MemorizeResult result = memorize(data);
  EXPECT_EQ(result.status, MemorizeStatus::memorized);
  EXPECT_EQ(result.network->task, Task::regression);
  const double error = (predict(*result.network, data.X).col(0) - data.y).cwiseAbs().maxCoeff();
  EXPECT_LE(error, result.max_error);
  EXPECT_LE(error, test::output_error(*result.network));
  data.y.setZero();
  EXPECT_EQ(memorize(data).correct, 20);
}

TEST(Memorizer, EachBlockMovesItsPointsToTheirCodesAndNoOthers) {
  for (const std::string precision : {"float64", "float32"}) {
    const Dataset data = test::labelled(test::normal_points(50, 6, 3), 4);
    const MemorizeResult result = memorize(data, with(8, precision));
    ASSERT_EQ(result.status, MemorizeStatus::memorized);
    const Memorizer& network = *result.network;
    const bool fused = test::best_target_fuses();
    for (Index i = 0; i < data.n(); ++i) {
      const auto run = [&](Index blocks) -> Vector {
        return precision == "float32"
                   ? Vector(test::hidden<float>(network, data.X, i, blocks, fused).cast<double>())
                   : Vector(test::hidden<double>(network, data.X, i, blocks, fused));
      };
      const Vector z = run(0), q = network.U_out.row(static_cast<Index>(data.y(i))).transpose();
      Index own = 0;  // the neuron whose weights are this point's image
      while (network.U.row(own).transpose() != z) ++own;
      for (Index j = 1; j <= network.blocks(); ++j) {
        const Vector h = run(j);
        if (j <= own / 8)
          EXPECT_EQ(h, z) << "a block before its own";
        else
          EXPECT_LT((h - q).norm(), test::hidden_error(network));
      }
    }
  }
}

TEST(Memorizer, TheFirstWidthThatKeepsTheMargin) {
  const Dataset data = test::labelled(test::normal_points(300, 20), 10);
  const MemorizeResult result = memorize(data, with({}, "float32"));
  ASSERT_EQ(result.status, MemorizeStatus::memorized) << result.conclusion;
  EXPECT_EQ(result.margin, 1e-3);
  EXPECT_GE(result.min_margin, 1e-3);
  ASSERT_GT(result.tried.size(), 1u);
  Index hidden = 2;
  for (const MemorizeAttempt& tried : result.tried) {
    EXPECT_EQ(tried.hidden, hidden);
    EXPECT_EQ(tried.correct, hidden == result.hidden ? 300 : -1);
    EXPECT_EQ(tried.min_margin >= 1e-3, hidden == result.hidden);
    hidden *= 2;
  }
  MemorizeOptions wide;
  wide.margin = 0.2;
  const MemorizeResult failed = memorize(data, wide);
  EXPECT_EQ(failed.status, MemorizeStatus::not_separated);
  EXPECT_EQ(failed.hidden, 512);
  EXPECT_EQ(failed.correct, 0);
  EXPECT_EQ(failed.max_error, kInfinity);
  EXPECT_NE(failed.conclusion.find("0.2 is asked for"), std::string::npos) << failed.conclusion;
  wide.hidden = 16;
  EXPECT_EQ(memorize(data, wide).status, MemorizeStatus::not_separated);
  EXPECT_EQ(memorize_targets(data.X, test::normal_targets(300, 5)).tried.front().hidden, 8);
}

TEST(Memorizer, DoesNotDependOnThreads) {
  const Dataset data = test::labelled(test::normal_points(700, 10), 5);
  const int threads = omp_get_max_threads();
  std::vector<MemorizeResult> results;
  for (const int count : {1, 2, 5}) {
    omp_set_num_threads(count);
    results.push_back(memorize(data, with(6, "float32")));
  }
  omp_set_num_threads(threads);
  for (const MemorizeResult& r : results) {
    EXPECT_EQ(r.network->A_0, results[0].network->A_0);
    EXPECT_EQ(r.network->U, results[0].network->U);
    EXPECT_EQ(r.network->V, results[0].network->V);
    EXPECT_EQ(r.network->s, results[0].network->s);
    EXPECT_EQ(r.max_error, results[0].max_error);
  }
  MemorizeOptions other = with(6);
  other.seed = 1;
  EXPECT_NE(memorize(data, other).network->A_0, memorize(data, with(6)).network->A_0);
}

// What becomes of a point does not depend on the points beside it.
TEST(Memorizer, PointsAreOnTheirOwn) {
  const Dataset data = test::labelled(test::normal_points(100, 300), 3);
  const MemorizeResult result = memorize(data, with(4, "float32"));
  const Matrix all = predict(*result.network, data.X);
  for (const Index first : {0, 1, 37, 99})
    EXPECT_EQ(predict(*result.network, data.X.middleRows(first, 1)), all.row(first));
}

// ---- adversarial points ----

void expect_memorized(const RowMatrix& X, const std::string& what, const MemorizeOptions& options = {}) {
  SCOPED_TRACE(what);
  const Dataset data = test::labelled(X, 3);
  const MemorizeResult classes = memorize(data, options);
  EXPECT_EQ(classes.status, MemorizeStatus::memorized) << classes.conclusion;
  expect_true(classes, X, unit_targets(data));
  const Matrix Y = test::normal_targets(X.rows(), 2);
  const MemorizeResult numbers = memorize_targets(X, Y, options);
  EXPECT_EQ(numbers.status, MemorizeStatus::memorized) << numbers.conclusion;
  expect_true(numbers, X, Y);
}

TEST(Memorizer, AdversarialPointsInDouble) {
  const Index n = 200;
  const Vector t = Vector::LinSpaced(n, -1, 1);
  const RowMatrix direction = test::normal_points(1, 5, 3), offset = test::normal_points(1, 5, 4);
  expect_memorized(t * direction, "a line through the origin");
  expect_memorized((t * direction).rowwise() + offset.row(0), "another line");
  expect_memorized(RowMatrix(Vector::LinSpaced(n, 1, static_cast<double>(n))), "d = 1");
  expect_memorized(RowMatrix(Vector::LinSpaced(n + 1, -100, 100)), "d = 1, with a zero");
  RowMatrix unit = test::normal_points(n, 4);
  unit.rowwise().normalize();
  expect_memorized(unit, "equal norms");
  RowMatrix both(2 * n, 4);
  both << unit, -unit;
  expect_memorized(both, "antipodal pairs");
  RowMatrix corners(256, 8);
  for (Index i = 0; i < 256; ++i)
    for (Index j = 0; j < 8; ++j) corners(i, j) = static_cast<double>(i >> j & 1);
  expect_memorized(corners, "corners of a cube, one of them 0");
  RowMatrix close = test::normal_points(n, 6);
  for (Index i = 0; i < n; i += 2) close.row(i + 1) = close.row(i) + 1e-6 * test::normal_points(1, 6, 9);
  expect_memorized(close, "pairs 1e-6 apart");
  expect_memorized((1e-6 * test::normal_points(n, 6)).rowwise() + test::normal_points(1, 6, 2).row(0),
                   "all within 1e-6");
  expect_memorized(1e200 * unit, "large numbers");
  expect_memorized(1e-200 * unit, "small numbers");
  expect_memorized(RowMatrix::Zero(1, 3), "one point, and it is 0");
}

TEST(Memorizer, AdversarialPointsInSingle) {
  MemorizeOptions single = with({}, "float32");
  RowMatrix unit = test::normal_points(100, 4);
  unit.rowwise().normalize();
  single.tolerance = 0.01;
  expect_memorized(unit, "equal norms", single);
  expect_memorized(1e-20 * unit, "small numbers", single);
  RowMatrix zero = test::normal_points(30, 3);
  zero.row(7).setZero();
  expect_memorized(zero, "a zero", single);
}

TEST(Memorizer, WhatSingleCannotSeparateIsNamed) {
  RowMatrix X = test::normal_points(50, 6);
  X.row(31) = X.row(12);
  X(31, 0) += 1e-6;
  Dataset data = test::labelled(X, 2);
  data.y(12) = 0, data.y(31) = 1;
  const auto named = [](const MemorizeResult& r) {
    std::vector<Index> records;
    for (const Sample& s : r.closest) records.push_back(s.record);
    std::sort(records.begin(), records.end());
    return records;
  };
  // No network keeps the usual margin; one of those that were tried is right all the same.
  const MemorizeResult nearest = memorize(data, with({}, "float32"));
  EXPECT_EQ(nearest.status, MemorizeStatus::memorized);
  EXPECT_EQ(nearest.correct, 50);
  EXPECT_EQ(nearest.margin, 0);
  EXPECT_GT(nearest.min_margin, 0);
  EXPECT_LT(nearest.min_margin, 1e-3);  // below the usual margin
  EXPECT_EQ(nearest.tried.back().correct, 50);
  MemorizeOptions strict = with({}, "float32");
  strict.margin = 1e-3;
  const MemorizeResult result = memorize(data, strict);
  EXPECT_EQ(result.status, MemorizeStatus::not_separated);
  EXPECT_EQ(named(result), (std::vector<Index>{12, 31}));
  EXPECT_NE(result.conclusion.find("float32"), std::string::npos) << result.conclusion;
  EXPECT_NE(result.conclusion.find("try precision float64"), std::string::npos);
  EXPECT_EQ(memorize(data).status, MemorizeStatus::memorized);

  data.X(31, 0) = X(12, 0) + 1e-10;  // the same float
  const MemorizeResult same = memorize(data, with({}, "float32"));
  EXPECT_EQ(same.status, MemorizeStatus::not_separated);
  EXPECT_EQ(same.min_margin, 0);
  EXPECT_FALSE(same.network);
  EXPECT_EQ(named(same), (std::vector<Index>{12, 31}));
  EXPECT_NE(same.conclusion.find("samples 12 (label c0) and 31 (label c1) have the same image in float32"),
            std::string::npos)
      << same.conclusion;
  data.y(31) = 0;  // then one of them is enough
  EXPECT_EQ(memorize(data, with({}, "float32")).n_distinct, 49);
}

TEST(Memorizer, FailedVerificationIsReported) {
  // A ray: codes have to be smaller than the smallest point, and single precision cannot reach them.
  const RowMatrix X = Vector::LinSpaced(300, 1, 300);
  MemorizeOptions options = with(4, "float32");
  options.tolerance = 1e-6;
  const Matrix Y = test::normal_targets(300, 1);
  const MemorizeResult result = memorize_targets(X, Y, options);
  EXPECT_EQ(result.status, MemorizeStatus::not_verified);
  EXPECT_LT(result.correct, 300);
  EXPECT_EQ(result.wrong.size(), 20u);
  const Matrix off = (predict(*result.network, X) - Y).cwiseAbs();
  Index right = 0;
  for (Index i = 0; i < 300; ++i)
    right += off(i, 0) <= options.tolerance.value() * Y.cwiseAbs().maxCoeff() ? 1 : 0;
  EXPECT_EQ(result.correct, right);
  EXPECT_NE(result.conclusion.find("of 300 points are wrong by a forward pass in float32 with width 4"),
            std::string::npos)
      << result.conclusion;
}

// One class, so that no other output could be larger: but one that does not wake is wrong. Of points 2.5e-5
// of their length apart a threshold keeps half of that, of which rounding their squares in float32 takes up
// to 2^-24/1.25e-5 = 0.5 %: 10 units, where the code is at 0.5. A point that misses it to one side stays
// asleep; if it does to the other, the neuron of the shortest point takes it for its own and moves it across.
TEST(Memorizer, AnOutputOfZeroIsWrong) {
  RowMatrix X(201, 1);
  X.col(0) << 1, Vector::LinSpaced(200, 2000, 2010);
  const MemorizeResult result = memorize(test::labelled(X, 1), with(1, "float32"));
  ASSERT_TRUE(result.network) << result.conclusion;
  ASSERT_GT(result.network->A_0(0, 0) * result.network->U_out(0, 0), 0) << "points and code are on one side";
  const Index silent = (predict(*result.network, X).array() == 0).count();
  EXPECT_GT(silent, 100);
  EXPECT_EQ(result.correct, 201 - silent);
  EXPECT_EQ(result.status, MemorizeStatus::not_verified);
}

TEST(Memorizer, EqualPoints) {
  Dataset data = test::labelled(test::normal_points(20, 3), 3);
  for (const Index i : {4, 9, 17}) data.X.row(i) = data.X.row(2), data.y(i) = data.y(2);
  const MemorizeResult result = memorize(data);
  EXPECT_EQ(result.status, MemorizeStatus::memorized);
  EXPECT_EQ(result.n_distinct, 17);
  EXPECT_EQ(result.correct, 20);
  data.records.resize(20);
  for (Index i = 0; i < 20; ++i) data.records[static_cast<std::size_t>(i)] = 100 + i;
  data.y(2) = data.y(4) = data.y(17) = 0, data.y(9) = 1;
  for (const std::string precision : {"float64", "float32"})
    EXPECT_MESSAGE(DataError, memorize(data, with(4, precision)),
                   "points: samples 102 (label c0) and 109 (label c1) are the same point");
  Matrix Y = test::normal_targets(20, 2);
  Progress silent;
  EXPECT_MESSAGE(DataError, memorize(data, Y, {}, silent), "are the same point");
}

// x and -x have images of one length to the last bit: the order of images has to bring both x together all
// the same.
TEST(Memorizer, EqualPointsAmongOthersOfTheSameLength) {
  for (const Index k : {1, 8}) {
    SCOPED_TRACE(k);
    RowMatrix X = test::normal_points(3, 5);
    X.row(1) = -X.row(0);
    X.row(2) = X.row(0);
    Dataset data = test::labelled(X, 2);
    data.y << 0, 1, 0;
    const MemorizeResult result = memorize(data, with(k));
    EXPECT_EQ(result.status, MemorizeStatus::memorized) << result.conclusion;
    EXPECT_EQ(result.n_distinct, 2);
    data.y(2) = 1;
    EXPECT_MESSAGE(DataError, memorize(data, with(k)),
                   "samples 0 (label c0) and 2 (label c1) are the same point");
  }
}

// Equal points are found among others that only look equal in the network's precision, and those are not
// called equal, nor impossible.
TEST(Memorizer, EqualPointsAmongOthersWithTheSameImage) {
  Dataset data = test::labelled(test::normal_points(20, 3), 2);
  for (const Index i : {3, 5, 11, 14}) data.X.row(i) << 1, 0.5, -0.25;
  data.X(3, 0) += 1e-9;  // the same float
  data.y(3) = 0, data.y(5) = data.y(11) = data.y(14) = 1;
  const MemorizeResult close = memorize(data, with(4, "float32"));
  EXPECT_EQ(close.status, MemorizeStatus::not_separated);
  EXPECT_NO_THROW(memorize(data, with(4)));  // hard in float64 too, but not called impossible
  data.y(14) = 0;  // as that of sample 3, which comes first, but not as that of 5 and 11, its equals
  for (const std::string precision : {"float64", "float32"})
    EXPECT_MESSAGE(DataError, memorize(data, with(4, precision)),
                   "samples 5 (label c1) and 14 (label c0) are the same point");
}

TEST(Memorizer, WordsSayWhatWasVerified) {
  const RowMatrix X = test::normal_points(20, 4);
  const MemorizeResult classes = memorize(test::labelled(X, 2), with(4, "float32"));
  EXPECT_EQ(classes.proved_exact, 20);
  const bool all = classes.proved_any_order == 20;
  EXPECT_NE(classes.conclusion.find(
                all ? "proved in exact arithmetic and in float32, sums in any order"
                    : "checked by a forward pass in float32; proved in exact arithmetic for 20"),
            std::string::npos)
      << classes.conclusion;
  const MemorizeResult targets = memorize_targets(X, test::normal_targets(20, 2), with(4));
  const auto at = targets.conclusion.find("is memorised to within ");
  ASSERT_NE(at, std::string::npos) << targets.conclusion;
  EXPECT_GE(std::stod(targets.conclusion.substr(at + 23)), targets.max_error);
}

// ---- contracts ----

TEST(Memorizer, OptionsAreChecked) {
  const Dataset three = test::labelled(test::normal_points(20, 3), 3);
  const auto refuses = [&](const MemorizeOptions& options, const std::string& reason) {
    EXPECT_MESSAGE(std::invalid_argument, memorize(three, options), "memorize: ", reason);
  };
  refuses(with(0), "hidden must be >= 1; got 0");
  refuses(with(1), "hidden must be >= 2 for 3 classes; got 1");
  refuses(with(4, "float16"), "precision must be one of float64, float32; got \"float16\"");
  MemorizeOptions options;
  options.construction = "random";
  refuses(options, "construction must be one of norm_ordered, paper, integer; got \"random\"");
  for (const double margin : {0.0, -1.0, 0.3, std::nan("")}) {
    options = {};
    options.margin = margin;
    refuses(options, "margin must be in (0, 0.25]");
  }
  for (const double tolerance : {0.0, -1.0, kInfinity, std::nan("")}) {
    options = {};
    options.tolerance = tolerance;
    refuses(options, "tolerance must be > 0");
  }
  options = {};
  options.seed = std::uint64_t{1} << 53;
  refuses(options, "seed must be below 2^53");
  EXPECT_MESSAGE(std::invalid_argument, memorize_targets(three.X, test::normal_targets(20, 3), with(2)),
                 "hidden must be >= 3 for 3 real-valued targets a point; got 2");
  options = {};
  options.construction = "paper";
  EXPECT_MESSAGE(std::invalid_argument, memorize_targets(three.X, test::normal_targets(20, 1), options),
                 "construction paper is for classes");
}

TEST(Memorizer, DataAreChecked) {
  Dataset data = test::labelled(test::normal_points(20, 3), 3);
  Progress silent;
  EXPECT_MESSAGE(DataError, memorize(data, test::normal_targets(19, 2), {}, silent), "targets are 19 x 2");
  EXPECT_MESSAGE(DataError, memorize(data, Matrix(20, 0), {}, silent), "targets are 20 x 0");
  Matrix Y = test::normal_targets(20, 1);
  Y(3, 0) = kInfinity;
  EXPECT_MESSAGE(DataError, memorize(data, Y, {}, silent), "finite");
  EXPECT_MESSAGE(DataError, memorize_targets(data.X, 1e35 * test::normal_targets(20, 1), with({}, "float32")),
                 "targets of length", "out of range for float32");
  data.X *= 1e35;
  EXPECT_MESSAGE(DataError, memorize(data, with({}, "float32")), "points of length",
                 "out of range for float32");
  data.X(4, 1) = std::nan("");
  EXPECT_MESSAGE(DataError, memorize(data), "record 4, column 1: nan");
  data.task = Task::none;
  data.y.resize(0);
  EXPECT_MESSAGE(DataError, memorize(data), "memorize needs targets");
}

TEST(Memorizer, MemoryIsAskedForFirst) {
  const Dataset data = test::labelled(test::normal_points(20, 3), 3);
  EXPECT_MESSAGE(ResourceError, memorize(data, with(100'000'000)), "hidden width 100000000 needs", "GB free");
}

TEST(Memorizer, CanBeInterrupted) {
  const Dataset data = test::labelled(test::normal_points(20000, 3), 3);
  for (const std::string at : {"first layer", "thresholds", "forward pass"}) {
    std::atomic<bool> cancel{false};
    Progress progress(
        [&](const ProgressReport& report) {
          if (report.stage.rfind(at, 0) == 0) cancel = true;
        },
        &cancel, 0);
    EXPECT_THROW(memorize(data, with(4), progress), Interrupted) << at;
    EXPECT_TRUE(cancel);
  }
}

TEST(Memorizer, PredictChecksItsPoints) {
  const Dataset data = test::labelled(test::normal_points(20, 3), 3);
  const Memorizer network = *memorize(data).network;
  EXPECT_MESSAGE(DataError, predict(network, test::normal_points(2, 4)),
                 "points have 4 features; the network was built for 3");
  RowMatrix X = data.X;
  X(1, 1) = std::nan("");
  EXPECT_MESSAGE(DataError, predict(network, X), "not finite");
  EXPECT_EQ(predict(network, RowMatrix(0, 3)).rows(), 0);
  const std::atomic<bool> cancel{true};
  EXPECT_THROW(predict(network, data.X, Progress({}, &cancel)), Interrupted);
  EXPECT_EQ(largest_outputs(Matrix{{0, 2, 2}, {3, 1, 2}}), (std::vector<Index>{1, 0}));
}

}  // namespace
}  // namespace zeroloss
