#include "zeroloss/kernel/gram.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <numbers>

#include "most_charged.hpp"
#include "support/points.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
namespace {

using namespace test;

using Long = long double;

// Sigma of the exactly normalised rows, entry by entry in long double (64-bit mantissa): the oracle.
Long exact_rho(const RowMatrix& X, Index i, Index j) {
  Long dot = 0, a = 0, b = 0;
  for (Index k = 0; k < X.cols(); ++k) {
    dot += static_cast<Long>(X(i, k)) * X(j, k);
    a += static_cast<Long>(X(i, k)) * X(i, k);
    b += static_cast<Long>(X(j, k)) * X(j, k);
  }
  return i == j ? 1 : dot / std::sqrt(a * b);
}

Long relu_sigma(const RowMatrix& X, Index i, Index j) {
  Long apart = 0, across = 0, a = 0, b = 0;
  for (Index k = 0; k < X.cols(); ++k) {
    a += static_cast<Long>(X(i, k)) * X(i, k);
    b += static_cast<Long>(X(j, k)) * X(j, k);
  }
  a = std::sqrt(a);
  b = std::sqrt(b);
  for (Index k = 0; k < X.cols(); ++k) {
    const Long s = X(i, k) / a, t = X(j, k) / b;
    apart += (s - t) * (s - t);
    across += (s + t) * (s + t);
  }
  const Long theta = i == j ? 0 : 2 * std::atan2(std::sqrt(apart), std::sqrt(across));
  return std::cos(theta) * (std::numbers::pi_v<Long> - theta) / (2 * std::numbers::pi_v<Long>);
}

TEST(Gram, MatchesTheDefinitionWithinItsOwnBound) {
  Progress progress;
  const Kernel kernel = sigma(activation("relu"));
  for (const auto& [n, d] :
       {std::pair<Index, Index>{1, 1}, {2, 1}, {3, 2}, {17, 5}, {64, 64}, {100, 3}, {513, 7}, {1030, 4}}) {
    const RowMatrix X = sphere(n, d);
    const auto result = gram(X, kernel, progress);
    Long squares = 0;
    for (Index j = 0; j < n; ++j)
      for (Index i = j; i < n; ++i) {
        const Long error = result.K(i, j) - relu_sigma(X, i, j);
        squares += (i == j ? 1 : 2) * error * error;
      }
    EXPECT_LE(std::sqrt(squares), result.entry_error) << n << " x " << d;
    EXPECT_LE(result.entry_error, static_cast<double>(n) * most_charged(kernel, d)) << n << " x " << d;
  }
}

TEST(Gram, OtherPointsGiveTheEntriesOfAllPointsTogether) {
  Progress progress;
  RowMatrix all = sphere(640, 9);
  all.row(600) = all.row(3);  // an equal and an antipodal pair across
  all.row(601) = -all.row(4);
  for (const auto& name : activation_names())
    for (const Kernel& kernel : {sigma(activation(name)), sigma_features(activation(name))}) {
      const auto both = gram(all, kernel, progress);
      const RowMatrix X = all.topRows(595), Z = all.bottomRows(45);
      const RowMatrix K = cross_gram(X, Z, kernel, progress);
      ASSERT_EQ(K.rows(), 595);
      ASSERT_EQ(K.cols(), 45);
      double farthest = 0;
      for (Index i = 0; i < 595; ++i)
        for (Index j = 0; j < 45; ++j) farthest = std::max(farthest, std::abs(K(i, j) - both.K(595 + j, i)));
      EXPECT_LE(farthest, 2 * both.entry_error) << kernel.name;  // both are that close to the exact kernel
      const RowMatrix few = cross_gram(RowMatrix(X.topRows(1)), Z, kernel, progress);
      EXPECT_EQ(few.rows(), 1);
    }
  EXPECT_THROW(cross_gram(all, sphere(2, 8), power(1), progress), std::invalid_argument);
}

TEST(Gram, EveryActivationMatchesItsKernelWithinTheBound) {
  Progress progress;
  const RowMatrix X = sphere(60, 9);
  for (const auto& name : activation_names())
    for (const Kernel& kernel : {sigma(activation(name)), sigma_features(activation(name)), power(3)}) {
      const auto result = gram(X, kernel, progress);
      double squares = 0;
      for (Index j = 0; j < 60; ++j)
        for (Index i = j; i < 60; ++i) {
          const double rho = static_cast<double>(exact_rho(X, i, j));
          const double error = result.K(i, j) - kernel(rho);
          squares += (i == j ? 1 : 2) * error * error;
        }
      // The reference itself rounds: one u of rho and the scalar dual's error.
      const double slack =
          60 * (2 * kernel.dual.error + 4 * kUnit * (std::isfinite(kernel.slope()) ? kernel.slope() : 4));
      EXPECT_LE(std::sqrt(squares), result.entry_error + slack) << kernel.name;
    }
}

// relu's derivative is singular at rho = +-1: pairs at distances 1e-2 .. 1e-15, and their antipodes.
TEST(Gram, ClosePairsKeepFullAccuracy) {
  Progress progress;
  RowMatrix X(40, 6);
  const RowMatrix base = sphere(2, 6);
  for (Index i = 0; i < 20; ++i) {
    const double distance = std::pow(10.0, -0.75 * static_cast<double>(i) - 1);
    const Eigen::RowVectorXd orthogonal = base.row(1) - base.row(1).dot(base.row(0)) * base.row(0);
    X.row(2 * i) = (base.row(0) + distance * orthogonal.normalized()).normalized();
    X.row(2 * i + 1) = -X.row(2 * i) * (i % 2 == 0 ? 1 : -1);
    if (i % 2 == 1) X.row(2 * i + 1) = sphere(1, 6, static_cast<std::uint64_t>(100 + i)).row(0);
  }
  const Kernel kernel = sigma(activation("relu"));
  const auto result = gram(X, kernel, progress);
  EXPECT_GT(result.near_pairs, 20);
  Long squares = 0, worst = 0;
  for (Index j = 0; j < 40; ++j)
    for (Index i = j; i < 40; ++i) {
      const Long error = std::abs(result.K(i, j) - relu_sigma(X, i, j));
      worst = std::max(worst, error);
      squares += (i == j ? 1 : 2) * error * error;
    }
  EXPECT_LE(std::sqrt(squares), result.entry_error);
  EXPECT_LE(worst, most_charged(kernel, 6));
  EXPECT_LE(result.entry_error, 40 * most_charged(kernel, 6));
}

TEST(Gram, DoesNotDependOnThreads) {
  Progress progress;
  const RowMatrix X = sphere(1500, 20);
  const Kernel kernel = sigma(activation("gelu"));
  const auto many = gram(X, kernel, progress);
  omp_set_num_threads(1);
  const auto one = gram(X, kernel, progress);
  omp_set_num_threads(omp_get_num_procs());
  EXPECT_EQ(dense(many.K), dense(one.K));
  ASSERT_EQ(many.closest.size(), one.closest.size());
  for (std::size_t p = 0; p < one.closest.size(); ++p) EXPECT_EQ(many.closest[p].i, one.closest[p].i);
}

TEST(Gram, ClosestPairsAreThose) {
  Progress progress;
  const RowMatrix X = sphere(700, 6);
  std::vector<double> distances;
  for (Index j = 0; j < 700; ++j)
    for (Index i = j + 1; i < 700; ++i)
      distances.push_back(std::min((X.row(i) - X.row(j)).norm(), (X.row(i) + X.row(j)).norm()));
  std::sort(distances.begin(), distances.end());
  const auto result = gram(X, power(1), progress);
  ASSERT_EQ(result.closest.size(), 16u);
  for (std::size_t p = 0; p < 16; ++p) {
    const auto& pair = result.closest[p];
    const double close = (4 + 5) * kUnit * distances[p];  // of ours, and of 6 squares, their sum and its root
    EXPECT_NEAR(pair.distance, distances[p], close);
    EXPECT_NEAR((X.row(pair.i) + (pair.antipodal ? 1 : -1) * X.row(pair.j)).norm(), distances[p], close);
  }
}

TEST(Gram, FloatMatchesDouble) {
  Progress progress;
  const RowMatrix X = sphere(600, 30);
  const Rows<float> Y = X.cast<float>();
  for (const auto& name : activation_names()) {
    const Kernel kernel = sigma(activation(name));
    const auto single = gram(Y, kernel, progress);
    const auto twice = gram(X, kernel, progress);
    // rho is off by (d + 2) 2^-24 and is multiplied by the slope; Horner adds its terms. relu's slope: rho
    // stays below 0.95 here.
    const double slope = std::isfinite(kernel.slope()) ? kernel.slope() : 1.1;
    const double terms = static_cast<double>(kernel.dual.coefficients.size());
    EXPECT_LE((dense(single.K).cast<double>() - dense(twice.K)).lpNorm<Eigen::Infinity>() / 600,
              ((30 + 4) * slope + 2 * terms + 16) * 0x1p-24)
        << name;
    EXPECT_TRUE(std::isinf(single.entry_error));
  }
}

// Theory 3: the Frobenius norm of what is charged to relu's entries, both triangles counted; pairs beside
// each other through rho, nearer ones by their angle.
TEST(Gram, ChargesBothTriangles) {
  Progress progress;
  const Kernel kernel = sigma(activation("relu"));
  constexpr double u = kUnit;
  for (const auto& [angle, d] : {std::pair{4e-3, Index{1000}}, {1e-4, Index{2}}}) {
    RowMatrix X = RowMatrix::Zero(2, d);
    X(0, 0) = 1;
    X.row(1).head(2) << std::cos(angle), std::sin(angle);
    const auto found = gram(X, kernel, progress);
    const auto terms = static_cast<double>(d);
    const double e = unit_row_error(d), delta = terms * u / (1 - terms * u) + 2 * e;
    const bool near = 1 - std::cos(angle) <= internal::kNear;
    EXPECT_EQ(found.near_pairs, near ? 1 : 0);
    const double slope = 1 / std::sin(angle) / (2 * std::numbers::pi);
    const double charged = delta + std::sqrt(2) * (near ? 0.66 * (2.1 * e + 30 * u) : delta * slope) +
                           2 * (2 * kernel.dual.error + 16 * u);
    const double off = 4 * u / std::pow(std::sin(angle), 2);  // 1 - rho^2 of a rounded cosine, and more
    EXPECT_GE(found.entry_error, charged * (1 - off));
    EXPECT_LE(found.entry_error, charged * 1.01);
  }
}

// Where the slope is bounded: n times the error of an entry, for n^2 of them.
TEST(Gram, ChargesEveryEntryOfASmoothKernel) {
  Progress progress;
  constexpr double u = kUnit;
  EXPECT_GE(power(3).slope(), 3);  // of rho^3 at 1
  for (const auto& kernel : {sigma(activation("softplus")), sigma_features(activation("tanh")), power(3)}) {
    const double delta = 300 * u / (1 - 300 * u) + 2 * unit_row_error(300);
    const double entry =
        delta * kernel.slope() + 2 * kernel.dual.error + 16 * u * std::max(1.0, std::abs(kernel(1)));
    const double charged = gram(sphere(7, 300), kernel, progress).entry_error;
    EXPECT_GE(charged, 7 * entry * (1 - test::gamma_of(16))) << kernel.name;
    EXPECT_LE(charged, 7 * entry * 1.01) << kernel.name;
  }
}

// relu's kernel of points that are nearly opposite is all angle: acos or asin would lose half of its digits.
TEST(Gram, NearlyOppositePointsKeepTheirAngle) {
  Progress progress;
  RowMatrix X = sphere(2, 5);
  for (const double off : {1e-4, 1e-6, 1e-9}) {
    X.row(1) = -X.row(0);
    X(1, 2) += off;
    X.row(1).normalize();
    const Long exact = relu_sigma(X, 1, 0);
    const Kernel kernel = sigma(activation("relu"));
    const double charged =
        0.66 * (2.1 * unit_row_error(5) + 30 * kUnit) + kernel.error() + kUnit;  // theory 3
    EXPECT_NEAR(gram(X, kernel, progress).K(1, 0), static_cast<double>(exact), charged) << off;
    const RowMatrix top = X.topRows(1), bottom = X.bottomRows(1);
    EXPECT_NEAR(cross_gram(bottom, top, kernel, progress)(0, 0), static_cast<double>(exact), charged) << off;
  }
}

// A pair on either side of the cut between measured and computed distances: whichever is closer, none may be
// closer than the bound. The cut lies at sqrt(2e-6), where rounding of rho moves a distance by some 1e-13.
TEST(Gram, SeparationIsBelowTheTrueOneBesideTheCutOfNearPairs) {
  Progress progress;
  constexpr Index d = 50;
  int both = 0;
  for (std::uint64_t trial = 0; trial < 2000; ++trial) {
    const RowMatrix base = sphere(4, d, trial);
    RowMatrix X(4, d);
    for (Index p = 0; p < 2; ++p) {  // two points at the distance of the cut, give or take its last digits
      X.row(2 * p) = base.row(2 * p);
      const Eigen::RowVectorXd side =
          base.row(2 * p + 1) - base.row(2 * p + 1).dot(base.row(2 * p)) * base.row(2 * p);
      X.row(2 * p + 1) = base.row(2 * p) + side.normalized() * std::tan(2 * std::asin(std::sqrt(5e-7)));
    }
    Dataset unit;
    unit.X = X;
    normalize_rows(unit);
    const auto found = gram(unit.X, power(1), progress);
    both += found.near_pairs == 1;
    Long least = 4;
    for (Index p = 0; p < 2; ++p) {
      Long squares = 0, a = 0, b = 0;
      for (Index k = 0; k < d; ++k) {
        a += static_cast<Long>(X(2 * p, k)) * X(2 * p, k);
        b += static_cast<Long>(X(2 * p + 1, k)) * X(2 * p + 1, k);
      }
      for (Index k = 0; k < d; ++k) {
        const Long apart = X(2 * p, k) / std::sqrt(a) - X(2 * p + 1, k) / std::sqrt(b);
        squares += apart * apart;
      }
      least = std::min(least, std::sqrt(squares));
    }
    EXPECT_LE(found.separation, least) << trial;
    // A distance has d^2 = 2 - 2 rho: it is off by twice the error of rho, over 2 d.
    const double product_error = test::gamma_of(d) + 2.01 * unit_row_error(d);
    EXPECT_GE(found.separation, least - 2.1 * product_error / least) << trial;
  }
  EXPECT_GT(both, 100);  // pairs fall on different sides often enough
}

TEST(Gram, TheErrorDoesNotDependOnThreads) {
  const RowMatrix X = sphere(1800, 6);
  const int before = omp_get_max_threads();
  std::vector<double> errors;
  for (const int threads : {1, 2, 3, 4, 4, 4}) {
    omp_set_num_threads(threads);
    Progress progress;
    errors.push_back(gram(X, sigma(activation("relu")), progress).entry_error);
  }
  omp_set_num_threads(before);
  for (const double error : errors) EXPECT_EQ(error, errors.front());
}

TEST(Gram, BadInput) {
  Progress progress;
  const Kernel kernel = power(1);
  EXPECT_THROW(gram(RowMatrix(0, 3), kernel, progress), std::invalid_argument);
  EXPECT_THROW(gram(RowMatrix(3, 0), kernel, progress), std::invalid_argument);
  RowMatrix X = sphere(3, 2);
  X(1, 1) = std::nan("");
  EXPECT_THROW(gram(X, kernel, progress), std::invalid_argument);
  std::atomic<bool> cancel{true};
  Progress stopped({}, &cancel);
  EXPECT_THROW(gram(sphere(3, 2), kernel, stopped), Interrupted);
}

}  // namespace
}  // namespace zeroloss
