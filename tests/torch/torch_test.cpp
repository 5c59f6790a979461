#include <gtest/gtest.h>
#include <torch/types.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <numbers>

#include "kernel/distances.hpp"
#include "kernel/oracle_rows.hpp"
#include "kernel/power_sums.hpp"
#include "kernel/tail_error.hpp"
#include "kernel/tail_passes.hpp"
#include "support/bounds.hpp"
#include "support/engine_cases.hpp"
#include "torch/cuda.hpp"
#include "torch/device.hpp"
#include "torch/entries.hpp"
#include "torch/matrix.hpp"
#include "torch/pairs.hpp"
#include "torch/probe.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/kernel/spectrum.hpp"
#include "zeroloss/kernel/tail.hpp"
#include "zeroloss/theory/certify.hpp"
#include "zeroloss/torch/engine.hpp"

// Kernels as tensors, on the processor and, where there is one, on a GPU: against exact numbers, and against
// what one process says without LibTorch.
namespace zeroloss {
namespace {

using namespace internal;
using namespace test;
using Long = long double;
using LongMatrix = Eigen::Matrix<Long, Eigen::Dynamic, Eigen::Dynamic>;

constexpr double u = 0x1p-53;
constexpr Long kPi = std::numbers::pi_v<Long>;

class OnDevice : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("cuda") && cuda::devices() == 0) GTEST_SKIP() << "no GPU";
    if (GetParam() == std::string("cuda")) cuda::use(0);
  }
  static torch::Device device() { return device_of("test", GetParam()); }
  static std::unique_ptr<Engine> engine() { return torch_engine(GetParam()); }

  Progress progress;
};

INSTANTIATE_TEST_SUITE_P(Torch, OnDevice, testing::Values("cpu", "cuda"),
                         [](const auto& info) { return std::string(info.param); });

// ---- entries ----

std::vector<double> mapped(const Kernel& kernel, const std::vector<double>& rho,
                           const torch::Device& device) {
  torch::Tensor values = torch::tensor(rho, torch::kDouble).to(device);
  TorchEntries(kernel, device).map(values);
  const torch::Tensor host = values.to(torch::kCPU);
  return {host.data_ptr<double>(), host.data_ptr<double>() + host.numel()};
}

// What theory 3 proves of one entry; half of what entry_error() charges.
double proved(const Kernel& kernel) { return kernel.error() + u * std::max(1.0, std::abs(kernel(1))); }

void expect_proved(const Kernel& kernel, const std::vector<double>& rho, const std::vector<Long>& exact,
                   const torch::Device& device) {
  const std::vector<double> values = mapped(kernel, rho, device);
  for (std::size_t i = 0; i < rho.size(); ++i)
    ASSERT_LE(std::abs(values[i] - exact[i]), proved(kernel)) << kernel.name << " at " << rho[i];
}

TEST_P(OnDevice, EntriesAreWithinTheProvedErrorOfTheExactKernel) {
  const auto rows = oracle_rows("entries_oracle.csv");
  for (const auto& name : activation_names()) {
    std::vector<double> rho;
    std::vector<Long> hidden, features;
    for (const auto& row : rows)
      if (row[0] == name) {
        rho.push_back(std::strtod(row[1].c_str(), nullptr));
        hidden.push_back(rho.back() * std::strtold(row[2].c_str(), nullptr));
        features.push_back(std::strtold(row[3].c_str(), nullptr));
      }
    ASSERT_GT(rho.size(), 200u);
    expect_proved(sigma(activation(name)), rho, hidden, device());
    expect_proved(sigma_features(activation(name)), rho, features, device());
    if (name != "relu") continue;
    for (const int r : {1, 2, 3, 4, 7, 20}) {
      std::vector<Long> exact;
      for (const Long x : rho) exact.push_back(std::pow(x, r));
      expect_proved(power(r), rho, exact, device());
    }
  }
}

