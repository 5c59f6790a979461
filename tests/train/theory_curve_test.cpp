// Theory beside a run: whichever theorem an optimizer's row names, it gets all that it asks for.
#include "train/theory_curve.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/fit_cases.hpp"
#include "train/optimizers/optimizers.hpp"
#include "zeroloss/theory/certify.hpp"

namespace zeroloss::test {
using namespace internal;
namespace {

// The numbers are those of certify, which proves lambda_min with another slack: 1e-7, of which a width has
// the fourth power, and is rounded up. certify's row is the first of the id.
void expect_as_certify(const TheoremBeside& found, const CertifyResult& certified) {
  const auto row = std::find_if(certified.guarantees.begin(), certified.guarantees.end(),
                                [&](const Guarantee& g) { return g.id == found.id; });
  ASSERT_NE(row, certified.guarantees.end());
  EXPECT_EQ(found.holds, row->holds && row->verified) << found.reason;
  const double width = row->width.value_or(0), step = row->step.value_or(0);
  constexpr double kSlack = 1e-7;
  EXPECT_NEAR(found.width, width, 5 * kSlack * width + 1);
  EXPECT_NEAR(found.step, step, 5 * kSlack * step);
  EXPECT_EQ(found.reason.find("not given"), std::string::npos) << found.reason;
  EXPECT_EQ(found.reason.find("not known"), std::string::npos) << found.reason;
}

TEST(TheoryCurve, HasWhatEveryTheoremAsksFor) {
  const Dataset data = sphere_data(12, 16);
  const TrainingSet set = training_set(data, false, true);
  Progress silent;
  int tried = 0;
  for (const char* name : {"relu", "softplus"}) {
    const Activation& phi = activation(name);
    CertifyOptions wanted;
    wanted.activation = name;
    wanted.width = 60;
    const CertifyResult certified = certify(data, wanted);
    for (const char* scaling : {"ntk", "balanced"})
      for (const Theorem& one : theorems()) {
        if (!covers(one.id, phi, scaling)) continue;
        SCOPED_TRACE(std::string(name) + ", " + scaling + ", " + one.id);
        const std::string_view beside[] = {one.id};
        Method with = method("gd");
        with.theorems = beside;
        FitOptions asked = small("gd", name);
        asked.scaling = scaling;
        CheckedOptions options = checked(asked);
        options.method = &with;
        const PointTheory theory = point_theory(set, phi, options, silent);
        TheoryCurve expectation(theory, phi, options, set.points.X, set.Y.col(0), 1);
        EXPECT_EQ(expectation.theorem().id, one.id);
        expect_as_certify(expectation.theorem(), certified);
        ++tried;
      }
  }
  EXPECT_EQ(tried, 20);  // relu: 6 and 6, softplus: 3 and 5
}

// What stands beside gradient descent on 12 points after k steps, from outputs that are off by `r0`.
CurvePoint beside_descent(const CheckedOptions& options, const Dataset& data, double v_squares, double step,
                          Index k, double* of_theorem = nullptr) {
  const TrainingSet set = training_set(data, false, true);
  const Activation& phi = activation(options.activation);
  Progress silent;
  const PointTheory theory = point_theory(set, phi, options, silent);
  TheoryCurve curve(theory, phi, options, set.points.X, set.Y.col(0), 1);
  if (of_theorem != nullptr) *of_theorem = curve.theorem().step;
  curve.begin(v_squares, normals(12, 7), step);
  CurvePoint point;
  point.step = k;
  curve.complete(point);
  return point;
}

// At a quarter of the theorem's step four steps are bounded by no less than one step is.
TEST(TheoryCurve, SmallerStepsAreSlower) {
  const CheckedOptions options = checked(small("gd", "relu"));
  const Dataset data = sphere_data(12, 16);
  double step = 0;
  beside_descent(options, data, 1, 1e-9, 0, &step);
  ASSERT_GT(step, 0);
  const auto bound = [&](Index steps) {
    return beside_descent(options, data, 1, step, steps).bound_misfit.value();
  };
  Index k = 1;  // steps that take between a half and three quarters of the misfit
  while (bound(k) > bound(0) / 2) k *= 2;
  const double whole = bound(k);
  const double quarter = beside_descent(options, data, 1, step / 4, 4 * k).bound_misfit.value();
  ASSERT_GT(whole, bound(0) / 5);
  EXPECT_GE(quarter, whole);
  EXPECT_LT(quarter, bound(0));
}

// The kernel of a network with output weights v is ||v||^2 Sigma: twice the weights at a quarter of the step
// are one course.
TEST(TheoryCurve, ForecastsCountTheOutputWeights) {
  const CheckedOptions options = checked(small("gd", "softplus"));
  const Dataset data = sphere_data(12, 16);
  const auto forecast = [&](double v_squares, double step) {
    return beside_descent(options, data, v_squares, step, 50).forecast.value();
  };
  const double one = forecast(1, 0.02);
  EXPECT_NEAR(forecast(4, 0.005), one, 200 * backward_error(12) * one);  // 50 products, each the same number
  EXPECT_GT(forecast(1, 0.005), one * 1.01);
}

}  // namespace
}  // namespace zeroloss::test
