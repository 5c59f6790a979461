// Probabilities that targets are right, on residuals whose outliers are known.
#include "audit/residual_model.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "zeroloss/base/random.hpp"

namespace zeroloss::internal {
namespace {

TEST(ResidualModel, FindsOutliersAmongHeavyTails) {
  Random random(1, Stream::noise);
  Vector residuals(2000), precision = Vector::Ones(2000);
  std::vector<bool> wrong(2000);
  for (Index i = 0; i < 2000; ++i) {
    wrong[static_cast<std::size_t>(i)] = i % 20 == 0;
    residuals(i) = wrong[static_cast<std::size_t>(i)] ? 4 * random.uniform() - 2 : 0.05 * random.normal();
  }
  const ResidualModel model = residual_model(residuals, precision, 4);
  EXPECT_NEAR(model.rate, 0.05, 0.015);
  const Estimate rate = estimate_rate(residuals, precision, 4, model, 100, 0);
  EXPECT_LE(rate.low, 0.05);
  EXPECT_GE(rate.high, 0.05);
  int found = 0, false_ones = 0;
  for (Index i = 0; i < 2000; ++i)
    if (model.right(i) < 0.5) (wrong[static_cast<std::size_t>(i)] ? found : false_ones) += 1;
  EXPECT_GE(found, 80);
  EXPECT_LE(false_ones, 10);
}

TEST(ResidualModel, PredictionsWithoutAnErrorAreRight) {
  const ResidualModel model = residual_model(Vector::Zero(10), Vector::Ones(10), 1);
  EXPECT_GT(model.right.minCoeff(), 0.999);
  EXPECT_LT(model.rate, 1e-9);  // changes below it end the fit
  Vector one = Vector::Zero(10);
  one(3) = 0.9;
  EXPECT_LT(residual_model(one, Vector::Ones(10), 1).right(3), 0.5);
}

}  // namespace
}  // namespace zeroloss::internal