TEST_P(OnDevice, EntriesOfManyLayersAreWithinTheProvedError) {
  struct Points {
    std::vector<double> rho;
    std::vector<Long> features, both;
  };
  std::map<std::tuple<std::string, Index, double>, Points> sets;
  for (const auto& row : oracle_rows("deep_oracle.csv")) {
    const double rho = std::strtod(row[3].c_str(), nullptr);
    if (std::abs(rho) > 1 - kNear) continue;  // measured on the vectors
    Points& points = sets[{row[0], std::stoll(row[1]), std::stod(row[2])}];
    points.rho.push_back(rho);
    points.features.push_back(std::strtold(row[4].c_str(), nullptr));
    points.both.push_back(std::strtold(row[5].c_str(), nullptr));
  }
  ASSERT_GT(sets.size(), 10u);
  for (const auto& [which, points] : sets) {
    const auto& [name, layers, scale] = which;
    const Depth depth{.layers = layers, .residual = scale > 0, .scale = scale > 0 ? scale : 1};
    expect_proved(deep_features(activation(name), depth), points.rho, points.features, device());
    expect_proved(deep_tangent(activation(name), depth), points.rho, points.both, device());
  }
}

TEST_P(OnDevice, NothingIsMadeOfWhatIsNoNumber) {
  for (const Kernel& kernel : {sigma(activation("relu")), sigma(activation("softplus")), power(2),
                               tangent(activation("relu"), {.layers = 3})})
    EXPECT_TRUE(std::isnan(mapped(kernel, {0.5, NAN}, device())[1])) << kernel.name;
}

// What theory 3 takes the functions of tensors for, against the 64 bits of long double.
TEST_P(OnDevice, FunctionsAreWithinTheUlpsThatAreAssumed) {
  std::vector<double> x{0, 1, -1, 0.5, -0.5, 0x1p-30, -0x1p-600, 1 - u, u - 1};
  Random random(3, Stream::points);
  for (int k = 0; k < 2'000'000; ++k) {
    const double uniform = 2 * random.uniform() - 1;
    x.push_back(k % 4 == 0   ? std::copysign(1 - std::ldexp(std::abs(uniform), -(k / 4) % 53), uniform)
                : k % 4 == 1 ? std::ldexp(uniform, -(k / 4) % 60)
                             : uniform);
  }
  const auto worst = [&](const auto& function, const auto& exact) {
    torch::Tensor values = torch::tensor(x, torch::kDouble).to(device());
    function(values);
    const torch::Tensor host = values.to(torch::kCPU);
    Long most = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      const Long of = exact(static_cast<Long>(x[k]));
      if (of == 0) {
        EXPECT_EQ(host.data_ptr<double>()[k], 0);
      }
      if (of == 0) continue;
      const Long ulp = std::ldexp(1.0L, std::ilogb(static_cast<double>(of)) - 52);
      most = std::max(most, std::abs(host.data_ptr<double>()[k] - of) / ulp);
    }
    return static_cast<double>(most);
  };
  const double asin = worst([](torch::Tensor&t) { t.asin_(); }, [](Long v) { return std::asin(v); }),
               root = worst([](torch::Tensor&t) { t.abs_().sqrt_(); },
                            [](Long v) { return std::sqrt(std::abs(v)); }),
               inverse = worst([](torch::Tensor&t) { t.add_(2).reciprocal_(); },
                               [](Long v) { return 1 / static_cast<Long>(static_cast<double>(v) + 2); });
  for (const auto& [name, ulps] : {std::pair("asin", asin), {"sqrt", root}, {"reciprocal", inverse}})
    RecordProperty(name, std::to_string(ulps));
  EXPECT_LE(asin, 4);
  EXPECT_LE(root, 1);
  EXPECT_LE(inverse, 1);
}

TEST_P(OnDevice, ProductsBeyondOneAreClamped) {
  const auto values = mapped(sigma(activation("relu")), {1 + 1e-15, -1 - 1e-15}, device());
  EXPECT_DOUBLE_EQ(values[0], 0.5);
  EXPECT_NEAR(values[1], 0, sigma(activation("relu")).error());
}

// ---- the closest pairs of a tile ----

TEST_P(OnDevice, LargestPairsOfATile) {
  torch::Tensor size = torch::full({40, 30}, -1.0, torch::kDouble);  // no pairs
  EXPECT_TRUE(largest_pairs(size.to(device()), 0.2, 0, 0.9).empty());
  for (int k = 0; k < 20; ++k) size.index_put_({2 * k, k}, 0.3 + 0.02 * k);
  size.index_put_({1, 1}, 0.95);
  const auto places = [&](double least, double error, double all) {
    std::vector<double> sizes;
    for (const Found& pair : largest_pairs(size.to(device()), least, error, all)) {
      EXPECT_EQ(size.view({-1})[pair.place].item<double>(), pair.size);
      sizes.push_back(pair.size);
    }
    return sizes.size();
  };
  EXPECT_EQ(places(0, 0, 0.9), 16u);
  EXPECT_EQ(places(0, 0.011, 0.9), 17u);  // the 17th may be the 16th
  EXPECT_EQ(places(0.64, 0, 0.9), 4u);    // 0.64, 0.66, 0.68, 0.95
  EXPECT_EQ(places(0.99, 0, 0.65), 3u);   // all from there on
  EXPECT_EQ(places(0, 0, 0.31), 20u);
}

