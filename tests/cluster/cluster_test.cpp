#include "zeroloss/cluster/cluster.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <set>
#include <string>

#include "cluster/block_cyclic.hpp"
#include "cluster/counted.hpp"
#include "cluster/layout.hpp"
#include "kernel/tail_passes.hpp"
#include "support/bounds.hpp"
#include "support/engine_cases.hpp"
#include "train/kernel/dealt_tiles.hpp"
#include "zeroloss/audit/audit.hpp"
#include "zeroloss/audit/influence.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/kernel/spectrum.hpp"
#include "zeroloss/kernel/tail.hpp"
#include "zeroloss/sweep/sweep.hpp"
#include "zeroloss/theory/certify.hpp"
#include "zeroloss/train/fit.hpp"

// Run by mpirun as 1, 2, 3, 4 and 6 processes: process 0 tests, the others serve. --processes=N says how many
// there should be, since each of N that know nothing of each other would pass alone.
namespace zeroloss {
namespace {

using namespace internal;
using namespace test;

Group& processes() {
  const char* launched = std::getenv("OMPI_COMM_WORLD_SIZE");
  static Group group = Group::world(launched != nullptr ? std::atoi(launched) : 0);
  return group;
}

// What every process checks of a Group together; how many of them found a fault.
double faults_of_group(const Group& group) {
  const int P = group.size(), me = group.rank();
  double faults = 0;
  const auto expect = [&](bool holds) { faults += holds ? 0 : 1; };
  for (int root = 0; root < P; ++root) {
    std::string text =
        me == root ? std::string(1000 + root, static_cast<char>('a' + root)) : "something else";
    group.broadcast(text, root);
    expect(text == std::string(1000 + root, static_cast<char>('a' + root)));
  }
  Vector numbers = Vector::Constant(5, me + 1.0);
  group.sum(numbers.data(), 5);
  expect((numbers.array() == P * (P + 1) / 2.0).all());
  for (int root = 0; root < P; ++root) {
    numbers.setConstant(me == root ? 2 : 1);
    group.sum_to(root, numbers.data(), 5);
    if (me == root) expect((numbers.array() == P + 1.0).all());
  }
  expect(group.largest(-me) == 0 && group.largest(me) == P - 1);
  if (P > 1) {
    const int right = (me + 1) % P, left = (me + P - 1) % P;
    std::vector<double> out(static_cast<std::size_t>(me)), in(static_cast<std::size_t>(left));
    std::iota(out.begin(), out.end(), 100.0 * me);
    group.exchange(right, out.data(), 8 * out.size(), left, in.data(), 8 * in.size());
    for (std::size_t k = 0; k < in.size(); ++k) expect(in[k] == 100.0 * left + static_cast<double>(k));
    if (me == 0) {
      std::uint64_t all = 0;
      for (int from = 1; from < P; ++from) {
        std::uint64_t one = 0;
        group.receive(from, &one, sizeof one);
        all += one;
      }
      expect(all == static_cast<std::uint64_t>(P * (P - 1) / 2));
    } else {
      const auto one = static_cast<std::uint64_t>(me);
      group.send(0, &one, sizeof one);
    }
  }
  const Group half = group.split(me % 2);
  expect(half.size() == (P + (me % 2 == 0 ? 1 : 0)) / 2 && half.rank() == me / 2);
  double count = 1;
  half.sum(&count, 1);
  expect(count == half.size());
  group.sum(&faults, 1);
  return faults;
}

// What all processes have handed to MPI so far, ScaLAPACK's part included.
double bytes_of_group(const Group& group) {
  double bytes = mpi_bytes();
  group.sum(&bytes, 1);
  return bytes;
}

Services services() {
  Services all = cluster_services();
  for (Services more : {audit_services(), fit_services(), sweep_services()}) all.merge(more);
  all["faults of a group"] = [](const Group& group) { faults_of_group(group); };
  all["bytes of a group"] = [](const Group& group) { bytes_of_group(group); };
  return all;
}

TEST(Group, AllCallsTogether) {
  processes().call("faults of a group");
  EXPECT_EQ(faults_of_group(processes()), 0);
}

TEST(Group, OneProcessAlone) {
  const Group alone;
  EXPECT_EQ(alone.size(), 1);
  EXPECT_TRUE(alone.leads());
  EXPECT_EQ(faults_of_group(alone), 0);
  EXPECT_EQ(alone.traffic().messages, 0);
  EXPECT_THROW(alone.send(0, nullptr, 0), std::logic_error);
}

TEST(Layout, DealsEveryRowOnce) {
  for (const Index n : {0, 1, 5, 64, 100, 129})
    for (const Index block : {1, 2, 7, 64, 200})
      for (const int P : {1, 2, 3, 5}) {
        std::vector<int> seen(static_cast<std::size_t>(n));
        for (int p = 0; p < P; ++p) {
          const Layout mine{n, block, P, p};
          Index before = 0;
          for (Index k = 0; k < mine.count(); ++k) {
            const Index global = mine.global(k);
            ASSERT_LT(global, n);
            EXPECT_EQ(mine.owner(global), p);
            EXPECT_EQ(mine.before(global), k);
            for (; before <= global; ++before) EXPECT_EQ(mine.before(before), k);
            ++seen[static_cast<std::size_t>(global)];
          }
        }
        for (const int times : seen) EXPECT_EQ(times, 1);
      }
}

TEST(Shape, IsAsSquareAsItGets) {
  const auto shape = [](int P) { return std::pair(Shape(P).rows, Shape(P).columns); };
  EXPECT_EQ(shape(1), std::pair(1, 1));
  EXPECT_EQ(shape(3), std::pair(1, 3));
  EXPECT_EQ(shape(12), std::pair(3, 4));
  EXPECT_EQ(shape(64), std::pair(8, 8));
}

struct Case {
  Index n, d, block;
};

class OnEverySize : public testing::TestWithParam<Case> {};

// The same numbers as of one process, up to roundings, and L L^T = A whoever has its parts.
TEST_P(OnEverySize, MatrixDoesWhatAPackedOneDoes) {
  const auto [n, d, block] = GetParam();
  const RowMatrix X = crowded(n, d);
  const auto engine = cluster_engine(processes(), block);
  const auto matrix = engine->matrix(X);
  PackedMatrix packed(X);
  for (const Kernel& kernel : kernels_of_every_form()) {
    SCOPED_TRACE(kernel.name);
    form_alike(*matrix, packed, kernel);
    expect_same_algebra(*matrix, packed, kernel);
  }
}

TEST_P(OnEverySize, LambdaMinIsProved) {
  const auto [n, d, block] = GetParam();
  Progress progress;
  const RowMatrix X = sphere(n, d);
  const auto engine = cluster_engine(processes(), block);
  for (const char* name : {"relu", "softplus"}) {
    const Kernel kernel = sigma(activation(name));
    const auto matrix = engine->matrix(X);
    const LambdaMin found = lambda_min(*matrix, kernel, engine->proof(), progress);
    const Vector exact = eigenvalues(gram(X, kernel, progress).K);
    const double close = 2 * backward_error(static_cast<double>(n)) * exact.tail(1).value();
    EXPECT_NEAR(found.lowest.value, exact(0), close);
    if (!(exact(0) > 10 * found.verified.loss)) continue;
    ASSERT_TRUE(found.verified.holds);
    EXPECT_LT(found.verified.lambda_min, exact(0) + close);
    // The gap is 1e-7 of it, or a loss, at first, and is doubled until it is enough.
    EXPECT_GT(found.verified.lambda_min, exact(0) - 2 * found.verified.loss - 4e-7 * exact(0) - close);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, OnEverySize,
                         testing::Values(Case{1, 1, 128}, Case{2, 3, 1}, Case{3, 4, 2}, Case{5, 3, 128},
                                         Case{50, 10, 1}, Case{97, 20, 7}, Case{257, 30, 64},
                                         Case{600, 30, 256}, Case{1100, 40, 128}));

TEST(Cluster, TailIsThatOfOneProcess) {
  Progress progress;
  const auto engine = cluster_engine(processes());
  for (const Index n : {1, 2, 511, 512, 513, 1500, 3100})
    for (const char* name : {"relu", "softplus", "tanh"}) {
      const RowMatrix X = crowded(n, 40);
      const Activation& phi = activation(name);
      const auto found = tail_bound(RowBlocks(X), phi, {}, 2, progress, *engine);
      const auto here = tail_bound(RowBlocks(X), phi, {}, 2, progress);
      // Tiles are the same, and are added up in another order: sums of up to n doubles.
      const double off = test::gamma_of(2.0 * static_cast<double>(n) + 64);
      EXPECT_NEAR(found.lambda_min, here.lambda_min, off * (here.row_sum + here.diagonal));
      EXPECT_NEAR(found.product, here.product, off * (1 + static_cast<double>(n)));
      EXPECT_EQ(found.row, here.row);
      EXPECT_EQ(found.power, here.power);
      expect_pairs_alike(found, here);
      EXPECT_LE((found.parts - here.parts).lpNorm<Eigen::Infinity>(), 2 * off);
    }
}

// Blocks of rows that are read as they are wanted.
TEST(Cluster, TailOfRowsInAFile) {
  Progress progress;
  const RowMatrix X = sphere(2600, 30);
  const auto read = [&](const std::vector<Index>& rows) { return RowMatrix(X(rows, Eigen::all)); };
  const auto engine = cluster_engine(processes());
  const auto found =
      tail_bound(RowBlocks(X.rows(), X.cols(), read, 512), activation("relu"), {}, 1, progress, *engine);
  const auto here = tail_bound(X, activation("relu"), {}, 1, progress);
  EXPECT_NEAR(found.lambda_min, here.lambda_min,
              test::gamma_of(2 * 2600 + 64) * (here.row_sum + here.diagonal));
}

// All of certify: with labels, repeated and antipodal points, more than every eigenvalue is computed of.
TEST(Cluster, CertifySaysTheSame) {
  Progress progress;
  const auto engine = cluster_engine(processes());
  for (const Index n : {60, 3300}) {
    const Dataset data = points_with_equals(n);
    const CertifyOptions options = every_part(n);
    EngineInDouble in_double;  // as several processes have it
    Engine& one = processes().size() > 1 ? in_double : this_process();
    const CertifyResult found = certify(data, options, progress, *engine),
                        here = certify(data, options, progress, one);
    expect_certified_alike(found, here);
    EXPECT_EQ(found.proof, processes().size() > 1 ? "residual" : "theorem");
  }
}

// Three classes of which some labels are wrong.
Dataset three_classes(Index n, Index d) {
  Dataset data;
  data.X = sphere(n, d);
  data.y = Vector::NullaryExpr(n, [&](Index i) {
    return data.X(i, 0) > 0.2 ? 2.0 : data.X(i, 1) > 0 ? 1.0 : 0.0;
  });
  for (Index i = 0; i < n; i += 17) data.y(i) = static_cast<double>(static_cast<Index>(data.y(i) + 1) % 3);
  data.X.row(8) = data.X.row(3);
  data.task = Task::classification;
  data.class_names = {"a", "b", "c"};
  data.name = "points";
  return data;
}

TEST(Cluster, AuditSaysTheSame) {
  Progress progress;
  for (const Index n : {5, 130, 700}) {
    const Dataset data = three_classes(n > 10 ? n : 30, 6), asked = three_classes(40, 6);
    AuditOptions options;
    options.predictor.ridge = 0.05;
    const AuditResult found = audit(data, options, progress, processes()), here = audit(data, options);
    ASSERT_EQ(found.scores.size(), here.scores.size());
    // The fit of the noise ends where the rate moves by less than 1e-7.
    for (std::size_t i = 0; i < here.scores.size(); ++i) EXPECT_NEAR(found.scores[i], here.scores[i], 1e-7);
    ASSERT_EQ(found.issues.size(), here.issues.size());
    for (std::size_t k = 0; k < here.issues.size(); ++k)
      EXPECT_EQ(found.issues[k].sample.record, here.issues[k].sample.record);
    InfluenceOptions influences;
    influences.predictor.ridge = 0.05;
    const InfluenceResult they = influence(data, asked, influences, progress, processes()),
                          we = influence(data, asked, influences);
    // The kernel is at most n times its diagonal, of which the ridge is 0.05.
    const auto N = static_cast<double>(data.n());
    const double off = 2 * solution_error(N, N / 0.05);
    for (std::size_t i = 0; i < we.values.size(); ++i) EXPECT_NEAR(they.values[i], we.values[i], off);
  }
}

// What docs/scale.md says that process 0 sends, up to the edges of blocks and what is too little to be told.
TEST(Cluster, TrafficIsWhatTheModelSays) {
  const Group& group = processes();
  if (group.size() == 1) GTEST_SKIP() << "nothing is sent";
  Progress progress;
  const Index n = 1536, d = 60, b = 8;
  const double N = 1536, P = group.size();
  const Shape shape(group.size());
  const RowMatrix X = sphere(n, d);
  const auto engine = cluster_engine(group, 16);
  const auto sent = [&](const auto& work) {
    const auto before = group.traffic().bytes;
    work();
    return static_cast<double>(group.traffic().bytes - before);
  };
  std::unique_ptr<KernelMatrix> matrix;
  EXPECT_NEAR(sent([&] { matrix = engine->matrix(X); }) / (8 * N * d), 1, 0.02);
  EXPECT_LT(sent([&] { matrix->form(power(2), 1, progress); }), 1000 * P);
  const Matrix V = random_block(n);
  EXPECT_NEAR(sent([&] { matrix->product(V); }) / (16 * N * b), 1, 0.02);
  EXPECT_LT(sent([&] { matrix->factor(progress); }), 1000 * P);  // ScaLAPACK speaks for itself
  EXPECT_NEAR(sent([&] { matrix->solve(V); }) / (16 * N * b), 1, 0.02);
  const double r = shape.rows, c = shape.columns;
  EXPECT_NEAR(sent([&] { matrix->residual(power(2), 1, progress); }) / (4 * N * N * (1 / r + 1 / c)), 1, 0.4);
  matrix.reset();
  const double tail = sent([&] { tail_bound(RowBlocks(X), activation("relu"), {}, 1, progress, *engine); });
  // Of three tiles of rows some have more than others.
  const double rows = 8 * N * d * (P - 1) / P, ring = 8 * N * d / P * std::floor(P / 2),
               sums = 352 * N / P * std::floor(P / 2);
  EXPECT_LT(tail, 1.35 * (rows + ring + sums + 4 * N) + 1000 * P);
  EXPECT_GT(tail, 0.65 * (rows + ring + sums + 4 * N));
}

// The same of ScaLAPACK, all processes together, which count what they hand to MPI; while there is a matrix
// they cannot be asked.
TEST(Cluster, TrafficOfScalapackIsWhatTheModelSays) {
  const Group& group = processes();
  if (group.size() == 1) GTEST_SKIP() << "nothing is sent";
  Progress progress;
  const Index n = 1536;
  const double N = 1536;
  const Shape shape(group.size());
  const RowMatrix X = sphere(n, 60);
  const auto all = [&] {
    group.call("bytes of a group");
    return bytes_of_group(group);
  };
  const auto sent = [&](const auto& work) {
    const double before = all();
    {
      const auto engine = cluster_engine(group, 16);
      const auto matrix = engine->matrix(X);
      matrix->form(power(2), 1, progress);
      work(*matrix);
    }
    return all() - before;
  };
  const double formed = sent([](KernelMatrix&) {});
  const double factored = sent([&](KernelMatrix& matrix) { ASSERT_TRUE(matrix.factor(progress)); });
  const double proved = sent([&](KernelMatrix& matrix) {
    ASSERT_TRUE(matrix.factor(progress));
    matrix.residual(power(2), 1, progress);
  });
  const double inverted = sent([&](KernelMatrix& matrix) {
    ASSERT_TRUE(matrix.factor(progress));
    matrix.inverse_diagonal(progress);
  });
  const double r = shape.rows, c = shape.columns, half = 4 * N * N;
  EXPECT_NEAR((factored - formed) / (half * (r + c - 2)), 1.1, 0.2);
  EXPECT_NEAR((proved - factored) / (half * (r + c)), 1, 0.2);
  if (shape.rows == 1) return;  // PBLAS then does otherwise
  double inverse = 0;           // what is left of L for each strip, and the strips
  for (double first = 0; first < N; first += 512 * c)
    inverse +=
        4 * (N - first) * (N - first) * (c - 1) + 8 * (N - first) * std::min(512 * c, N - first) * (r - 1);
  EXPECT_NEAR((inverted - factored) / inverse, 1.2, 0.3);
}

// A kernel that is not definite without a ridge is refused on all, and they go on.
TEST(Cluster, AuditOfEqualPointsWithoutRidge) {
  Progress progress;
  Dataset data = three_classes(60, 4);
  data.X.bottomRows(30) = data.X.topRows(30);
  AuditOptions options;
  options.predictor.ridge = 1e-300;
  EXPECT_THROW(audit(data, options, progress, processes()), DataError);
  options.predictor.ridge = 0.1;
  EXPECT_EQ(std::ssize(audit(data, options, progress, processes()).scores), 60);
}

TEST(Cluster, OutputsAreTrainedBitForBit) {
  Progress progress;
  const Dataset data = three_classes(90, 6);
  FitOptions options;
  options.width = 50;
  options.max_steps = 60;
  const FitResult found = fit(data, options, progress, processes()), here = fit(data, options);
  ASSERT_EQ(found.network.outputs.size(), 3u);
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(found.network.outputs[c].W, here.network.outputs[c].W);
    EXPECT_EQ(found.network.outputs[c].v, here.network.outputs[c].v);
  }
  EXPECT_EQ(found.relative_misfit, here.relative_misfit);
  options.depth = 2;
  options.separate = true;
  const FitResult deep = fit(data, options, progress, processes()), alone = fit(data, options);
  EXPECT_EQ(deep.relative_misfit, alone.relative_misfit);
  options = {};
  options.step = "theorem";
  options.scaling = "balanced";
  const auto fails = [&](const Group& group) -> std::string {
    try {
      fit(data, options, progress, group);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(fails(processes()), fails({}));
}

TEST(Cluster, PassesOfAKernelAreThoseOfOneProcessBitForBit) {
  const RowMatrix X = sphere(2900, 20);  // tiles of 512: 21 of them
  const Matrix V = Matrix::Random(X.rows(), 3);
  for (const char* name : {"relu", "erf"}) {
    const Kernel kernel = sigma(activation(name));
    Progress progress;
    const auto dealt = dealt_tiles(processes(), X, kernel), here = kernel_tiles(X, kernel);
    const TilePass ours = dealt->pass(V, progress), theirs = here->pass(V, progress);
    EXPECT_EQ(ours.product, theirs.product);
    EXPECT_EQ(ours.entry_error, theirs.entry_error);
    EXPECT_EQ(ours.norm, theirs.norm);
    // Sums of n products in any order, and of entries that are rounded to float32.
    const Matrix sizes = dense(gram(X, kernel, progress).K).cwiseAbs() * V.cwiseAbs();
    for (const auto& [storage, unit] :
         {std::pair{KernelStorage::float64, 0x1p-53}, {KernelStorage::float32, 0x1p-24}}) {
      dealt->keep(storage, progress);
      const double terms = static_cast<double>(X.rows()) + 4, gamma = terms * unit / (1 - terms * unit);
      const Matrix off = (dealt->product(V, progress) - theirs.product).cwiseAbs();
      EXPECT_TRUE((off.array() <= (gamma + gamma_of(terms)) * sizes.array()).all());
    }
    dealt->keep(KernelStorage::tiles, progress);
    EXPECT_EQ(dealt->product(V, progress), theirs.product);
  }
}

TEST(Cluster, KernelPredictorIsThatOfOneProcess) {
  const Dataset data = three_classes(700, 6);
  FitOptions options;
  options.optimizer = "kernel";
  options.solver = "cg";
  options.activation = "relu";
  options.ridge = "0.01";
  Progress progress;
  const FitResult all = fit(data, options, progress, processes()), one = fit(data, options, progress);
  ASSERT_TRUE(all.kernel && one.kernel && all.solution->verified);
  // Each is within its error of the exact predictor.
  const double apart = all.solution->error + one.solution->error;
  const Matrix f = predict(*all.kernel, data.X), g = predict(*one.kernel, data.X);
  const double rounding = bounded_predict(*one.kernel, data.X).error.maxCoeff();
  EXPECT_LE((f - g).lpNorm<Eigen::Infinity>(), apart + 2 * rounding);
}

TEST(Cluster, TrialsAreThoseOfOneProcess) {
  Progress progress;
  SweepOptions options;
  options.axes.n = {10, 20};
  options.axes.d = {3};
  options.axes.width = {1, 2, 4, 8};
  options.fit.max_steps = 300;
  options.trials = 6;
  options.adaptive = true;
  options.max_trials = 24;
  const SweepResult found = sweep("sphere:y=normal", options, progress, processes()),
                    here = sweep("sphere:y=normal", options);
  ASSERT_EQ(found.cells.size(), here.cells.size());
  for (std::size_t k = 0; k < here.cells.size(); ++k) {
    EXPECT_EQ(found.cells[k].trials, here.cells[k].trials);
    EXPECT_EQ(found.cells[k].successes, here.cells[k].successes);
    EXPECT_EQ(found.cells[k].mean_steps, here.cells[k].mean_steps);
    EXPECT_EQ(found.cells[k].median_misfit, here.cells[k].median_misfit);
  }
  // What a trial throws, wherever it is.
  options.axes.n = {2000};
  options.fit.batch = 5000;
  options.fit.optimizer = "sgd";
  EXPECT_THROW(sweep("sphere:y=normal", options, progress, processes()), std::invalid_argument);
}

TEST(Cluster, WhatCannotBeIsSaidBeforeAnybodyIsAsked) {
  EXPECT_THROW(cluster_engine(processes(), 0), std::invalid_argument);
  EXPECT_THROW(cluster_engine(processes(), 5000), std::invalid_argument);
  EXPECT_EQ(BlockCyclic::refused(64, {100'000, 784, 128}), "");
  EXPECT_EQ(BlockCyclic::refused(4, {1'000'000, 784, 128}),
            "the kernel of 1000000 points over 4 processes has 2.5e+11 numbers in each, and ScaLAPACK counts "
            "2^31 - 1; "
            "take at least 475 processes");
  // 8 n^2/P bytes, and some for the points.
  const double bytes = BlockCyclic::bytes(64, {200'000, 784, 128});
  EXPECT_GT(bytes, 8 * 2e5 * 2e5 / 64);
  EXPECT_LT(bytes, 8 * 2e5 * 2e5 / 64 * 1.2);
  if (processes().size() == 1) return;
  // An activation of the user's own is a function, which no other process has.
  Activation own = activation("relu");
  own.name = "mine";
  Progress progress;
  const RowMatrix X = sphere(20, 5);
  const auto matrix = cluster_engine(processes())->matrix(X);
  EXPECT_THROW(matrix->form(sigma(own), 0, progress), std::invalid_argument);
  matrix->form(power(2), 1, progress);
  EXPECT_TRUE(matrix->factor(progress));
}

// K - 2 lambda_max I is no positive definite matrix, and all processes hear so.
TEST(Cluster, NoFactorOfAnIndefiniteMatrix) {
  Progress progress;
  const RowMatrix X = sphere(300, 10);
  const auto matrix = cluster_engine(processes(), 32)->matrix(X);
  matrix->form(power(1), -0.5, progress);
  EXPECT_FALSE(matrix->factor(progress));
  matrix->form(power(1), 0.5, progress);
  EXPECT_TRUE(matrix->factor(progress));
}

// Wherever an audit is interrupted, the others hear of it and go on to what comes next.
TEST(Cluster, AuditInterruptedInAnyStage) {
  const Dataset data = three_classes(200, 6);
  AuditOptions options;
  options.predictor.ridge = 0.05;
  std::set<std::string> stages;
  Progress listening([&](const ProgressReport& report) { stages.insert(report.stage); });
  audit(data, options, listening, processes());
  EXPECT_TRUE(stages.contains("similarities"));
  for (const std::string& stage : stages) {
    std::atomic<bool> asked{false};
    Progress stopped([&](const ProgressReport& report) { asked = asked || report.stage == stage; }, &asked);
    try {
      audit(data, options, stopped, processes());
    } catch (const Interrupted&) {
    }
    EXPECT_TRUE(asked) << stage;
  }
  Progress progress;
  EXPECT_EQ(std::ssize(audit(data, options, progress, processes()).scores), 200);
}

TEST(Cluster, InterruptedBetweenCalls) {
  const std::atomic<bool> asked{true};
  Progress stopped({}, &asked);
  Progress progress;
  const RowMatrix X = sphere(100, 10);
  const auto matrix = cluster_engine(processes())->matrix(X);
  if (processes().size() > 1) {
    EXPECT_THROW(matrix->form(power(1), 1, stopped), Interrupted);
  }
  matrix->form(power(1), 1, progress);
  EXPECT_TRUE(matrix->factor(progress));
}

}  // namespace
}  // namespace zeroloss

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::string wanted = argc > 1 ? argv[1] : "";
  const zeroloss::Group& group = zeroloss::processes();
  if (wanted != "--processes=" + std::to_string(group.size())) {
    std::fprintf(stderr, "test_cluster: a group of %d; the arguments are '%s'\n", group.size(),
                 wanted.c_str());
    return 2;
  }
  if (!group.leads()) return zeroloss::serve(group, zeroloss::services());
  const int code = RUN_ALL_TESTS();
  group.dismiss(code);
  return code;
}
