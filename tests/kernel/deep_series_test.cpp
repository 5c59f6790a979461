#include "kernel/deep_series.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "oracle_rows.hpp"
#include "support/bounds.hpp"
#include "support/decompositions.hpp"
#include "support/points.hpp"
#include "zeroloss/base/progress.hpp"
#include "zeroloss/kernel/tail.hpp"

namespace zeroloss {
namespace {

using namespace internal;

Depth with(Index layers, double scale) {
  return {.layers = layers, .residual = scale > 0, .scale = scale > 0 ? scale : 1};
}

// Taylor coefficients by Cauchy's integral at 60 digits: never above them, and as close as a double is.
TEST(DeepSeries, CoefficientsAreJustBelowTheExactOnes) {
  int compared = 0;
  std::string before;
  PowerSeries series;
  for (const auto& row : oracle_rows("deep_series_oracle.csv")) {
    const std::string which = row[0] + row[1] + row[2];
    if (which != before)
      series = deep_series(activation(row[0]), with(std::stoll(row[1]), std::stod(row[2])));
    before = which;
    const auto r = static_cast<std::size_t>(std::stoi(row[3]));
    const long double exact = std::strtold(row[4].c_str(), nullptr),
                      found = r < series.c.size() ? series.c[r] : 0;
    EXPECT_LE(found, exact * (1 + 0x1p-63L)) << which << " " << r;  // digits that are read, and a product
    // The goal bounds what rounding down and the ends of tables give away.
    EXPECT_GE(found, exact * (1 - 4e-12L) - 1e-16L) << which << " " << r;
    ++compared;
  }
  EXPECT_EQ(compared, 600);
}

// At every rho >= 0 the kernel lies between the kept coefficients and those with all of the rest.
TEST(DeepSeries, SumsToTheKernel) {
  for (const char* name : {"relu", "leaky_relu", "tanh", "gelu", "softplus", "quadratic"})
    for (const auto& [layers, scale] :
         {std::pair<Index, double>{1, 0}, {2, 0}, {4, 0}, {10, 0}, {1, 1}, {10, 0.3}}) {
      const Depth depth = with(layers, scale);
      const Kernel kernel = deep_tangent(activation(name), depth);
      const PowerSeries series = deep_series(activation(name), depth);
      EXPECT_GE(series.rest_below, 0);
      EXPECT_LE(series.rest_below, series.rest_above);
      for (const double rho : {0.0, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
        long double sum = 0;
        for (std::size_t r = series.c.size(); r-- > 0;) {
          EXPECT_GE(series.c[r], 0);
          sum = sum * rho + series.c[r];
        }
        const double value = kernel(rho), slack = kernel.error();
        EXPECT_LE(sum, value + slack) << kernel.name << " " << rho;
        EXPECT_GE(sum + series.rest_above * std::pow(rho, series.c.size()), value - slack)
            << kernel.name << " " << rho;
        if (rho == 1) {
          EXPECT_LE(sum + series.rest_below, value + slack) << kernel.name;
          if (layers <= 10) {
            EXPECT_GE(sum + series.rest_below, 0.999 * value) << kernel.name;
          }
        }
      }
    }
}

TEST(DeepSeries, TailBoundIsBelowTheSmallestEigenvalue) {
  Progress progress;
  for (const char* name : {"relu", "leaky_relu", "tanh", "gelu"})
    for (const auto& [layers, scale] : {std::pair<Index, double>{2, 0}, {5, 0}, {3, 0.4}})
      for (const auto& [n, d] : {std::pair<Index, Index>{1, 1}, {9, 3}, {60, 20}}) {
        const Depth depth = with(layers, scale);
        const Kernel kernel = deep_tangent(activation(name), depth);
        const RowMatrix X = test::sphere(n, d, static_cast<std::uint64_t>(layers));
        const auto K = gram(X, kernel, progress);
        const Vector values = test::symmetric_eigenvalues(test::dense(K.K));
        const double lowest = values(0);
        const double error = K.entry_error + test::backward_error(static_cast<double>(n)) * values.maxCoeff();
        const TailBound found = tail_bound(X, activation(name), depth, 2, progress);
        EXPECT_LE(found.lambda_min, std::max(0.0, lowest + error)) << kernel.name << " " << n;
        if (n == 60) {  // and worth having
          EXPECT_GE(found.lambda_min, 0.1 * lowest) << kernel.name;
        }
      }
}

TEST(DeepSeries, RefusesWhatItCannotProve) {
  Activation mine = activation("tanh");
  mine.tabulated = false;
  EXPECT_THROW(deep_series(mine, with(2, 0)), std::invalid_argument);
  EXPECT_THROW(deep_series(activation("relu"), with(0, 0)), std::invalid_argument);
  EXPECT_THROW(deep_series(activation("relu"), with(2000, 0)), std::invalid_argument);
}

}  // namespace
}  // namespace zeroloss