// ---- matrices ----

struct Case {
  Index n, d, width;
};
const Case kCases[] = {{1, 1, 512}, {2, 3, 1},     {3, 4, 2},      {5, 3, 128},  {17, 6, 4},     {50, 10, 1},
                       {97, 20, 7}, {257, 30, 64}, {500, 16, 512}, {600, 30, 9}, {1100, 40, 128}};

// The same numbers as of one process, up to roundings, and L L^T = A.
TEST_P(OnDevice, MatrixDoesWhatAPackedOneDoes) {
  for (const auto& [n, d, width] : kCases) {
    SCOPED_TRACE(testing::Message() << n << " points, panels of " << width);
    const RowMatrix X = crowded(n, d);
    TorchMatrix matrix(X, device(), width);
    PackedMatrix packed(X);
    for (const Kernel& kernel : kernels_of_every_form()) {
      if (n > 600 && kernel.deep) continue;
      SCOPED_TRACE(kernel.name);
      form_alike(matrix, packed, kernel);
      // Each is within its bound of the exact kernel.
      const Matrix exact = dense(gram(X, kernel, progress).K);
      Matrix lower = matrix.lower();
      lower.diagonal().array() -= 0.125;
      const Matrix below = exact.triangularView<Eigen::Lower>();
      EXPECT_LE((lower - below).norm(), 2 * packed.seen().entry_error);
      expect_same_algebra(matrix, packed, kernel);
    }
  }
}

// The residual's bound against A - L L^T in long double, and it sees a factor that is wrong.
TEST_P(OnDevice, ResidualOfAFactor) {
  for (const auto& [n, d, width] : {Case{1, 3, 4}, Case{2, 3, 1}, Case{50, 20, 7}, Case{130, 20, 64},
                                    Case{300, 20, 1}, Case{310, 8, 512}}) {
    const RowMatrix X = sphere(n, d);
    const Kernel kernel = sigma(activation("relu"));
    TorchMatrix matrix(X, device(), width);
    matrix.form(kernel, 0.25, progress);
    Matrix A = matrix.lower();
    A = Matrix(A.selfadjointView<Eigen::Lower>());
    ASSERT_TRUE(matrix.factor(progress));
    const Matrix L = matrix.lower();
    const auto exact = [&](const Matrix& of) {
      return static_cast<double>((A.cast<Long>() - of.cast<Long>() * of.cast<Long>().transpose()).norm());
    };
    const double size = static_cast<double>(n),
                 most = test::gamma_of(size + 4) * (A.norm() + L.squaredNorm());
    const double found = matrix.residual(kernel, 0.25, progress);
    EXPECT_GE(found, exact(L)) << n;
    EXPECT_LE(found, exact(L) + 4 * most) << n;
    // One entry after the other is wrong: on the diagonal, at edges of panels, in the last row.
    for (const auto& [i, j] : {std::pair<Index, Index>{0, 0},
                               {n - 1, n - 1},
                               {n - 1, 0},
                               {n / 2, n / 2},
                               {n - 1, n / 2},
                               {std::min(n - 1, width), std::min(n - 1, width - 1)}}) {
      Matrix wrong = L;
      wrong(i, j) += 1e-3;
      matrix.set(i, j, wrong(i, j));
      const double bound = matrix.residual(kernel, 0.25, progress);
      EXPECT_GE(bound, exact(wrong)) << n << " " << i << " " << j;
      EXPECT_LE(bound, exact(wrong) * (1 + 4 * 0x1p-30) + 8 * most);  // some factors of 1 + 2^-30
      matrix.set(i, j, L(i, j));
    }
    matrix.set(n - 1, n / 2, NAN);
    EXPECT_FALSE(std::isfinite(matrix.residual(kernel, 0.25, progress)));
    matrix.set(n - 1, n / 2, INFINITY);
    EXPECT_FALSE(std::isfinite(matrix.residual(kernel, 0.25, progress)));
  }
}

