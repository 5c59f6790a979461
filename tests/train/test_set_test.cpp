// Points that are not fitted: their errors by loops of the test's own, and not a bit of training changed by
// them.
#include "zeroloss/train/test_set.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "support/fit_cases.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/train/optimizers.hpp"

namespace zeroloss::test {
namespace {

TestSet as_test(Dataset data, const std::string& name = "new points") {
  data.name = name;
  return TestSet(std::make_shared<Dataset>(std::move(data)));
}

/// sum_j v_j softplus(<w_j, x - c>/||x - c||), written out.
double output(const TwoLayer& network, Vector x, const Vector& center) {
  if (center.size() > 0) x -= center;
  x /= std::sqrt(x.dot(x));
  double f = 0;
  for (Index j = 0; j < network.W.rows(); ++j) {
    double z = 0;
    for (Index i = 0; i < x.size(); ++i) z += network.W(j, i) * x(i);
    f += network.v(j) * (std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z))));
  }
  return f;
}

TEST(TestSet, RootMeanSquareIsThatOfTheNetworkAtEveryRecord) {
  const Dataset data = sphere_data(15, 4);
  Dataset other = sphere_data(11, 4, 6);
  other.X *= 3;  // rows of any length, as those that are fitted
  for (const bool center : {false, true})
    for (const char* space : {"weights", "gram"}) {
      FitOptions o = small();
      o.width = 250;
      o.space = space;
      o.center = center;
      o.test = as_test(other);
      o.record_every = 1;
      o.max_steps = 6;
      const FitResult r = fit(data, o);
      const Vector mean = center ? Vector(data.X.colwise().mean()) : Vector();
      for (const Index k : {0, 3, 6}) {
        o.max_steps = k;
        const FitResult until = fit(data, o);
        double squares = 0;
        for (Index i = 0; i < other.n(); ++i)
          squares += std::pow(output(until.network.outputs[0], other.X.row(i), mean) - other.y(i), 2);
        const double error = std::sqrt(squares / 11);
        Problem p{other.X, other.y, until.network.outputs[0], activation("softplus")};
        if (center) p.X.rowwise() -= mean.transpose();
        p.X.rowwise().normalize();
        const double off = 2 * output_rounding(p).norm() / std::sqrt(11);
        EXPECT_NEAR(r.outputs[0].curve[static_cast<std::size_t>(k)].test_error.value(), error, off);
        EXPECT_NEAR(until.test->error, error, off);
      }
      EXPECT_EQ(r.test->n, 11);
      EXPECT_FALSE(r.test->wrong);
    }
}

TEST(TestSet, ClassesAreCounted) {
  for (const Index classes : {2, 3}) {
    Dataset data = three_classes(30, 4), other = three_classes(41, 4);
    other.X = sphere(41, 4, 9);
    data.class_names.resize(static_cast<std::size_t>(classes));
    other.class_names = data.class_names;
    for (double& y : data.y) y = std::fmod(y, static_cast<double>(classes));
    for (double& y : other.y) y = std::fmod(y, static_cast<double>(classes));
    FitOptions o = small("gauss_newton");
    o.test = as_test(other);
    const FitResult r = fit(data, o);
    Index wrong = 0;
    std::vector<Index> astray(r.outputs.size());
    for (Index i = 0; i < other.n(); ++i) {
      std::vector<double> f;
      for (const TwoLayer& network : r.network.outputs) f.push_back(output(network, other.X.row(i), {}));
      const auto c = static_cast<Index>(other.y(i));
      const Index said =
          classes == 2 ? (f[0] >= 0 ? 1 : 0) : std::max_element(f.begin(), f.end()) - f.begin();
      if (said != c) ++wrong;
      for (std::size_t k = 0; k < f.size(); ++k)
        if ((f[k] >= 0) != (c == (classes == 2 ? 1 : static_cast<Index>(k)))) ++astray[k];
    }
    EXPECT_GT(wrong, 0);
    EXPECT_EQ(r.test->wrong.value(), wrong);
    EXPECT_DOUBLE_EQ(r.test->error, static_cast<double>(wrong) / 41);
    for (std::size_t k = 0; k < astray.size(); ++k)
      EXPECT_DOUBLE_EQ(r.outputs[k].curve.back().test_error.value(), static_cast<double>(astray[k]) / 41);
  }
}

