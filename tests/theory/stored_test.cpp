// certify of points that stay where they are, beside the same points in memory.
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "support/points.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/kernel/spectrum.hpp"
#include "zeroloss/sources/readers.hpp"
#include "zeroloss/theory/certify.hpp"

namespace zeroloss {
namespace {

using namespace test;

// Points, their labels, and the same left in place; `reads` counts.
struct Both {
  Dataset memory, stored;
};
Both both(const RowMatrix& X, std::vector<double> labels = {}, const ReadOptions& options = {}) {
  Source source;
  source.name = "test";
  source.n = X.rows();
  source.d = X.cols();
  source.points = rows_of(X);
  source.numbers = std::move(labels);
  return {select(source, options), select_stored(source, options)};
}

std::vector<double> two_classes(Index n) {
  std::vector<double> labels(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<double>(i % 2);
  return labels;
}

std::vector<Index> records(const std::vector<std::vector<Sample>>& groups) {
  std::vector<Index> all;
  for (const auto& group : groups)
    for (const Sample& s : group) all.push_back(s.record);
  return all;
}

void expect_same(const CertifyResult& a, const CertifyResult& b) {
  EXPECT_EQ(a.outcome, b.outcome) << a.reason << " / " << b.reason;
  EXPECT_EQ(a.n_distinct, b.n_distinct);
  EXPECT_EQ(a.lambda_min_verified, b.lambda_min_verified);  // the tiles are the same
  EXPECT_NEAR(a.norm_X, b.norm_X, 1e-6 * a.norm_X);         // as spectral_norm_bound says
  EXPECT_EQ(a.separation, b.separation);
  EXPECT_EQ(a.near_pairs, b.near_pairs);
  EXPECT_EQ(records(a.conflicts), records(b.conflicts));
  EXPECT_EQ(records(a.duplicates), records(b.duplicates));
  EXPECT_EQ(a.antipodal.size(), b.antipodal.size());
  EXPECT_EQ(a.nearest.has_value(), b.nearest.has_value());
  ASSERT_EQ(a.closest.size(), b.closest.size());
  for (std::size_t k = 0; k < a.closest.size(); ++k) {
    EXPECT_EQ(a.closest[k].first.record, b.closest[k].first.record);
    EXPECT_EQ(a.closest[k].distance, b.closest[k].distance);
  }
  ASSERT_EQ(a.bottleneck.size(), b.bottleneck.size());
  EXPECT_EQ(a.bottleneck.front().sample.record, b.bottleneck.front().sample.record);
  EXPECT_NEAR(a.bottleneck_distance, b.bottleneck_distance, 2 * unit_row_error(b.d));
}

TEST(Stored, AgreesWithPointsInMemory) {
  for (const bool center : {false, true}) {
    const auto [memory, stored] = both(sphere(700, 12, 3), two_classes(700));
    EXPECT_EQ(stored.n(), 700);
    EXPECT_EQ(stored.d(), 12);
    EXPECT_EQ(stored.X.size(), 0);
    const CertifyOptions options{.center = center, .method = "tail", .passes = 2};
    expect_same(certify(memory, options), certify(stored, options));
    const CertifyOptions deep{.depth = 4, .center = center, .method = "tail"};
    expect_same(certify(memory, deep), certify(stored, deep));
  }
}

// Several blocks: of 2,048 features one holds 2,048 rows.
TEST(Stored, AgreesOverSeveralBlocks) {
  const auto [memory, stored] = both(sphere(4'500, 2'048, 5));
  const CertifyOptions options{.method = "tail"};
  expect_same(certify(memory, options), certify(stored, options));
}

TEST(Stored, CoincidencesAreFoundAnywhere) {
  RowMatrix X = sphere(600, 9, 7);
  X.row(599) = 4 * X.row(2);    // equal, and labels differ by parity
  X.row(100) = X.row(300);      // equal, same label
  X.row(50) = -8 * X.row(450);  // antipodal
  X.row(20) = X.row(520);
  X(20, 3) += 1e-9;  // near
  const auto labels = two_classes(600);
  const auto [memory, stored] = both(X, labels);
  const CertifyOptions options{.method = "tail"};
  const CertifyResult a = certify(memory, options), b = certify(stored, options);
  EXPECT_EQ(b.outcome, "impossible");
  EXPECT_EQ(records(b.conflicts), (std::vector<Index>{2, 599}));
  EXPECT_EQ(records(b.duplicates), (std::vector<Index>{100, 300}));
  ASSERT_EQ(b.antipodal.size(), 1u);
  ASSERT_TRUE(b.nearest);
  expect_same(a, b);
}

TEST(Stored, ThreeAntipodalPairsInThePlaneVanish) {
  RowMatrix X(6, 2);
  X << 1, 0, -1, 0, 0, 1, 0, -1, 1, 1, -1, -1;
  const auto [memory, stored] = both(X);
  EXPECT_EQ(certify(stored, {}).outcome, "zero");
  EXPECT_EQ(certify(stored, {}).reason, certify(memory, {.method = "tail"}).reason);
}

TEST(Stored, WhatIsKeptOfTheSource) {
  const auto labels = two_classes(90);
  for (const ReadOptions& options :
       {ReadOptions{.n = 40}, {.n = 30, .shuffle = true, .seed = 4}, {.d = 3}, {.labels = "random"}}) {
    const auto [memory, stored] = both(sphere(90, 6, 1), labels, options);
    ASSERT_EQ(stored.n(), memory.n());
    ASSERT_EQ(stored.d(), memory.d());
    EXPECT_EQ(stored.records, memory.records);
    EXPECT_EQ(stored.y, memory.y);
    std::vector<Index> backwards(static_cast<std::size_t>(stored.n()));
    std::iota(backwards.rbegin(), backwards.rend(), Index{0});
    EXPECT_EQ(stored.stored->read(backwards), RowMatrix(memory.X.colwise().reverse()));
  }
}

TEST(Stored, WhatCannotBe) {
  RowMatrix X = sphere(20, 4, 1);
  const auto stored = both(X).stored;
  EXPECT_THROW(check_dataset(stored), DataError);
  EXPECT_THROW(certify(stored, {.method = "factor"}), std::invalid_argument);
  EXPECT_THROW(certify(stored, {.all_bounds = true}), std::invalid_argument);
  EXPECT_THROW(both(X, {}, {.standardize = "yes"}), std::invalid_argument);
  EXPECT_THROW(both(X, {}, {.bias = 1}), std::invalid_argument);

  Source source;
  source.name = "test";
  source.n = 20;
  source.d = 4;
  X(13, 2) = std::numeric_limits<double>::quiet_NaN();
  source.points = rows_of(X);
  try {
    certify(select_stored(source, {}), {});
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("record 13, column 2"), std::string::npos) << error.what();
  }
  X.row(13).setZero();
  source.points = rows_of(X);
  try {
    certify(select_stored(source, {}), {});
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("record 13"), std::string::npos) << error.what();
  }
  source.points = [](const std::vector<Index>& rows) {
    RowMatrix X = RowMatrix::Ones(std::ssize(rows), 4);
    X.col(0) *= 2;
    return X;
  };
  EXPECT_THROW(certify(select_stored(source, {}), {.normalize = false}), DataError);
}

TEST(Stored, TheNormOfBlocks) {
  const RowMatrix X = sphere(1'300, 30, 9);
  const RowBlocks blocks(X.rows(), X.cols(), rows_of(X), 512);
  EXPECT_EQ(blocks.count(), 3);
  const double whole = spectral_norm_bound(X), parts = spectral_norm_bound(blocks);
  EXPECT_NEAR(whole, parts, 1e-6 * whole);  // as it says
  EXPECT_THROW(RowBlocks(10, 2, rows_of(X), 100), std::invalid_argument);
}

}  // namespace
}  // namespace zeroloss