// A pair may cross the threshold of near ones between the two passes: the error bound is that of the last.
TEST_P(OnDevice, ResidualBoundsTheErrorsOfItsOwnEntries) {
  const Kernel one = sigma(activation("relu")), other = sigma(activation("softplus"));
  const RowMatrix X = crowded(60, 5);
  TorchMatrix matrix(X, device(), 16);
  matrix.form(other, 0.5, progress);
  const double of_other = matrix.seen().entry_error;
  matrix.form(one, 0.5, progress);
  const double of_one = matrix.seen().entry_error;
  EXPECT_NE(of_one, of_other);
  ASSERT_TRUE(matrix.factor(progress));
  matrix.residual(other, 0.5, progress);
  EXPECT_EQ(matrix.seen().entry_error, of_other);
  matrix.residual(one, 0.5, progress);
  EXPECT_EQ(matrix.seen().entry_error, of_one);
}

TEST_P(OnDevice, NoFactorOfAnIndefiniteMatrix) {
  const RowMatrix X = sphere(300, 10);
  TorchMatrix matrix(X, device(), 32);
  matrix.form(power(1), -0.5, progress);
  EXPECT_FALSE(matrix.factor(progress));
  matrix.form(power(1), 0.5, progress);
  EXPECT_TRUE(matrix.factor(progress));
}

TEST_P(OnDevice, EigenvaluesAreThoseOfTheKernel) {
  for (const auto& [n, d, width] : {Case{1, 2, 8}, Case{40, 6, 7}, Case{200, 12, 64}}) {
    const RowMatrix X = sphere(n, d);
    TorchMatrix matrix(X, device(), width);
    matrix.form(sigma(activation("relu")), 0, progress);
    const Vector exact = eigenvalues(gram(X, sigma(activation("relu")), progress).K);
    EXPECT_LE((matrix.eigenvalues() - exact).lpNorm<Eigen::Infinity>(),
              2 * test::backward_error(static_cast<double>(n)) * exact.tail(1).value());
  }
}

TEST_P(OnDevice, WhatCannotBeIsRefused) {
  RowMatrix X = sphere(5, 3);
  EXPECT_THROW(TorchMatrix(RowMatrix(0, 3), device(), 8), std::invalid_argument);
  X(2, 1) = NAN;
  EXPECT_THROW(TorchMatrix(X, device(), 8), std::invalid_argument);
  const double all = internal::available_bytes(device());
  const auto many = static_cast<Index>(std::sqrt(all));
  EXPECT_GT(TorchMatrix::bytes(device(), many, 3, 0, 512), all);
  EXPECT_THROW(TorchMatrix(RowMatrix::Ones(many, 1), device(), 512), ResourceError);
}

TEST_P(OnDevice, Stops) {
  const std::atomic<bool> asked{true};
  Progress stopped({}, &asked);
  const RowMatrix X = sphere(100, 10);
  TorchMatrix matrix(X, device(), 16);
  EXPECT_THROW(matrix.form(power(1), 1, stopped), Interrupted);
  matrix.form(power(1), 1, progress);
  EXPECT_TRUE(matrix.factor(progress));
  EXPECT_THROW(tail_bound(RowBlocks(X), activation("relu"), {}, 1, stopped, *engine()), Interrupted);
}

// ---- lambda_min ----

// Of relu, from the vectors in long double: lambda_min of what the proof is about.
double exact_lambda_min(const RowMatrix& rows) {
  const LongMatrix X = rows.cast<Long>().rowwise().normalized();
  LongMatrix K(X.rows(), X.rows());
  for (Index i = 0; i < X.rows(); ++i)
    for (Index j = 0; j < X.rows(); ++j) {
      const Long apart = (X.row(i) - X.row(j)).norm(), across = (X.row(i) + X.row(j)).norm(),
                 theta = 2 * std::atan2(apart, across), rest = 2 * std::atan2(across, apart);
      K(i, j) = i == j ? 0.5L : std::cos(theta) * rest / (2 * kPi);
    }
  return static_cast<double>(Eigen::SelfAdjointEigenSolver<LongMatrix>(K).eigenvalues()(0));
}