TEST(TestSet, ChangesNoBitOfTraining) {
  const Dataset data = three_classes(21, 7);
  Dataset other = three_classes(12, 7);
  other.X = sphere(12, 7, 5);
  for (const OptimizerFacts& facts : optimizers())
    for (const char* precision : {"float64", "float32"})
      for (const char* space : {"weights", "gram"}) {
        if (facts.infinite) continue;  // no weights
        if (!facts.float32 && std::string(precision) == "float32") continue;
        if (!facts.gram && std::string(space) == "gram") continue;
        FitOptions o = small(std::string(facts.name), "relu");
        o.precision = precision;
        o.space = space;
        o.max_steps = 40;
        const FitResult without = fit(data, o);
        o.test = as_test(other);
        FitResult with = fit(data, o);
        const auto what = std::string(facts.name) + " " + precision + " " + space;
        EXPECT_TRUE(same(with.network, without.network)) << what;
        EXPECT_EQ(with.certificate.radius, without.certificate.radius) << what;
        for (std::size_t c = 0; c < 3; ++c) {
          for (CurvePoint& p : with.outputs[c].curve) {
            EXPECT_TRUE(p.test_error) << what;
            p.test_error.reset();
          }
          EXPECT_TRUE(same(with.outputs[c].curve, without.outputs[c].curve)) << what;
        }
      }
}

TEST(TestSet, ThatIsNotLikeTheDataIsRefused) {
  FitOptions o = small();
  o.test = as_test(sphere_data(5, 3));
  EXPECT_MESSAGE(DataError, fit(sphere_data(9, 4), o), "fit: `test` new points has 3 features", "has 4");
  o.test = as_test(three_classes(6, 4));
  EXPECT_MESSAGE(DataError, fit(sphere_data(9, 4), o), "for classification", "for regression");
  Dataset renamed = three_classes(6, 4);
  renamed.class_names[1] = "z";
  o.test = as_test(renamed);
  EXPECT_MESSAGE(DataError, fit(three_classes(9, 4), o), "fit: `test` new points is for classification of",
                 "z");
  Dataset zero = sphere_data(5, 4);
  zero.X.row(2).setZero();
  o.test = as_test(zero);
  EXPECT_MESSAGE(DataError, fit(sphere_data(9, 4), o), "new points");
}

TEST(TestSet, AnErrorThatIsNotFiniteIsEmpty) {
  FitOptions o = small("gd", "relu");
  o.step = "1e200";
  o.test = as_test(sphere_data(5, 4, 3));
  const FitResult r = fit(sphere_data(9, 4), o);
  ASSERT_EQ(r.status, Status::diverged);
  EXPECT_TRUE(r.outputs[0].curve.front().test_error);
  for (const CurvePoint& p : r.outputs[0].curve) EXPECT_TRUE(!p.test_error || std::isfinite(*p.test_error));
}

class TestSetResume : public TempFolder {};

TEST_F(TestSetResume, KeepsThePoints) {
  const Dataset data = sphere_data(20, 5);
  FitOptions o = small();
  o.test = as_test(sphere_data(7, 5, 2));
  const FitResult whole = fit(data, o);
  o.checkpoint = path("checkpoint");
  o.resume = true;
  std::atomic<bool> cancel{false};
  int reports = 0;
  Progress progress(
      [&](const ProgressReport& report) {
        if (report.stage.rfind("training", 0) == 0 && ++reports == 9) cancel = true;
      },
      &cancel, 0);
  const FitResult part = fit(data, o, progress);
  ASSERT_EQ(part.status, Status::interrupted);
  EXPECT_FALSE(part.test);
  FitOptions other = o;
  other.test = as_test(sphere_data(7, 5, 3));
  EXPECT_MESSAGE(std::invalid_argument, fit(data, other), "resume: test was ");
  other.test = {};
  EXPECT_MESSAGE(std::invalid_argument, fit(data, other), "is none now");
  const FitResult r = fit(data, o);
  EXPECT_TRUE(same(r.outputs[0].curve, whole.outputs[0].curve));
  EXPECT_EQ(r.test->error, whole.test->error);
}

}  // namespace
}  // namespace zeroloss::test
