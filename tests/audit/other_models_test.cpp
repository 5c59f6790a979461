// What any model says of samples, beside the features that are given.
#include <gtest/gtest.h>

#include <cmath>

#include "audit/given_probabilities.hpp"
#include "support/points.hpp"
#include "zeroloss/audit/audit.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss {
namespace {

using internal::Blend;

/// Two classes, of which the given features say nothing and the embedding all.
Dataset blind(Index n) {
  Random random(2, Stream::points);
  Dataset data;
  data.name = "blind";
  data.task = Task::classification;
  data.class_names = {"a", "b"};
  data.X.resize(n, 3);
  data.y.resize(n);
  data.embedding.resize(n, 2);
  data.probabilities.resize(n, 2);
  for (Index i = 0; i < n; ++i) {
    for (double& x : data.X.row(i)) x = random.normal();
    data.y(i) = static_cast<double>(random.below(2));
    const double side = data.y(i) > 0 ? 1 : -1;
    for (double& x : data.embedding.row(i)) x = side + 0.4 * random.normal();
    const double p = 1 / (1 + std::exp(-side - random.normal()));
    data.probabilities.row(i) << 1 - p, p;
    data.records.push_back(i);
  }
  return data;
}

TEST(OtherModels, AnEmbeddingCountsWhereItSaysMore) {
  Dataset data = blind(200);
  data.probabilities.resize(0, 0);
  const AuditResult with = audit(data);
  EXPECT_GT(with.embedding, 0);
  EXPECT_LT(with.error, 0.05);
  Dataset noise = data;
  noise.embedding = test::normal_matrix(5, 200, 3, Stream::noise).transpose();
  noise.X = data.embedding;
  EXPECT_LT(audit(noise).embedding, 1);
  EXPECT_LT(audit(noise).error, 0.05);
  data.embedding.resize(0, 0);
  EXPECT_EQ(audit(data).embedding, 0);
  EXPECT_GT(audit(data).error, 0.3);
}

TEST(OtherModels, TestPointsNeedTheSame) {
  const Dataset data = blind(100);
  Dataset others = blind(20);
  Progress silent;
  EXPECT_LT(audit(data, others, {}, silent).error, 0.15);
  others.embedding = others.embedding.leftCols(1).eval();
  EXPECT_THROW(audit(data, others, {}, silent), DataError);
  others = blind(20);
  others.probabilities.resize(0, 0);
  EXPECT_THROW(audit(data, others, {}, silent), DataError);
}

TEST(OtherModels, ProbabilitiesTakeTheirPart) {
  Dataset data = blind(300);
  data.embedding.resize(0, 0);
  const AuditResult with = audit(data);
  EXPECT_GT(with.probabilities, 0.3);
  EXPECT_LT(with.error, 0.25);
  // What says nothing more has no part.
  data.X = blind(300).embedding;
  data.probabilities.setConstant(0.5);
  EXPECT_LT(audit(data).error, 0.05);
}

TEST(OtherModels, WhatAreNoProbabilitiesIsRefused) {
  Dataset data = blind(50);
  data.probabilities(3, 0) = 2;
  EXPECT_THROW(audit(data), DataError);
  data.probabilities = RowMatrix::Constant(50, 3, 1.0 / 3);
  EXPECT_THROW(audit(data), DataError) << "three columns for two classes";
  data.probabilities(0, 0) = NAN;
  EXPECT_THROW(audit(data), DataError);
}

// At the likeliest factors the likelihood has no slope, and it is concave: by central differences.
TEST(OtherModels, TheBlendIsTheLikeliest) {
  const Index n = 400, c = 4;
  Random random(5, Stream::points);
  Matrix F(n, c);
  RowMatrix P(n, c);
  std::vector<Index> labels;
  for (Index i = 0; i < n; ++i) {
    const auto k = static_cast<Index>(random.below(4));
    labels.push_back(random.uniform() < 0.2 ? static_cast<Index>(random.below(4)) : k);
    for (Index j = 0; j < c; ++j) {
      F(i, j) = (j == k ? 0.7 : 0.1) + 0.3 * random.normal();
      P(i, j) = std::exp((j == k ? 1.5 : 0.0) + random.normal());
    }
    P.row(i) /= P.row(i).sum();
  }
  const auto likelihood = [&](const Blend& blend) {
    const Matrix S = blend(F, P);
    double sum = 0;
    for (Index i = 0; i < n; ++i) sum += std::log(S(i, labels[static_cast<std::size_t>(i)]));
    return sum;
  };
  const Blend best = internal::fit_blend(F, P, labels);
  EXPECT_GT(best.own, 0.5);
  EXPECT_GT(best.given, 0.2);
  const double here = likelihood(best);
  for (const double step : {-0.05, 0.05}) {
    EXPECT_LT(likelihood({best.own + step, best.given}), here);
    EXPECT_LT(likelihood({best.own, best.given + step}), here);
    EXPECT_LT(likelihood({best.own + step, best.given - step}), here);
  }
}

TEST(OtherModels, RowsAreThoseOfTheRecords) {
  Dataset data = blind(5);
  const RowMatrix all = RowMatrix::Random(9, 2);
  EXPECT_THROW(rows_of_records(data, all.topRows(4), "file"), DataError);
  EXPECT_EQ(rows_of_records(data, all.topRows(5), "file"), all.topRows(5));
  EXPECT_EQ(rows_of_records(data, all, "file"), all.topRows(5)) << "the first records were kept";
  data.source_records = 9;
  EXPECT_THROW(rows_of_records(data, all.topRows(5), "file"), DataError) << "the source has more";
  data.records = {8, 0, 3, 2, 1};
  EXPECT_EQ(rows_of_records(data, all, "file").row(0), all.row(8));
}

}  // namespace
}  // namespace zeroloss
