// The similarity against its formula, and everything that is known without a sample against doing without it.
#include "audit/predictor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "support/bounds.hpp"
#include "support/decompositions.hpp"
#include "support/points.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/kernel/activation.hpp"
#include "zeroloss/kernel/dual.hpp"

namespace zeroloss::internal {
namespace {

RowMatrix random_points(Index n, Index d, std::uint64_t seed) {
  return test::normal_matrix(d, n, seed, Stream::points).transpose();
}

Matrix random_targets(Index n, Index c) { return test::normal_matrix(n, c, 5, Stream::targets); }

// The kernel of two rows, by the formula.
double similarity_of(const Features& A, Index i, const Features& B, Index j, const std::string& activation,
                     Index width) {
  const auto kernel = dual_activation(zeroloss::activation(activation), true);
  const double rho = std::clamp(A.unit.row(i).dot(B.unit.row(j)), -1.0, 1.0);
  const double network = rho * kernel(rho) / kernel(1);
  const auto mean = [&](const RowMatrix& a, const RowMatrix& b) {
    return (a.row(i) - b.row(j)).cwiseAbs().sum() / static_cast<double>(width);
  };
  const double near = std::exp(-mean(A.scaled, B.scaled));
  const double single = A.ranks.size() > 0 ? (near + std::exp(-mean(A.ranks, B.ranks))) / 2 : near;
  return (network + single) / 2;
}

// A bound of its rounding counts a sum of d + 1 products in rho, d differences in a mean m, and e^-m m <= 1.
double rounding_of(const Features& A, Index i, const Features& B, Index j, const std::string& activation) {
  const auto kernel = dual_activation(zeroloss::activation(activation), true);
  const auto d = static_cast<double>(A.unit.cols());
  const auto network = [&](double rho) { return std::clamp(rho, -1.0, 1.0) * kernel(rho) / kernel(1); };
  const double rho = A.unit.row(i).dot(B.unit.row(j)), off = 2 * test::gamma_of(d + 2);
  const double moved =
      std::max(std::abs(network(rho + off) - network(rho)), std::abs(network(rho - off) - network(rho)));
  return moved + 2 * kernel.error / kernel(1) + 2 * test::gamma_of(d + 8);
}

TEST(Similarity, IsItsFormula) {
  for (const char* scale : {"columns", "common", "given"})
    for (const char* activation : {"relu", "erf"})
      for (const Index n : {1, 2, 5, 300}) {
        const Index d = n == 5 ? 1 : 7;
        const RowMatrix X = random_points(n, d, 3), Z = random_points(4, d, 4);
        const Similarity similarity({X, {}}, scale, activation, 0);
        const Features A = similarity.features({X, {}}), B = similarity.features({Z, {}});
        Progress silent;
        const Packed<double> K = similarities(similarity, A, nullptr, silent);
        const RowMatrix cross = similarities(similarity, A, B, nullptr);
        const Index width = n == 1 ? 1 : d;  // the columns of one point are constant
        for (Index i = 0; i < n; ++i) {
          EXPECT_EQ(K(i, i), 1);
          for (Index j = 0; j < i; ++j)
            EXPECT_NEAR(K(i, j), similarity_of(A, i, A, j, activation, width),
                        rounding_of(A, i, A, j, activation))
                << scale << activation << n;
          for (Index j = 0; j < 4; ++j)
            EXPECT_NEAR(cross(i, j), similarity_of(A, i, B, j, activation, width),
                        rounding_of(A, i, B, j, activation));
        }
      }
}

TEST(Similarity, ColumnsHaveDeviationOneWhateverTheirUnits) {
  RowMatrix X = random_points(50, 4, 3), Y = X;
  Y.col(0) *= 0x1p+664;
  Y.col(1) *= 0x1p-664;
  Y.col(2).array() += 1e9;
  Y.col(3).setConstant(7);
  const Features A = Similarity({X, {}}, "columns", "relu", 0).features({X, {}}),
                 B = Similarity({Y, {}}, "columns", "relu", 0).features({Y, {}});
  EXPECT_EQ(A.scaled.leftCols(2), B.scaled.leftCols(2));
  const double lost = 2 * test::gamma_of(50 + 4) * 1e9;  // in reading, and in a mean of 50
  EXPECT_LT((A.scaled.col(2) - B.scaled.col(2)).cwiseAbs().maxCoeff(), lost);
  EXPECT_EQ(B.scaled.col(3).cwiseAbs().maxCoeff(), 0) << "a constant counts for nothing";
  for (Index k = 0; k < 2; ++k) {
    const double rounding = test::gamma_of(2 * 50 + 8);  // two sums of 50 terms
    EXPECT_NEAR(B.scaled.col(k).mean(), 0, rounding);
    EXPECT_NEAR(B.scaled.col(k).squaredNorm() / 50, 1, rounding);
    EXPECT_NEAR(B.ranks.col(k).squaredNorm() / 50, 1, rounding);
  }
  EXPECT_EQ(A.ranks.col(0), B.ranks.col(0)) << "ranks are those of any increasing function";
}

TEST(Similarity, RanksOfNewNumbersAreInterpolated) {
  RowMatrix X(4, 1);
  X << 1, 2, 2, 4;
  const Similarity similarity({X, {}}, "columns", "relu", 0);
  RowMatrix Z(5, 1);
  Z << -10, 2, 3, 4, 1e300;
  const Features A = similarity.features({X, {}}), B = similarity.features({Z, {}});
  EXPECT_EQ(B.ranks(0), A.ranks(0));
  EXPECT_EQ(B.ranks(1), A.ranks(1));
  EXPECT_NEAR(B.ranks(2), (A.ranks(1) + A.ranks(3)) / 2, test::gamma_of(3) * A.ranks(3));
  EXPECT_EQ(B.ranks(4), A.ranks(3));
  EXPECT_NEAR(A.ranks(1), 0, test::gamma_of(12)) << "the middle ranks of two equal numbers in the middle";
}

// Beside what the columns give, a share of the network's kernel of the patches' columns, each to deviation 1.
TEST(Similarity, OfImagesIsThatOfPatchesForAShare) {
  const Index n = 300, d = 4, p = 9;
  const RowMatrix X = random_points(n, d, 3), F = random_points(n, p, 8).cwiseAbs();
  const Similarity pixels({X, {}}, "common", "relu", 0), patches({{}, F}, "columns", "relu", 1),
      both({X, F}, "common", "relu", 0.75);
  const Features A = pixels.features({X, {}}), B = patches.features({{}, F}), C = both.features({X, F});
  EXPECT_EQ(B.n(), n);
  EXPECT_EQ(B.scaled.size(), 0);
  const RowMatrix& unit = B.derived;
  Progress silent;
  const Packed<double> of_pixels = similarities(pixels, A, nullptr, silent),
                       of_patches = similarities(patches, B, nullptr, silent);
  Nearest nearest;
  const Packed<double> of_both = similarities(both, C, &nearest, silent);
  const auto kernel = dual_activation(activation("relu"), true);
  for (Index i = 0; i < n; ++i) {
    Index best = -1;
    double least = INFINITY;
    for (Index j = 0; j < n; ++j) {
      if (j == i) continue;
      const double apart = (unit.row(i) - unit.row(j)).norm();
      if (apart < least) least = apart, best = j;
      if (j > i) continue;
      const double rho = unit.row(i).dot(unit.row(j));
      const double off = test::gamma_of(p + 8);
      const auto network = [&](double x) { return x * kernel(x) / kernel(1); };
      const double moved =
          std::max(std::abs(network(rho + off) - network(rho)), std::abs(network(rho - off) - network(rho)));
      EXPECT_NEAR(of_patches(i, j), network(rho), moved + 2 * kernel.error / kernel(1) + off);
      EXPECT_NEAR(of_both(i, j), 0.75 * of_patches(i, j) + 0.25 * of_pixels(i, j), test::gamma_of(4));
    }
    EXPECT_EQ(nearest.index[static_cast<std::size_t>(i)], best);
    // A distance is the root of 2 - 2 rho, whose rounding is that of rho.
    EXPECT_NEAR(std::pow(nearest.distance[static_cast<std::size_t>(i)], 2), least * least,
                4 * test::gamma_of(p + 8));
  }
}

TEST(Similarity, NearestAreThoseOfAllPairs) {
  const RowMatrix X = random_points(600, 3, 9);
  const Similarity similarity({X, {}}, "columns", "relu", 0);
  const Features A = similarity.features({X, {}});
  Nearest nearest;
  Progress silent;
  similarities(similarity, A, &nearest, silent);
  for (Index i = 0; i < 600; ++i) {
    Index best = -1;
    double least = INFINITY;
    for (Index j = 0; j < 600; ++j)
      if (const double apart = (A.scaled.row(i) - A.scaled.row(j)).cwiseAbs().sum() / 3;
          j != i && apart < least) {
        least = apart;
        best = j;
      }
    EXPECT_EQ(nearest.index[static_cast<std::size_t>(i)], best);
    EXPECT_NEAR(nearest.distance[static_cast<std::size_t>(i)], least, test::gamma_of(2 * (3 + 2)) * least);
  }
}

// What remains of rows without some.
std::vector<Index> without(Index n, std::initializer_list<Index> left_out) {
  std::vector<Index> rest;
  for (Index i = 0; i < n; ++i)
    if (std::find(left_out.begin(), left_out.end(), i) == left_out.end()) rest.push_back(i);
  return rest;
}

constexpr double kRidge = 0.03;

// Outputs k A^-1 b, and what rounding may do to them, here and in what a formula says of them: entries of k
// and A have `terms` roundings, and a left-out sample is one output more, of itself.
struct Outputs {
  Matrix f;
  double off;
};
Outputs outputs_of(const Matrix& A, const Matrix& k, const Matrix& b, double terms) {
  const Matrix c = test::solve_by_ldlt(A, b), h = test::solve_by_ldlt(A, k.transpose());
  const double size = 1 + h.colwise().lpNorm<1>().maxCoeff(), largest = A.diagonal().maxCoeff();
  const double error =
      test::cholesky_error(static_cast<double>(A.rows()), largest) + test::gamma_of(terms) * largest;
  return {k * c, 4 * error * size * size * (c.colwise().lpNorm<1>().maxCoeff() + 1)};
}

// Kernel ridge regression of some rows, by Eigen, asked about the points B.
Outputs retrained(const Similarity& similarity, const Features& A, const std::vector<Index>& rows,
                  const Matrix& Y, const Features& B) {
  const Features some = A.rows(rows);
  Matrix K = similarities(similarity, some, some, nullptr);
  K.diagonal().array() += kRidge;
  const Matrix targets = Y(rows, Eigen::all);
  return outputs_of(K, similarities(similarity, B, some, nullptr), targets, 5 + 30);
}

// The same of a few inducing points.
Outputs retrained_inducing(const Similarity& similarity, const Features& A,
                           const std::vector<Index>& inducing, const std::vector<Index>& rows,
                           const Matrix& Y, const Features& B) {
  const Features Z = A.rows(inducing), some = A.rows(rows);
  const Matrix Kmm = similarities(similarity, Z, Z, nullptr),
               Knm = similarities(similarity, some, Z, nullptr);
  const Matrix targets = Y(rows, Eigen::all);
  const Matrix normal = Knm.transpose() * Knm + kRidge * Kmm;
  const auto terms = 2 * (5 + 30) + static_cast<double>(rows.size());
  return outputs_of(normal, similarities(similarity, B, Z, nullptr), Knm.transpose() * targets, terms);
}

class WithoutSamples : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr Index n = 60, c = 3;
  WithoutSamples()
      : X(random_points(n, 5, 1)),
        Y(random_targets(n, c)),
        similarity({X, {}}, "columns", "relu", 0),
        A(similarity.features({X, {}})),
        B(similarity.features({random_points(8, 5, 2), {}})),
        inducing{3, 5, 8, 20, 21, 34, 40, 41, 55, 59} {
    Progress silent;
    if (GetParam())
      predictor = std::make_unique<Predictor>(similarity, A, inducing, kRidge, Y, nullptr, silent);
    else
      predictor = std::make_unique<Predictor>(
          similarity, A, factored(similarities(similarity, A, nullptr, silent), kRidge, silent), kRidge, Y,
          silent);
  }
  Outputs again(const std::vector<Index>& rows, const Features& points) const {
    return GetParam() ? retrained_inducing(similarity, A, inducing, rows, Y, points)
                      : retrained(similarity, A, rows, Y, points);
  }

