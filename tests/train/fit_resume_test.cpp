// fit: the same bits for any number of threads and through interruptions, damaged files, full disks.
#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>

#include "support/fit_cases.hpp"
#include "support/full_disk.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss::test {
namespace {

TEST(Fit, ThreadsChangeNoBit) {
  const int before = omp_get_max_threads();
  for (const auto& [optimizer, precision] : {std::pair{"gd", "float64"},
                                             {"gd", "float32"},
                                             {"sgd", "float64"},
                                             {"sgd", "float32"},
                                             {"momentum", "float64"},
                                             {"momentum", "float32"},
                                             {"gauss_newton", "float64"},
                                             {"flow", "float64"},
                                             {"output_layer", "float64"}}) {
    FitOptions o = small(optimizer, "relu");
    o.width = 1300;
    o.precision = precision;
    o.max_steps = 20;
    FitResult r[2];
    for (const int threads : {1, 3}) {
      omp_set_num_threads(threads);
      r[threads / 2] = fit(sphere_data(70, 9), o);
    }
    EXPECT_TRUE(same(r[0].network, r[1].network)) << optimizer << " " << precision;
    EXPECT_TRUE(same(r[0].outputs[0].curve, r[1].outputs[0].curve)) << optimizer << " " << precision;
    EXPECT_EQ(r[0].certificate.radius, r[1].certificate.radius);
    EXPECT_EQ(r[0].certificate.margin, r[1].certificate.margin);
  }
  omp_set_num_threads(before);
}

class FitResume : public TempFolder {};

TEST_F(FitResume, IsBitForBitTheSameRun) {
  const Dataset data = three_classes(21, 7);
  for (const auto& [optimizer, space] : {std::pair{"gd", "weights"},
                                         {"gd", "gram"},
                                         {"sgd", "weights"},
                                         {"momentum", "weights"},
                                         {"momentum", "gram"},
                                         {"gauss_newton", "gram"},
                                         {"flow", "weights"}}) {
    FitOptions o = small(optimizer, "relu");
    o.space = space;
    o.max_steps = 130;
    o.tolerance = 1e-9;
    o.certify_every = 40;
    const FitResult whole = fit(data, o);
    o.checkpoint = path(std::string(optimizer) + space);
    o.resume = true;
    int interruptions = 0;
    const FitResult r = in_pieces(
        5, 7, [&](Progress& progress) { return fit(data, o, progress); }, [] {}, interruptions);
    ASSERT_LT(interruptions, 300);
    EXPECT_GT(interruptions, 1) << optimizer;
    EXPECT_TRUE(same(whole.network, r.network)) << optimizer << " " << space;
    for (std::size_t c = 0; c < 3; ++c)
      EXPECT_TRUE(same(whole.outputs[c].curve, r.outputs[c].curve)) << optimizer << " " << space;
    EXPECT_EQ(whole.certificate.radius, r.certificate.radius);
    EXPECT_EQ(whole.conclusion, r.conclusion);
  }
}

TEST_F(FitResume, RefusesAnotherRun) {
  FitOptions o = small();
  o.checkpoint = path("checkpoint");
  fit(sphere_data(9, 4), o);
  o.resume = true;
  EXPECT_MESSAGE(std::invalid_argument, fit(sphere_data(9, 4, 2), o), "resume: data (SHA-256");
  FitOptions wider = o;
  wider.width = 61;
  EXPECT_MESSAGE(std::invalid_argument, fit(sphere_data(9, 4), wider), "resume: width was 60", "61 now");
  FitOptions seeded = o;
  seeded.seed = 5;
  EXPECT_MESSAGE(std::invalid_argument, fit(sphere_data(9, 4), seeded), "resume: seed");
  EXPECT_EQ(fit(sphere_data(9, 4), o).steps, 200);
}

// Proofs are about points, which may differ where their unit rows, as doubles, do not.
TEST_F(FitResume, RefusesOtherPointsOfTheSameUnitRows) {
  Dataset data = sphere_data(9, 4);
  data.X.row(5) = data.X.row(2) = Eigen::RowVector4d(1e18, 3, 5, 7);
  FitOptions o = small();
  o.checkpoint = path("checkpoint");
  fit(data, o);
  o.resume = true;
  EXPECT_EQ(fit(data, o).n_distinct, 8);
  data.X(5, 3) = 8;
  EXPECT_MESSAGE(std::invalid_argument, fit(data, o), "resume: data (SHA-256");
  FitOptions centered = o;
  centered.center = true;
  data.X(5, 3) = 7;
  EXPECT_MESSAGE(std::invalid_argument, fit(data, centered), "resume: center was false");
}

TEST_F(FitResume, AFullDiskLosesNothing) {
  FitOptions o = small();
  o.checkpoint = path("checkpoint");
  o.resume = true;
  const Dataset data = sphere_data(9, 4);
  std::atomic<bool> cancel{false};
  Progress progress(
      [&](const ProgressReport& report) { cancel = report.stage == "training" && report.done > 50; }, &cancel,
      0);
  ASSERT_EQ(fit(data, o, progress).status, Status::interrupted);
  const std::string before = content(o.checkpoint);
  {
    const FullDisk disk(1000);
    EXPECT_THROW(fit(data, o), ResourceError);
  }
  EXPECT_TRUE(content(o.checkpoint) == before);
  FitOptions plain = o;
  plain.checkpoint.clear();
  plain.resume = false;
  EXPECT_TRUE(same(fit(data, o).network, fit(data, plain).network));
}

TEST_F(FitResume, NeedsAFolder) {
  FitOptions o = small();
  o.checkpoint = path("nowhere/checkpoint");
  EXPECT_MESSAGE(std::invalid_argument, fit(sphere_data(9, 4), o), "checkpoint: there is no folder");
}

TEST_F(FitResume, OneChangedBitIsNoticed) {
  FitOptions o = small();
  o.checkpoint = path("checkpoint");
  o.max_steps = 30;
  fit(sphere_data(9, 4), o);
  const std::string whole = content(o.checkpoint);
  o.resume = true;
  fit(sphere_data(9, 4), o);
  for (const std::size_t from_end : {1u, 100u, 1000u}) {
    std::string bytes = whole;
    bytes[bytes.size() - from_end] = static_cast<char>(bytes[bytes.size() - from_end] ^ 16);
    write("checkpoint", bytes);
    EXPECT_MESSAGE(DataError, fit(sphere_data(9, 4), o), "damaged checkpoint", "remove it to begin anew");
  }
}

TEST_F(FitResume, RefusesADamagedFile) {
  FitOptions o = small();
  o.checkpoint = write("checkpoint", "not tensors");
  o.resume = true;
  EXPECT_THROW(fit(sphere_data(9, 4), o), DataError);
}

}  // namespace
}  // namespace zeroloss::test