void expect_same_proof(const LambdaMin& found, const LambdaMin& here, double largest) {
  const double off = 2 * test::backward_error(static_cast<double>(here.lowest.vector.size())) * largest;
  EXPECT_NEAR(found.lowest.value, here.lowest.value, off);
  EXPECT_EQ(found.verified.holds, here.verified.holds);
  if (!found.verified.holds || !here.verified.holds) return;
  EXPECT_GT(found.verified.lambda_min, 0);
  EXPECT_LE(found.verified.lambda_min, here.lowest.value + off);
  // Each gives away its loss and up to twice that, or 1e-7 of lambda_min, to begin with.
  const double loss = std::max(found.verified.loss, here.verified.loss);
  EXPECT_NEAR(found.verified.lambda_min, here.verified.lambda_min, 4 * loss + 4e-7 * here.lowest.value + off);
}

TEST_P(OnDevice, LambdaMinIsThatOfOneProcess) {
  for (const auto& [n, d, width] : kCases)
    for (const bool crowd : {false, true})
      for (const char* name : {"relu", "softplus", "tanh", "leaky_relu", "erf"}) {
        if (n > 300 && name != std::string("relu")) continue;
        SCOPED_TRACE(testing::Message() << n << " points, panels of " << width << ", " << name << crowd);
        const RowMatrix X = crowd ? crowded(n, d) : sphere(n, d);
        const Kernel kernel = sigma(activation(name));
        TorchMatrix matrix(X, device(), width);
        const LambdaMin found = lambda_min(matrix, kernel, Proof::residual, progress),
                        here = lambda_min(X, kernel, progress);
        const double largest = eigenvalues(gram(X, kernel, progress).K).tail(1).value();
        expect_same_proof(found, here, largest);
        if (name != std::string("relu") || n > 100) continue;
        const double exact = exact_lambda_min(X);
        if (found.verified.holds) {
          EXPECT_LE(found.verified.lambda_min, exact);
        }
        if (exact > 10 * here.verified.loss) {
          EXPECT_TRUE(found.verified.holds);
        }
      }
}

TEST_P(OnDevice, LambdaMinOfManyLayers) {
  for (const Index n : {3, 120}) {
    const RowMatrix X = sphere(n, 9);
    for (const Depth& depth : {Depth{.layers = 4}, Depth{.layers = 3, .residual = true}}) {
      const Kernel kernel = tangent(activation("relu"), depth);
      TorchMatrix matrix(X, device(), 32);
      const double largest = eigenvalues(gram(X, kernel, progress).K).tail(1).value();
      expect_same_proof(lambda_min(matrix, kernel, Proof::residual, progress),
                        lambda_min(X, kernel, progress), largest);
    }
  }
}

// Equal rows, opposite ones where the kernel has one parity, and more points than the kernel has rank.
TEST_P(OnDevice, NothingIsProvedOfASingularKernel) {
  RowMatrix equal = sphere(40, 6), opposite = sphere(40, 6);
  equal.row(31) = equal.row(2);
  opposite.row(31) = -opposite.row(2);
  for (const auto& [X, kernel] :
       {std::pair(equal, sigma(activation("relu"))), std::pair(opposite, sigma(activation("erf"))),
        std::pair(RowMatrix(sphere(40, 6)), power(1)), std::pair(RowMatrix(sphere(40, 6)), power(2))}) {
    TorchMatrix matrix(X, device(), 16);
    const LambdaMin found = lambda_min(matrix, kernel, Proof::residual, progress),
                    here = lambda_min(X, kernel, progress);
    EXPECT_FALSE(found.verified.holds) << kernel.name;
    EXPECT_FALSE(here.verified.holds) << kernel.name;
    EXPECT_NEAR(found.lowest.value, 0, 2 * test::backward_error(40) * 40 * kernel(1)) << kernel.name;
  }
}

// ---- the tail ----

TEST_P(OnDevice, TailIsThatOfOneProcess) {
  const auto engine = this->engine();
  for (const Index n : {1, 2, 17, 511, 512, 513, 1500})
    for (const char* name : {"relu", "softplus", "tanh"}) {
      SCOPED_TRACE(testing::Message() << n << " points, " << name);
      const RowMatrix X = crowded(n, 40);
      const Activation& phi = activation(name);
      const auto found = tail_bound(RowBlocks(X), phi, {}, 1, progress, *engine),
                 here = tail_bound(RowBlocks(X), phi, {}, 1, progress);
      // Both are sums of floats in some order: each within what the bound allows for.
      const double slack =
          (2 * (sum_slack(here.power + 600) - 1)) * (here.row_sum + here.diagonal) + 1e-4 * u;
      EXPECT_NEAR(found.lambda_min, here.lambda_min, slack);
      EXPECT_NEAR(found.product, here.product, 2 * (sum_slack(600) - 1) * static_cast<double>(n));
      expect_pairs_alike(found, here);
      if (n > 600) continue;
      const double exact = eigenvalues(gram(X, sigma(phi), progress).K)(0);
      const double off = test::backward_error(static_cast<double>(n)) * static_cast<double>(n);  // of exact
      EXPECT_LE(found.lambda_min, std::max(0.0, exact + off));
      EXPECT_LE(here.lambda_min, std::max(0.0, exact + off));
    }
}

