#include "zeroloss/deep/tangent.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>

#include "deep/certificate.hpp"
#include "deep/equations.hpp"
#include "support/deep.hpp"
#include "support/rounding.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/deep/draw.hpp"

// The tangent kernel by its factors, against the whole matrix, whose oracle is that of DeepJacobian.
namespace zeroloss::internal {
namespace {

using test::random_network;
using test::random_rows;

TEST(Tangent, StripsHaveTheBitsOfTheWhole) {
  for (const Index outputs : {1, 3, 300}) {
    const DeepNetwork network = random_network(5, {3, 6, outputs, {"tanh"}});
    const Index n = outputs == 1 ? 700 : outputs == 3 ? 200 : 5;
    const RowMatrix X = random_rows(n, 3, 2);
    const Matrix K = tangent_kernel(network, X);
    const TangentKernel kernel = factored_tangent_kernel(network, X);
    EXPECT_EQ(kernel.side(), n * outputs);
    const Index together = points_together(kernel);
    for (const auto& [first, count] : std::vector<std::pair<Index, Index>>{
             {0, n}, {0, 1}, {n - 1, 1}, {n / 2, n - n / 2}, {n / 3, 2}, {0, std::min(together, n)}, {n, 0}})
      EXPECT_EQ(Matrix(rows_of(kernel, first, count)), K.middleRows(first * outputs, count * outputs));
    EXPECT_MESSAGE(std::invalid_argument, rows_of(kernel, n - 1, 2), "rows of points 0 to");
    EXPECT_MESSAGE(std::invalid_argument, rows_of(kernel, -1, 1), "got 1 from -1 on");
  }
}

TEST(Tangent, ProductsAreThoseOfTheMatrix) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const DeepNetwork network = random_network(seed);
    const RowMatrix X = random_rows(9, network.features(), seed);
    std::vector<bool> moving(network.layers.size() + 1);
    for (std::size_t l = 0; l < moving.size(); ++l) moving[l] = (seed + l) % 3 != 0;
    moving[seed % moving.size()] = true;
    const TangentKernel kernel = factored_tangent_kernel(network, X, moving);
    const Matrix K = tangent_kernel(network, X, moving), V = Matrix::Random(K.rows(), 3);
    // Both are of the stored factors: sums of as many terms as J has columns and rows.
    const double terms = static_cast<double>(parameters(network) + K.rows());
    const double off = 8 * terms * test::kUnit * K.trace();
    EXPECT_LT((product(kernel, V) - K * V).norm(), off * V.norm()) << seed;
    EXPECT_LT((diagonal(kernel) - K.diagonal()).norm(), off) << seed;
  }
  const TangentKernel kernel = factored_tangent_kernel(random_network(1), random_rows(4, 4, 1));
  EXPECT_MESSAGE(std::invalid_argument, product(kernel, Matrix::Ones(3, 1)), "columns; got 3 rows");
}

TEST(Tangent, LambdaMinIsProvedWhereItFits) {
  Progress progress;
  for (const Index outputs : {1, 2}) {
    const DeepNetwork network =
        draw({.d = 5, .outputs = outputs, .widths = {60, 60}, .activation = "tanh", .seed = 3});
    const RowMatrix X = random_rows(40, 5, 4);
    const Matrix K = tangent_kernel(network, X);
    const Eigen::SelfAdjointEigenSolver<Matrix> solver(K, Eigen::EigenvaluesOnly);
    const double least = solver.eigenvalues()(0), most = solver.eigenvalues().tail(1).value();
    const double off =
        2 * test::gram_rounding(network, X, std::vector<bool>(3, true), Vector::Ones(40), K.trace()) +
        8 * static_cast<double>(K.rows()) * test::kUnit * most;
    ASSERT_GT(least, 100 * off);
    const TangentLambdaMin found = tangent_lambda_min(network, X, {}, progress);
    EXPECT_TRUE(found.verified) << found.reason;
    EXPECT_EQ(found.reason, "");
    EXPECT_LE(found.lambda_min, least + off);
    EXPECT_GT(found.lambda_min, 0.999 * least);  // a goal: what is given away is 1e-5 of it, and rounding
    EXPECT_NEAR(found.estimate, least, 1e-5 * least);  // Lanczos goes on to 1e-6
    const TangentLambdaMin estimated = tangent_lambda_min_within(0, network, X, {}, progress);
    EXPECT_FALSE(estimated.verified);
    EXPECT_EQ(estimated.lambda_min, 0);
    EXPECT_GE(estimated.estimate, least - off);
    EXPECT_LT(estimated.estimate, 1.01 * least) << "40 steps of 8 columns see all of so small a matrix";
    EXPECT_NE(estimated.reason.find("packed matrix needs"), std::string::npos) << estimated.reason;
    EXPECT_NE(estimated.method.find("from above"), std::string::npos) << estimated.method;
  }
}

TEST(Tangent, LambdaMinSaysWhyItIsNotProved) {
  Progress progress;
  const DeepNetwork small = draw({.d = 2, .outputs = 1, .widths = {3}, .activation = "tanh"});
  const TangentLambdaMin singular = tangent_lambda_min(small, random_rows(50, 2, 1), {}, progress);
  EXPECT_FALSE(singular.verified);
  EXPECT_EQ(singular.estimate, 0);
  EXPECT_NE(singular.reason.find("it is 0: J has 50 rows and 13 columns"), std::string::npos)
      << singular.reason;
  DeepNetwork relu = draw({.d = 2, .outputs = 1, .widths = {30}, .activation = "relu"});
  RowMatrix X = random_rows(4, 2, 1);
  X.row(2) = X.row(1);
  const TangentLambdaMin equal = tangent_lambda_min(relu, X, {}, progress);
  EXPECT_FALSE(equal.verified);
  EXPECT_NE(equal.reason.find("not proved positive"), std::string::npos) << equal.reason;
  X.row(2).setZero();  // the biases are 0: z is
  const TangentLambdaMin kink = tangent_lambda_min(relu, X, {}, progress);
  EXPECT_FALSE(kink.verified);
  EXPECT_NE(kink.reason.find("layer 1 at point 2 is not certain"), std::string::npos) << kink.reason;
}

// What a few equations say of h is no more than what all of them say.
TEST(Tangent, FewEquationsRefuteNoMoreThanAll) {
  int refuted = 0;
  Progress progress;
  for (unsigned seed = 0; seed < 6; ++seed) {
    const DeepNetwork network =
        draw({.d = 3, .outputs = 1, .widths = {40, 40}, .activation = "tanh", .seed = seed});
    const RowMatrix X = random_rows(520, 3, seed);
    Matrix Y = predict(network, X);
    Y += std::pow(4.0, 2.0 - seed) * Matrix::Random(520, 1);
    const DeepEquations equations{X, Y, {}, {}};
    const auto some = refuted_by_some(network, verified::layer_norms(network, progress), equations, progress);
    const DeepCertificate all = certify_network(network, equations, progress);
    if (!some) continue;
    ++refuted;
    EXPECT_FALSE(all.exists);
    EXPECT_GT(some->h, 0.5);
    EXPECT_LE(some->h, all.h);
  }
  EXPECT_GT(refuted, 1);
}

}  // namespace
}  // namespace zeroloss::internal
