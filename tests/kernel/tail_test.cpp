#include "zeroloss/kernel/tail.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/multiprecision/cpp_dec_float.hpp>
#include <cmath>
#include <map>

#include "kernel/tail_error.hpp"
#include "linalg/lapack.hpp"
#include "oracle_rows.hpp"
#include "support/bounds.hpp"
#include "support/decompositions.hpp"
#include "support/points.hpp"
#include "support/targets.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/threads.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/kernel/gram.hpp"

namespace zeroloss {
namespace {

using namespace internal;
using namespace test;
using Decimal = boost::multiprecision::cpp_dec_float_50;

struct TailRow {
  std::string name;
  int N;
  double x;
  Decimal t;  // sum of c_r x^r, r >= N
};

std::vector<TailRow> tail_rows() {
  std::vector<TailRow> rows;
  for (const auto& row : oracle_rows("tail_oracle.csv"))
    rows.push_back({row[0], std::stoi(row[1]), std::stod(row[2]), Decimal(row[3])});
  return rows;
}

// 40 digits of mpmath: tau_N from below by at most 2e-9 of it, so one that is rounded up is found out.
TEST(Tail, TauIsBelowTheExactOne) {
  int compared = 0;
  for (const TailRow& row : tail_rows()) {
    if (row.x != 1) continue;
    const double below = sigma_series(activation(row.name)).tail_below(row.N);
    EXPECT_LE(Decimal(below), row.t) << row.name << " " << row.N;
    // Twice a factor 1 - 2^-30, and what tables leave out.
    EXPECT_GE(Decimal(below), row.t * Decimal(1 - 2e-9) - Decimal(2e-17)) << row.name << " " << row.N;
    ++compared;
  }
  EXPECT_EQ(compared, 140);
}

// The weights stand for the powers that are summed: never below the exact tail, and close to it, which is a
// goal: half as much again, and some ends of tables.
TEST(Tail, WeightsOfTheGridAreAboveTheExactTail) {
  for (const TailRow& row : tail_rows()) {
    const PowerSeries series = sigma_series(activation(row.name));
    const PowerGrid grid = power_grid(series);
    for (int k = grid.odd ? 0 : 1; k < grid.size(); ++k) {
      if (grid.power(k) != row.N) continue;
      const Vector a = tail_weights(grid, series, row.N);
      Decimal above = 0;
      for (int q = 0; q < grid.size(); ++q) {
        ASSERT_GE(a(q), 0);
        above += Decimal(a(q)) * pow(Decimal(row.x), grid.power(q));
      }
      EXPECT_GE(above, row.t) << row.name << " " << row.N << " " << row.x;
      // A goal: of use, but where the tail is at the rounding of 1.
      EXPECT_LE(above, row.t * Decimal(1.5) + Decimal(1e-15)) << row.name << " " << row.N << " " << row.x;
    }
  }
}

TEST(Tail, ThePowersOfTheGridAreThose) {
  PowerGrid grid;
  grid.octaves = kMostOctaves;
  std::vector<int> powers;
  for (int k = 0; k < 13; ++k) powers.push_back(grid.power(k));
  EXPECT_EQ(powers, (std::vector<int>{0, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32}));
  EXPECT_EQ(grid.power(grid.size() - 1), kMostPower);
  EXPECT_EQ(grid.size(), kMostSums);
  EXPECT_TRUE(power_grid(sigma_series(activation("tanh"))).odd);
  EXPECT_FALSE(power_grid(sigma_series(activation("relu"))).odd);
  EXPECT_EQ(power_grid(sigma_series(activation("quadratic"))).octaves, 0);
}

// Against sums in long double, on every instruction set: never below, as slack and what is left out promise.
TEST(Tail, SumsOfPowersAreNotBelowTheExactOnes) {
  constexpr float kError = 3e-5F;
  Random random(9, Stream::points);
  for (const char* name : {"relu", "tanh", "quadratic", "softplus"}) {
    const PowerGrid grid = power_grid(sigma_series(activation(name)));
    for (const auto& size : {std::pair<Index, Index>{512, 512}, {1, 1}, {70, 33}, {511, 2}}) {
      const Index rows = size.first, columns = size.second;
      std::vector<float> tile(kTile * kTile, 0.F), row_weights(kTile, 0.F), column_weights(kTile, 0.F);
      for (Index i = 0; i < rows; ++i) row_weights[i] = static_cast<float>(0.01 + random.uniform());
      for (Index j = 0; j < columns; ++j) {
        column_weights[j] = static_cast<float>(0.01 + random.uniform());
        for (Index i = 0; i < rows; ++i) {  // near 1, near 0 and between
          const double s = std::pow(random.uniform(), j % 3 == 0 ? 0.001 : j % 3 == 1 ? 1.0 : 9.0);
          tile[j * kTile + i] = static_cast<float>(random.uniform() < 0.5 ? s : -s);
        }
      }
      on_each_target([&](std::int64_t) {
        std::vector<float> row_sums(grid.size() * kTile, 0.F), column_sums(row_sums);
        add_powers(grid, tile.data(), rows, columns, kError, row_weights.data(), column_weights.data(),
                   row_sums.data(), column_sums.data());
        for (int k = grid.odd ? 0 : 1; k < grid.size(); ++k) {
          const int e = grid.power(k);
          const auto exact = [&](auto at, Index count, const std::vector<float>& weights, long double off) {
            long double sum = 0;
            for (Index q = 0; q < count; ++q)
              sum +=
                  std::pow(std::min(1.0L, std::abs(static_cast<long double>(at(q))) + off), e) * weights[q];
            return sum;
          };
          const auto expect = [&](float found, auto at, Index count, const std::vector<float>& weights) {
            const long double sum = static_cast<long double>(found) * sum_slack(e) + kLeftOut * 600;
            ASSERT_GE(sum, exact(at, count, weights, 0)) << name << " power " << e;
            ASSERT_LE(sum, exact(at, count, weights, 1.01L * kError) * (1 + 2 * (sum_slack(e) - 1)) +
                               1200 * kLeftOut)
                << name << " power " << e;
          };
          for (const Index i : {Index{0}, rows / 2, rows - 1})
            expect(
                row_sums[k * kTile + i], [&](Index j) { return tile[j * kTile + i]; }, columns,
                column_weights);
          for (const Index j : {Index{0}, columns / 2, columns - 1})
            expect(
                column_sums[k * kTile + j], [&](Index i) { return tile[j * kTile + i]; }, rows, row_weights);
        }
      });
    }
  }
}

// |k(rho)| <= g(rho) + the tail from 2 on, at every sign.
TEST(Tail, TheFirstSumTakesTheSign) {
  for (const auto& name : activation_names()) {
    const PowerSeries series = sigma_series(activation(name));
    const PowerGrid grid = power_grid(series);
    if (grid.odd) continue;
    const Kernel kernel = sigma(activation(name));
    const Vector a = tail_weights(grid, series, 1);
    for (double rho = -1; rho <= 1; rho += 1.0 / 64) {
      std::vector<float> tile(kTile * kTile, 0.F), one(kTile, 1.F), sums(grid.size() * kTile, 0.F),
          other(sums);
      tile[0] = static_cast<float>(rho);
      add_powers(grid, tile.data(), 1, 1, 0x1p-22F, one.data(), one.data(), sums.data(), other.data());
      double bound = static_cast<double>(sums[0]) + first_sum_error(grid, 0x1p-22);
      for (int k = 1; k < grid.size(); ++k) bound += a(k) * static_cast<double>(sums[k * kTile]);
      EXPECT_GE(bound, std::abs(kernel(rho))) << name << " " << rho;
    }
  }
}

double exact_lambda_min(const RowMatrix& X, const Activation& phi) {
  Progress progress;
  return symmetric_eigenvalues(dense(gram(X, sigma(phi), progress).K))(0);
}

// Not below lambda_min of the exact kernel.
double above_lambda_min(const RowMatrix& X, const Kernel& kernel) {
  Progress progress;
  const auto found = gram(X, kernel, progress);
  const Vector values = symmetric_eigenvalues(dense(found.K));
  return values(0) + found.entry_error + backward_error(static_cast<double>(X.rows())) * values(X.rows() - 1);
}

TailBound bound_of(const RowMatrix& X, const std::string& phi, Index passes = 1) {
  Progress progress;
  return tail_bound(X, activation(phi), {}, passes, progress);
}

RowMatrix normalised(RowMatrix X) {
  Dataset data;
  data.X = std::move(X);
  normalize_rows(data);
  return data.X;
}

TEST(Tail, IsNeverAboveTheSmallestEigenvalue) {
  std::vector<std::pair<std::string, RowMatrix>> sets;
  for (const auto& [n, d] : {std::pair<Index, Index>{1, 1},
                             {1, 7},
                             {2, 2},
                             {3, 2},
                             {17, 5},
                             {40, 200},
                             {100, 30},
                             {513, 40},
                             {600, 16},
                             {1030, 64}})
    sets.emplace_back("sphere", normalised(sphere(n, d, static_cast<std::uint64_t>(n))));
  sets.emplace_back("orthogonal", RowMatrix::Identity(20, 20));
  RowMatrix antipodes(6, 3);
  antipodes << RowMatrix::Identity(3, 3), -RowMatrix::Identity(3, 3);
  sets.emplace_back("antipodes", antipodes);
  sets.emplace_back("one pair of antipodes", normalised((RowMatrix(2, 1) << 1, -1).finished()));
  for (const double apart : {1e-1, 1e-2, 1e-3, 1e-4, 1e-7, 0.0}) {
    RowMatrix X = sphere(30, 50, 3);
    X.row(17) = X.row(4);
    X(17, 0) += apart;
    sets.emplace_back("near pair", normalised(X));
    X.row(17) *= -1;
    sets.emplace_back("near antipodes", normalised(X));
  }
  RowMatrix bunch = 0.02 * sphere(60, 10);  // all within a small cap
  bunch.col(0).array() += 1;
  sets.emplace_back("bunch", normalised(bunch));
  for (const auto& [what, X] : sets) {
    const double product = above_lambda_min(X, power(2));
    for (const auto& name : activation_names()) {
      if (X.rows() > 200 && name != "relu" && name != "tanh") continue;  // one of each parity
      const double lowest = above_lambda_min(X, sigma(activation(name)));
      const TailBound found = bound_of(X, name, 3);
      EXPECT_LE(found.lambda_min, std::max(0.0, lowest)) << what << " " << X.rows() << " " << name;
      EXPECT_LE(found.product, std::max(0.0, product)) << what << " " << X.rows();
      EXPECT_NEAR(found.parts.sum(), 1, test::gamma_of(2.0 * static_cast<double>(X.rows())));
      EXPECT_EQ(found.passes.size(), 3u);
    }
  }
}

TEST(Tail, ProvesMuchWherePointsAreApart) {
  EXPECT_GT(bound_of(RowMatrix::Identity(20, 20), "relu").lambda_min, 0.499);  // lambda_min = 1/2
  for (const char* name : {"relu", "leaky_relu", "softplus", "gelu"}) {
    const RowMatrix X = normalised(sphere(300, 64));
    const double lowest = exact_lambda_min(X, activation(name));
    EXPECT_GT(bound_of(X, name).lambda_min, (name == std::string("softplus") ? 0.02 : 0.15) * lowest) << name;
  }
  // A pair at some distance, and antipodes, which relu tells apart.
  RowMatrix X = RowMatrix::Identity(9, 9);
  X.row(8) = X.row(7);
  X(8, 0) = 0.05;
  const RowMatrix near = normalised(X);
  EXPECT_GT(bound_of(near, "relu").lambda_min, 0.5 * exact_lambda_min(near, activation("relu")));
  X.row(8) = -X.row(7);
  X(8, 0) = 0;
  EXPECT_GT(bound_of(normalised(X), "relu").lambda_min, 0.3);
}

// Of z^2/2 and two points lambda_min is 1 - rho^2: nothing is given away but rounding. A million products
// that are each too small to change the sum of the first thousand, by hundreds too (BLAS adds by blocks), are
// lost in float32, which is more than the powers' slack: without the error of products the bound would be
// wrong.
TEST(Tail, CountsTheErrorOfFloat32) {
  int wrong_without = 0;
  for (const double little : {5.5e-11, 2.7e-11}) {
    const Index d = 1'000'000, large = 1024;
    RowMatrix X(2, d);
    X.leftCols(large).setConstant(1 / std::sqrt(static_cast<double>(large)));
    X.row(1).segment(large - 51, 51) *= -1;
    X.rightCols(d - large).setConstant(std::sqrt(little));
    X = normalised(X);
    long double dot = 0, a = 0, b = 0;
    for (Index k = 0; k < d; ++k) {
      dot += static_cast<long double>(X(0, k)) * X(1, k);
      a += static_cast<long double>(X(0, k)) * X(0, k);
      b += static_cast<long double>(X(1, k)) * X(1, k);
    }
    const long double square = dot * dot / (a * b);
    const TailBound found = bound_of(X, "quadratic");
    EXPECT_LE(found.lambda_min, 1 - square) << little;
    EXPECT_GT(found.lambda_min, 1 - square - 2.5 * float_product_error(d)) << little;
    const Rows<float> F = X.cast<float>();
    float product = 0;
    lapack::gemm('T', 'N', 1, 1, d, 1.F, F.data(), d, F.data() + d, d, 0.F, &product, 1);
    EXPECT_LE(std::abs(product - dot / std::sqrt(a * b)), float_product_error(d)) << little;
    wrong_without += static_cast<long double>(product) * product * sum_slack(2) < square;
  }
  EXPECT_GT(wrong_without, 0);
}

TEST(Tail, WeightsSharpenTheBound) {
  RowMatrix X = 0.35 * sphere(200, 60);  // one point that all others lean towards
  X.col(0).array() += 0.1;
  X.row(0).setZero();
  X(0, 0) = 1;
  X = normalised(X);
  const TailBound found = bound_of(X, "relu", 6);
  EXPECT_GT(found.lambda_min, found.passes.front().lambda_min);
  EXPECT_EQ(found.lambda_min, std::ranges::max_element(found.passes, {}, &TailPass::lambda_min)->lambda_min);
}

TEST(Tail, SeesTheSamePairsAsTheKernel) {
  RowMatrix X = sphere(1100, 12);
  for (Index i = 0; i < 28; ++i) {
    X.row(40 * i + 1) = (i % 2 == 0 ? 1 : -1) * X.row(40 * i);
    X(40 * i + 1, 3) += std::pow(0.3, i % 14 + 1.0);
  }
  X = normalised(X);
  Progress progress;
  const auto whole = gram(X, sigma(activation("relu")), progress);
  const TailBound found = bound_of(X, "relu");
  EXPECT_EQ(found.near_pairs, whole.near_pairs);
  EXPECT_EQ(found.separation, whole.separation);
  ASSERT_EQ(found.closest.size(), whole.closest.size());
  for (std::size_t k = 0; k < found.closest.size(); ++k) {
    EXPECT_EQ(found.closest[k].i, whole.closest[k].i);
    EXPECT_EQ(found.closest[k].j, whole.closest[k].j);
    EXPECT_EQ(found.closest[k].distance, whole.closest[k].distance);
    EXPECT_EQ(found.closest[k].antipodal, whole.closest[k].antipodal);
  }
}

TEST(Tail, DoesNotDependOnThreads) {
  const RowMatrix X = normalised(sphere(1700, 20));
  const int before = set_thread_count(1);
  const TailBound one = bound_of(X, "relu", 2);
  set_thread_count(3);
  const TailBound three = bound_of(X, "relu", 2);
  set_thread_count(before);
  EXPECT_EQ(one.row_sum, three.row_sum);
  EXPECT_EQ(one.row, three.row);
  EXPECT_EQ(one.parts, three.parts);
}

TEST(Tail, RefusesAndStops) {
  Progress progress;
  const RowMatrix X = normalised(sphere(5, 3));
  EXPECT_THROW(tail_bound(X, activation("relu"), {}, 0, progress), std::invalid_argument);
  EXPECT_THROW(tail_bound(RowMatrix(0, 3), activation("relu"), {}, 1, progress), std::invalid_argument);
  EXPECT_THROW(tail_bound(X * NAN, activation("relu"), {}, 1, progress), std::invalid_argument);
  EXPECT_THROW(tail_bound(RowMatrix::Ones(1, (1 << 20) + 1), activation("relu"), {}, 1, progress),
               std::invalid_argument);
  Activation mine = activation("relu");
  mine.tabulated = false;
  EXPECT_THROW(tail_bound(X, mine, {}, 1, progress), std::invalid_argument);
  const std::atomic<bool> cancel{true};
  Progress cancelled({}, &cancel);
  EXPECT_THROW(tail_bound(X, activation("relu"), {}, 1, cancelled), Interrupted);
}

}  // namespace
}  // namespace zeroloss