// Sums of powers with weights: never less than the exact ones but for what the bound allows for, and those of
// one process but for the order of sums. Of 400 features the errors of products are more than that.
TEST_P(OnDevice, TailSumsAreThoseOfOneProcessAndNotTooSmall) {
  const auto engine = this->engine();
  const Index n = 700;
  RowMatrix X = 0.5 * sphere(n, 400);
  X.leftCols(2).array() += 0.5;
  X.bottomRows(n / 2) *= -1;
  X.rowwise().normalize();
  const Matrix G = X * X.transpose();
  std::vector<float> w(1024, 0.F);
  Random random(7, Stream::points);
  double all = 0;
  for (Index i = 0; i < n; ++i)
    all += static_cast<double>(w[static_cast<std::size_t>(i)] =
                                   static_cast<float>(0.5 + 0.5 * random.uniform()));
  const RowBlocks blocks(X);
  for (const char* name : {"relu", "softplus", "tanh", "gelu"}) {
    const PowerGrid grid = power_grid(sigma_series(activation(name)));
    const auto passes = engine->tail_passes(blocks, grid);
    const Matrix found = passes->run(w, progress).of_rows,
                 here = this_process().tail_passes(blocks, grid)->run(w, progress).of_rows;
    for (int k = 0; k < grid.size(); ++k) {
      const bool g = k == 0 && !grid.odd;
      const double lost = g ? first_sum_error(grid, passes->error()) * all : kLeftOut * all;
      const double slack = g ? 1 : sum_slack(grid.power(k));
      for (Index i = 0; i < n; ++i) {
        ASSERT_LE(std::abs(found(i, k) - here(i, k)), 2 * (slack - 1) * here(i, k) + 2 * lost) << name << k;
        double exact = 0;
        for (Index j = 0; j < n; ++j)
          if (j != i) exact += w[static_cast<std::size_t>(j)] * std::pow(std::abs(G(i, j)), grid.power(k));
        if (!g) {
          ASSERT_GE(found(i, k) * slack + lost, exact * (1 - test::gamma_of(n + 401.0 * grid.power(k))))
              << name << k;
        }
      }
    }
  }
}

TEST_P(OnDevice, TailProvesMuchWherePointsAreApart) {
  const auto engine = this->engine();
  EXPECT_GT(tail_bound(RowBlocks(RowMatrix::Identity(20, 20)), activation("relu"), {}, 1, progress, *engine)
                .lambda_min,
            0.499);  // lambda_min = 1/2
  const RowMatrix X = sphere(700, 100);
  for (const Index passes : {1, 4}) {
    const auto found = tail_bound(RowBlocks(X), activation("relu"), {}, passes, progress, *engine);
    EXPECT_GT(found.lambda_min, 0);
    EXPECT_LE(found.lambda_min, eigenvalues(gram(X, sigma(activation("relu")), progress).K)(0));
    EXPECT_EQ(std::ssize(found.passes), passes);
  }
}

// Blocks of rows that are read as they are wanted.
TEST_P(OnDevice, TailOfRowsInAFile) {
  const RowMatrix X = sphere(1800, 90);
  const auto read = [&](const std::vector<Index>& rows) { return RowMatrix(X(rows, Eigen::all)); };
  const auto engine = this->engine();
  const auto found =
      tail_bound(RowBlocks(X.rows(), X.cols(), read, 512), activation("relu"), {}, 1, progress, *engine);
  const auto here = tail_bound(X, activation("relu"), {}, 1, progress);
  EXPECT_GT(here.lambda_min, 0);
  EXPECT_NEAR(found.lambda_min, here.lambda_min, 2 * (sum_slack(here.power + 600) - 1) * here.row_sum);
  for (std::size_t k = 0; k < here.closest.size(); ++k)
    EXPECT_EQ(found.closest[k].distance, here.closest[k].distance);
}