  RowMatrix X;
  Matrix Y;
  Similarity similarity;
  Features A, B;
  std::vector<Index> inducing;
  std::unique_ptr<Predictor> predictor;
};

TEST_P(WithoutSamples, PredictionsOfASampleThatItWasNotShown) {
  const Matrix& R = predictor->residuals();
  for (Index i = 0; i < n; ++i) {
    const auto [f, off] = again(without(n, {i}), A.rows({i}));
    EXPECT_LT((Y.row(i) - R.row(i) / predictor->diagonal()(i) - f).cwiseAbs().maxCoeff(), off) << i;
  }
}

TEST_P(WithoutSamples, PredictionsWithoutAnotherOneToo) {
  const Matrix& R = predictor->residuals();
  const Vector& g = predictor->diagonal();
  const Matrix G = predictor->columns({7});
  for (Index j = 0; j < n; ++j) {
    if (j == 7) continue;
    const auto [f, off] = again(without(n, {7, j}), A.rows({7}));
    const Matrix residual = (g(j) * R.row(7) - G(j) * R.row(j)) / (g(7) * g(j) - G(j) * G(j));
    EXPECT_LT((Y.row(7) - residual - f).cwiseAbs().maxCoeff(), 2 * off) << j;
  }
}

TEST_P(WithoutSamples, PredictionsAreSumsOfWeightsTimesTargets) {
  const Matrix h = predictor->weights(B), f = predictor->predict(B);
  const auto [all, off] = again(without(n, {}), B);
  EXPECT_LT((h.transpose() * Y - f).cwiseAbs().maxCoeff(), off);
  EXPECT_LT((all - f).cwiseAbs().maxCoeff(), off);
  const Matrix G = predictor->columns({0, 12});
  Matrix own = G.col(1) / -predictor->diagonal()(12);
  own(12) = 0;
  const auto [left_out, off_too] = again(without(n, {12}), A.rows({12}));
  EXPECT_LT((own.transpose() * Y - left_out).cwiseAbs().maxCoeff(), off_too);
}

TEST_P(WithoutSamples, WhatLeavingOutTakesAwayOfAnyPrediction) {
  const Matrix h = predictor->weights(B), f = predictor->predict(B);
  for (Index j = 0; j < n; ++j) {
    const Matrix change = h.row(j).transpose() * predictor->residuals().row(j) / predictor->diagonal()(j);
    const auto [left_out, off] = again(without(n, {j}), B);
    EXPECT_LT((f - left_out - change).cwiseAbs().maxCoeff(), off) << j;
  }
}

INSTANTIATE_TEST_SUITE_P(ExactAndInducing, WithoutSamples, ::testing::Bool());

TEST(Predictor, RidgeIsThatOfTheLeastError) {
  const RowMatrix X = random_points(80, 3, 11);
  Matrix Y = X.col(0).array().sin() + 0.3 * random_targets(80, 1).array();
  const Similarity similarity({X, {}}, "columns", "relu", 0);
  const Features A = similarity.features({X, {}});
  Progress silent;
  const std::vector<double> ridges{0.001, 0.01, 0.1, 1, 10};
  const Choice choice = choose_ridge(similarities(similarity, A, nullptr, silent), Y, ridges, silent);
  double least = INFINITY, best = 0;
  for (double ridge : ridges) {
    const Predictor p(similarity, A, factored(similarities(similarity, A, nullptr, silent), ridge, silent),
                      ridge, Y, silent);
    const double error = (p.residuals().array().colwise() / p.diagonal().array()).matrix().squaredNorm();
    if (error < least) {
      least = error;
      best = ridge;
    }
  }
  EXPECT_EQ(choice.ridge, best);
  // residuals and diagonals are solutions; of the squares of their quotients each counts twice
  const RowMatrix K = similarities(similarity, A, A, nullptr);
  const double condition = test::norm2(K) / choice.ridge + 1;
  EXPECT_NEAR(choice.error, least / Y.squaredNorm(), 4 * test::solution_error(80, condition) * choice.error);
}

}  // namespace
}  // namespace zeroloss::internal
