#include <gtest/gtest.h>

#include <cmath>

#include "support/bounds.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/data/dataset.hpp"

namespace zeroloss {
namespace {

RowMatrix points(Index n, Index d, std::uint64_t seed) {
  Random random(seed, Stream::points);
  RowMatrix X(n, d);
  for (double& x : X.reshaped()) x = random.normal();
  for (Index j = 0; j < d; ++j) X.col(j) = X.col(j) * std::pow(10.0, 3 * j - 4) + Vector::Constant(n, j);
  return X;
}

bool power_of_two(double x) {
  int exponent = 0;
  return x > 0 && std::frexp(x, &exponent) == 0.5;
}

TEST(Standardize, ScalesArePowersOfTwoNextToTheSpread) {
  const RowMatrix X = points(200, 5, 1);
  for (const std::string how : {"yes", "robust", "min-max"}) {
    const Standardization s = standardization(X, how, 0);
    for (Index j = 0; j < 5; ++j) {
      ASSERT_TRUE(power_of_two(s.scale(j)));
      const Vector z = X.col(j) * s.scale(j);
      const double deviation = std::sqrt((z.array() - z.mean()).square().mean());
      const double range = z.maxCoeff() - z.minCoeff();
      if (how == "min-max") {
        EXPECT_LE(range, 1);
        EXPECT_GT(range, 0.5);
        EXPECT_EQ(s.origin.high(j), z.minCoeff());
      } else {
        EXPECT_LT(deviation, how == "yes" ? 1.42 : 1.8) << how;
        EXPECT_GT(deviation, how == "yes" ? 0.70 : 0.55) << how;
      }
      if (how == "yes") {
        // n - 1 additions and a division here, one rounding there
        EXPECT_NEAR(s.origin.high(j), z.mean(), 201 * test::kUnit * z.cwiseAbs().maxCoeff());
      }
    }
  }
}

TEST(Standardize, NothingIsRounded) {
  RowMatrix X = points(100, 4, 2);
  X(0, 0) = 0x1p-1074;  // times a large power of two it would still be exact, divided it would not
  X.col(3) *= 1e300;
  for (const std::string how : {"yes", "robust", "min-max"}) {
    const Standardization s = standardization(X, how, 1);
    const RowMatrix Z = scaled(X, s);
    ASSERT_EQ(Z.cols(), 5);
    for (Index j = 0; j < 4; ++j) EXPECT_EQ(Z.col(j) / s.scale(j), X.col(j)) << how << j;
    EXPECT_EQ(Z.col(4), Vector::Constant(100, s.bias));
    EXPECT_EQ(s.origin.high(4), 0);
  }
}

TEST(Standardize, TheConstantIsInRootMeanSquareLengths) {
  const RowMatrix X = points(300, 9, 3);
  const Standardization s = standardization(X, "yes", 0.5);
  const RowMatrix Z = scaled(X, s).leftCols(9).rowwise() - s.origin.high.head(9).transpose();
  EXPECT_NEAR(s.bias, 0.5 * std::sqrt(Z.rowwise().squaredNorm().mean()),
              s.bias * test::gamma_of(300 + 9 + 4));
  EXPECT_EQ(standardization(RowMatrix::Constant(3, 2, 7.0), "yes", 2).bias, 2)
      << "points that are all the same";
  const Standardization none = standardization(X, "no", 0);
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(scaled(X, none), X);
}

TEST(Standardize, OddColumns) {
  RowMatrix X(3, 4);
  X << 5, 0, 1e308, 0x1p-1074,  //
      5, 0, -1e308, 0,          //
      5, 0, 0, 0x1p-1074;
  for (const std::string how : {"yes", "robust", "min-max"}) {
    const Standardization s = standardization(X, how, 1);
    EXPECT_EQ(s.scale(0), 1) << how;
    EXPECT_EQ(s.scale(1), 1) << how;
    EXPECT_TRUE(scaled(X, s).allFinite()) << how;
    EXPECT_TRUE(s.origin.high.allFinite()) << how;
    EXPECT_TRUE(std::isfinite(s.bias)) << how;
  }
  EXPECT_EQ(standardization(RowMatrix{{3}}, "yes", 1).bias, 1) << "one point";
}

TEST(Standardize, BadOptionsAreNamed) {
  const RowMatrix X = points(4, 2, 4);
  EXPECT_MESSAGE(std::invalid_argument, standardization(X, "z-score", 0), "standardize", "z-score");
  EXPECT_MESSAGE(std::invalid_argument, standardization(X, "yes", -1), "bias", "-1");
  EXPECT_MESSAGE(std::invalid_argument, standardization(X, "yes", std::nan("")), "bias");
}

class StandardizedTables : public test::TempFolder {};

TEST_F(StandardizedTables, TablesAreAndNothingElse) {
  const std::string table = write("t.csv", "a,b,y\n1,1000,0.5\n2,3000,1.5\n4,2000,2.5\n");
  const Dataset data = read_dataset(table);
  EXPECT_EQ(data.standardization.how, "yes");
  EXPECT_GT(data.standardization.bias, 0);
  EXPECT_EQ(data.X, (RowMatrix{{1, 1000}, {2, 3000}, {4, 2000}})) << "X is as it was read";
  EXPECT_TRUE(read_dataset(table, {.standardize = "no", .bias = 0}).standardization.empty());
  EXPECT_EQ(read_dataset(table, {.standardize = "robust"}).standardization.how, "robust");
  EXPECT_TRUE(read_dataset("digits", {.n = 20}).standardization.empty());
  EXPECT_EQ(read_dataset("digits", {.standardize = "yes", .n = 20}).standardization.how, "yes");
  EXPECT_MESSAGE(std::invalid_argument, read_dataset(table, {.standardize = "yes", .d = 1}), "exclude");
}

}  // namespace
}  // namespace zeroloss