// ---- certify ----

TEST_P(OnDevice, CertifySaysTheSame) {
  const auto engine = this->engine();
  for (const Index n : {60, 900}) {
    const Dataset data = points_with_equals(n);
    CertifyOptions options = every_part(n);
    options.spectrum = n < 100;
    const CertifyResult found = certify(data, options, progress, *engine), here = certify(data, options);
    expect_certified_alike(found, here);
    EXPECT_EQ(found.proof, "residual");
    EXPECT_NE(found.engine.find("LibTorch"), std::string::npos) << found.engine;
    EXPECT_EQ(here.engine, "");
  }
}

// Conflicts, a kernel that vanishes, and one that is too close to singular for doubles.
TEST_P(OnDevice, CertifySaysTheSameWhereNothingIsProved) {
  const auto engine = this->engine();
  Dataset conflict = points_with_equals(40), near = points_with_equals(40), odd = points_with_equals(40);
  conflict.y(7) = 0;
  near.X.row(20) = near.X.row(21);
  near.X(20, 3) *= 1 + 4e-15;
  for (const auto& [data, name] :
       {std::pair(&conflict, "relu"), std::pair(&near, "softplus"), std::pair(&odd, "erf")}) {
    CertifyOptions options;
    options.method = "factor";
    options.activation = name;
    const CertifyResult found = certify(*data, options, progress, *engine), here = certify(*data, options);
    EXPECT_NE(here.outcome, "verified");
    EXPECT_EQ(found.outcome, here.outcome);
    EXPECT_EQ(found.lambda_min_verified.has_value(), here.lambda_min_verified.has_value());
    EXPECT_EQ(found.conflicts.size(), here.conflicts.size());
    EXPECT_EQ(found.bottleneck.size(), here.bottleneck.size());
  }
}

TEST_P(OnDevice, CertifyByItsTail) {
  const auto engine = this->engine();
  CertifyOptions options;
  options.method = "tail";
  Dataset data = points_with_equals(600);
  data.X = sphere(600, 120);
  const CertifyResult found = certify(data, options, progress, *engine), here = certify(data, options);
  ASSERT_TRUE(here.lambda_min_verified);
  ASSERT_TRUE(found.lambda_min_verified);
  // Both give away what sums of 512 floats may be off by, some 2^-15, on terms above the difference.
  EXPECT_NEAR(*found.lambda_min_verified, *here.lambda_min_verified, 1e-3 * *here.lambda_min_verified);
  EXPECT_EQ(found.outcome, here.outcome);
}

// The theorem is about divisions; what a device does is proved by its residual.
TEST_P(OnDevice, TheTheoremIsNotTakenForADevice) {
  const auto engine = this->engine();
  EXPECT_EQ(engine->proof(), Proof::residual);
  CertifyOptions options;
  options.method = "factor";
  options.proof = "theorem";
  EXPECT_THROW(certify(points_with_equals(20), options, progress, *engine), std::invalid_argument);
}

// ---- products that are not what they seem ----

using Product = torch::Tensor (*)(const torch::Tensor&, const torch::Tensor&);

torch::Tensor in_float32(const torch::Tensor& A, const torch::Tensor& B) {
  return at::mm(A.to(torch::kFloat), B.to(torch::kFloat)).to(A.scalar_type());
}

// TF32: 11 bits of each number.
torch::Tensor in_tf32(const torch::Tensor& A, const torch::Tensor& B) {
  const auto cut = [](const torch::Tensor& of) {
    const torch::Tensor numbers = of.to(torch::kFloat).contiguous();
    return numbers.view(torch::kInt).bitwise_and(at::Scalar(~0x1fff)).view(torch::kFloat);
  };
  return at::mm(cut(A), cut(B)).to(A.scalar_type());
}

torch::Tensor in_bfloat16(const torch::Tensor& A, const torch::Tensor& B) {
  return at::mm(A.to(torch::kBFloat16).to(torch::kFloat), B.to(torch::kBFloat16).to(torch::kFloat))
      .to(A.scalar_type());
}

