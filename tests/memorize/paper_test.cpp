// The paper's own construction, its conditions by brute force.
#include <gtest/gtest.h>

#include "memorize/cases.hpp"
#include "memorize/construct.hpp"
#include "support/targets.hpp"

namespace zeroloss {
using namespace internal;
namespace {

struct Pair {
  Index first = -1, second = -1;
  double rho = 0, least = 1e300;  ///< largest | ||z||^2 - 1 |, least squared distance of all pairs
};

Pair brute_force(const RowMatrix& points) {
  Pair pair;
  for (Index i = 0; i < points.rows(); ++i)
    pair.rho = std::max(pair.rho, std::abs(points.row(i).squaredNorm() - 1));
  for (Index i = 0; i < points.rows(); ++i)
    for (Index j = i + 1; j < points.rows(); ++j) {
      const double apart = (points.row(i) - points.row(j)).squaredNorm();
      pair.least = std::min(pair.least, apart);
      if (apart < 6 * pair.rho && pair.first < 0) pair.first = i, pair.second = j;
    }
  return pair;
}

TEST(Paper, ConditionsAgreeWithBruteForce) {
  int held = 0, failed = 0;
  for (const Index k : {2, 3, 20, 60})
    for (const Index m : {1, 2, 30, 200})
      for (const double spread : {0.0, 0.01, 0.3})
        for (const Index r : {1, 4}) {
          RowMatrix Z = test::normal_points(m, k, static_cast<std::uint64_t>(k + m));
          for (Index i = 0; i < m; ++i)
            Z.row(i) *= (1 + spread * std::sin(static_cast<double>(i))) / Z.row(i).norm();
          Images images{std::vector<Index>(static_cast<std::size_t>(m)), Z.rowwise().squaredNorm(),
                        unit_codes(r, k, 1), 1};
          RowMatrix all(m + r, k);
          all << Z, images.Q;
          const Pair expected = brute_force(all);
          Progress silent;
          const PaperCheck check = check_paper(images, Z, silent);
          SCOPED_TRACE(testing::Message()
                       << "k " << k << ", m " << m << ", spread " << spread << ", r " << r);
          EXPECT_EQ(check.failure.empty(), expected.first < 0) << check.failure;
          if (check.failure.empty()) {
            EXPECT_GE(check.rho, expected.rho);
            const double rounding =
                test::gamma_of(static_cast<double>(k) + 6) * 8;  // of ||z - z'||^2, in parts
            EXPECT_LE(6 * check.rho, expected.least + rounding);
            Matrix products = all * all.transpose();
            products.diagonal().setConstant(-1);
            EXPECT_GE(check.product, products.maxCoeff() - rounding);
            EXPECT_LT(check.product, 1 - 2 * check.rho + rounding);  // the threshold
            ++held;
          } else {
            EXPECT_EQ(check.first, expected.first);
            EXPECT_EQ(check.second, expected.second);
            ++failed;
          }
        }
  EXPECT_GT(held, 10);
  EXPECT_GT(failed, 10);
}

MemorizeOptions paper(std::optional<Index> hidden = {}, const std::string& precision = "float64") {
  MemorizeOptions options;
  options.construction = "paper";
  options.hidden = hidden;
  options.precision = precision;
  return options;
}

TEST(Paper, MemorisesSpreadPoints) {
  RowMatrix X = test::normal_points(30, 100);
  X.rowwise().normalize();
  const Dataset data = test::labelled(X, 4);
  for (const std::string precision : {"float64", "float32"}) {
    const MemorizeResult result = memorize(data, paper({}, precision));
    ASSERT_EQ(result.status, MemorizeStatus::memorized) << result.conclusion;
    const Memorizer& network = *result.network;
    EXPECT_LT(result.max_error, test::output_error(network));
    for (Index a = 0; a < 30; ++a) {
      const double square = network.U.row(a).squaredNorm(), t = -network.s(a);
      for (Index i = 0; i < 30; ++i)
        EXPECT_TRUE(i == a || (t - network.U.row(a).dot(network.U.row(i))) / square >= result.min_margin);
      for (Index j = 0; j < 4; ++j)
        EXPECT_GE((t - network.U.row(a).dot(network.U_out.row(j))) / square, result.min_margin);
    }
    EXPECT_EQ((network.s.head(30).array() - network.s(0)).abs().maxCoeff(), 0);  // one threshold
    // Points in their own order, and each block's neurons answer to their own points only.
    for (Index i = 0; i < 30; ++i) {
      const bool fused = test::best_target_fuses();
      const Vector z = precision == "float32"
                           ? Vector(test::hidden<float>(network, X, i, 0, fused).cast<double>())
                           : test::hidden<double>(network, X, i, 0, fused);
      EXPECT_EQ(network.U.row(i).transpose(), z);
      const Vector active = (network.U * network.U.row(i).transpose() + network.s).cwiseMax(0);
      for (Index a = 0; a < 30; ++a) EXPECT_EQ(active(a) > 0, a == i);
    }
  }
}

TEST(Paper, NamesTheFirstPairThatViolatesItsConditions) {
  RowMatrix X = test::normal_points(40, 100);
  X.rowwise().normalize();
  X.row(23) = X.row(9) + 0.01 * X.row(10);
  X.row(39) = X.row(17) + 0.01 * X.row(10);
  const Dataset data = test::labelled(X, 4);
  const MemorizeResult result = memorize(data, paper(512));
  EXPECT_EQ(result.status, MemorizeStatus::not_separated);
  EXPECT_FALSE(result.network);
  ASSERT_EQ(result.closest.size(), 2u);
  EXPECT_EQ(result.closest[0].record, 9);
  EXPECT_EQ(result.closest[1].record, 23);
  EXPECT_NE(
      result.conclusion.find("the paper's construction does not apply with width 512: sample 9 (label c"),
      std::string::npos)
      << result.conclusion;
  EXPECT_NE(result.conclusion.find("6 rho' = "), std::string::npos) << result.conclusion;
  EXPECT_EQ(memorize(data).status, MemorizeStatus::memorized);
  EXPECT_EQ(memorize(test::labelled(RowMatrix::Zero(1, 3), 2), paper(4)).status,
            MemorizeStatus::not_separated);
}

TEST(Codes, LieApart) {
  for (const Index k : {2, 3, 8, 16})
    for (const Index r : {1, 2, 10, 60}) {
      const RowMatrix Q = unit_codes(r, k, 3);
      // two norms of k terms
      EXPECT_LE((Q.rowwise().norm().array() - 1).abs().maxCoeff(),
                test::gamma_of(static_cast<double>(k) + 6));
      Matrix products = Q * Q.transpose();
      products.diagonal().setConstant(-1);
      EXPECT_LT(products.maxCoeff(), 1 - 1e-3);  // far from 1
    }
  EXPECT_EQ(unit_codes(2, 1, 0), (RowMatrix{{1}, {-1}}));
}

}  // namespace
}  // namespace zeroloss