// Integers of 53 bits, scaled by the largest number of a row of A and of a column of B.
torch::Tensor by_integers(const torch::Tensor& A, const torch::Tensor& B) {
  const auto rounded = [](const torch::Tensor& of, int dim) {
    const torch::Tensor most = std::get<0>(of.abs().max(dim, true));
    const torch::Tensor unit = at::exp2(at::ceil(at::log2(most)) - 53);
    return at::round(of / unit) * unit;
  };
  return at::mm(rounded(A, 1), rounded(B, 0));
}

// Winograd's form of Strassen's product of halves: differences of sums, whose errors are those of norms.
torch::Tensor by_strassen(const torch::Tensor& A, const torch::Tensor& B) {
  const auto halves = [](const torch::Tensor& M) {
    const auto rows = M.size(0) / 2, columns = M.size(1) / 2;
    std::vector<torch::Tensor> parts;
    for (const auto r : {0, 1})
      for (const auto c : {0, 1})
        parts.push_back(M.slice(0, r * rows, (r + 1) * rows).slice(1, c * columns, (c + 1) * columns));
    return parts;
  };
  const auto a = halves(A), b = halves(B);
  const auto m1 = at::mm(a[0] + a[3], b[0] + b[3]), m2 = at::mm(a[2] + a[3], b[0]),
             m3 = at::mm(a[0], b[1] - b[3]), m4 = at::mm(a[3], b[2] - b[0]), m5 = at::mm(a[0] + a[1], b[3]),
             m6 = at::mm(a[2] - a[0], b[0] + b[1]), m7 = at::mm(a[1] - a[3], b[2] + b[3]);
  return at::cat({at::cat({m1 + m4 - m5 + m7, m3 + m5}, 1), at::cat({m2 + m4, m1 - m2 + m3 + m6}, 1)}, 0);
}

TEST_P(OnDevice, ProbeSeesWhatIsNotMultipliedAsIeeeDoes) {
  const Product right = [](const torch::Tensor& A, const torch::Tensor& B) { return at::mm(A, B); };
  for (const auto& [rows, inner, columns] : {std::tuple<Index, Index, Index>{1, 1, 1},
                                             {2, 3, 2},
                                             {64, 64, 64},
                                             {100, 7, 33},
                                             {8, 512, 1},
                                             {5, 1, 9}}) {
    SCOPED_TRACE(testing::Message() << rows << " x " << inner << " x " << columns);
    EXPECT_TRUE(products_exact(device(), torch::kDouble, rows, inner, columns, right));
    EXPECT_TRUE(products_exact(device(), torch::kFloat, rows, inner, columns, right));
    for (const Product wrong : {in_float32, in_tf32, in_bfloat16})
      EXPECT_FALSE(products_exact(device(), torch::kDouble, rows, inner, columns, wrong));
    for (const Product wrong : {in_tf32, in_bfloat16})
      EXPECT_FALSE(products_exact(device(), torch::kFloat, rows, inner, columns, wrong));
    if (inner > 1) {
      EXPECT_FALSE(products_exact(device(), torch::kDouble, rows, inner, columns, by_integers));
    }
    const Product nothing = [](const torch::Tensor& A, const torch::Tensor& B) { return at::mm(A, B) * NAN; };
    EXPECT_FALSE(products_exact(device(), torch::kDouble, rows, inner, columns, nothing));
    EXPECT_NO_THROW(check_products(device(), torch::kDouble, rows, inner, columns));
    EXPECT_NO_THROW(check_column_sums(device(), torch::kFloat, 3, rows, inner));
  }
  EXPECT_FALSE(products_exact(device(), torch::kDouble, 64, 64, 64, by_strassen));
  EXPECT_FALSE(products_exact(device(), torch::kFloat, 64, 64, 64, by_strassen));
}

// ---- devices ----

TEST(TorchDevices, AreNamed) {
  EXPECT_EQ(device_of("x", "cpu").str(), "cpu");
  EXPECT_EQ(torch_engine("cpu")->name(), libtorch_version() + " on cpu");
  EXPECT_THROW(torch_engine("gpu"), std::invalid_argument);
  EXPECT_THROW(torch_engine("cuda:x"), std::invalid_argument);
  EXPECT_THROW(torch_engine("cuda:"), std::invalid_argument);
  EXPECT_THROW(torch_engine("cuda:999"), BackendError);
  if (cuda::devices() > 0) GTEST_SKIP() << "there is a GPU";
  EXPECT_THROW(torch_engine("cuda"), BackendError);
  EXPECT_EQ(device_of("x", "auto").str(), "cpu");
}

}  // namespace
}  // namespace zeroloss
