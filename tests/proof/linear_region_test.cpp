#include "proof/linear_region.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "proof/tangent_matrix.hpp"
#include "support/two_layer.hpp"
#include "zeroloss/network/pairs.hpp"

namespace zeroloss {
namespace {

using namespace test;

// A network of pairs at an output scale, with targets of +-1.
Problem pairs(const std::string& phi, Index n, Index d, Index width, double output_scale,
              std::uint64_t seed = 1) {
  Problem p{sphere(n, d, seed), normals(n, seed).cwiseSign(), {}, activation(phi)};
  p.network = draw_pairs({.width = width, .d = d, .seed = seed, .output_scale = output_scale}, p.phi, p.X);
  return p;
}

Certificate certified(const Problem& p, const Vector& counts = {}) {
  Progress progress;
  return certify_output(p.network, p.phi, {p.X, p.y, counts}, progress).certificate;
}

// The least scale at which descent is proved, within 1 %: margin is proportional to it.
double least_scale(Problem p) {
  double scale = 1;
  for (int k = 0; k < 60 && certified(p).kind != "descent"; ++k) {
    const double margin = certified(p).margin;
    const double factor = margin > 1e-9 && margin < 1 ? 1.001 / margin : 8;
    p.network.v *= factor;
    scale *= factor;
  }
  return scale;
}

struct Signs {
  Eigen::Array<bool, Eigen::Dynamic, Eigen::Dynamic> positive;
  explicit Signs(const Problem& p) : positive(p.Z().array() > 0) {}
  bool operator==(const Signs& other) const { return (positive == other.positive).all(); }
};

TEST(Cell, DescentKeepsItsSignsItsRateAndItsRadius) {
  for (const auto& [phi, n, d, width, seed] : {std::tuple{"relu", 12, 4, 12, 1},
                                               {"relu", 20, 6, 24, 2},
                                               {"leaky_relu", 12, 4, 8, 3},
                                               {"leaky_relu", 1, 1, 2, 4},
                                               {"relu", 30, 10, 40, 5}}) {
    SCOPED_TRACE(testing::Message() << phi << ", " << n << " points");
    Problem p = pairs(phi, n, d, width, 1, static_cast<std::uint64_t>(seed));
    const double scale = least_scale(p);
    p.network.v *= scale;
    const Certificate c = certified(p);
    ASSERT_EQ(c.kind, "descent") << c.reason;
    const Vector s = jacobi_singular_values(p.jacobian()).cast<double>();
    // The proof gives away next to nothing: the rate is lambda_min itself, the step 1/||J||^2.
    EXPECT_LE(c.rate, s(n - 1) * s(n - 1));
    EXPECT_GE(c.rate, 0.999 * s(n - 1) * s(n - 1));
    EXPECT_LE(c.step * s(0) * s(0), 1);
    EXPECT_GE(c.step * s(0) * s(0), 0.999);
    const Signs first(p);
    const RowMatrix W0 = p.network.W;
    double bound = c.misfit;
    const double of_residual = rounding(p) * residual_size(p), shift = c.step * s(0) * of_residual;
    for (int k = 0; k < 3000; ++k) {
      ASSERT_LE(p.r().norm(), bound * (1 + test::gamma_of(2 * k)) + descent_error(p, k)) << "step " << k;
      ASSERT_TRUE(Signs(p) == first) << "step " << k;
      ASSERT_LE((p.network.W - W0).norm(), c.radius + (k + 1) * (kUnit * W0.norm() + shift));
      p.step(c.step);
      bound *= 1 - c.step * c.rate;
    }
  }
}

// The margin is proportional to the scale, so just above 1 halving it fails.
TEST(Cell, HalfTheScaleIsNotProved) {
  int proved = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Problem p = pairs("relu", 10, 4, 10, 1, seed);
    const double scale = least_scale(p);
    if (certified([&] {
          auto q = p;
          q.network.v *= scale;
          return q;
        }())
            .kind != "descent")
      continue;
    ++proved;
    p.network.v *= scale / 2;
    EXPECT_NE(certified(p).kind, "descent") << "seed " << seed;
  }
  EXPECT_GE(proved, 10);  // of the others J J^T is singular
}

TEST(Cell, CountsAreThoseOfPointsThatOccurSeveralTimes) {
  Problem p = pairs("relu", 8, 4, 12, 1, 3);
  const Vector counts = (Vector(8) << 1, 3, 1, 1, 2, 1, 1, 5).finished();
  double scale = 1;
  while (certified(p, counts).kind != "descent" && scale < 1e12) {
    p.network.v *= 2;
    scale *= 2;
  }
  const Certificate c = certified(p, counts);
  ASSERT_EQ(c.kind, "descent");
  std::vector<Index> rows;
  for (Index i = 0; i < 8; ++i) rows.insert(rows.end(), static_cast<std::size_t>(counts(i)), i);
  Problem all{RowMatrix(p.X(rows, Eigen::all)), Vector(p.y(rows)), p.network, p.phi};
  const Vector s = jacobi_singular_values(all.jacobian()).cast<double>();
  const double off = jacobian_error(all);
  EXPECT_LE(c.rate, std::pow(s(7) + off, 2));
  EXPECT_LE(c.step * std::pow(s(0) - off, 2), 1);
  double bound = c.misfit;
  for (int k = 0; k < 1000; ++k) {
    ASSERT_LE(all.r().norm(), bound * (1 + test::gamma_of(2 * k)) + descent_error(all, k)) << "step " << k;
    all.step(c.step);
    bound *= 1 - c.step * c.rate;
  }
}

// reach() against the inverse itself.
TEST(Cell, ReachIsThatOfTheInverse) {
  const Problem p = pairs("relu", 15, 5, 12, 3, 2);
  const internal::verified::Evaluation e = internal::verified::evaluate(p.network, p.phi, {p.X, p.y});
  const Matrix J = p.jacobian().cast<double>();
  const Matrix K = J * J.transpose();
  const Vector s = jacobi_singular_values(p.jacobian()).cast<double>();
  const double lambda = s(14), wrong = test::gamma_of(60) * K.trace();  // of sums of 12 x 5 products
  const Vector c = solve_by_ldlt(K, p.r());
  Matrix lower(15, 16);
  lower.leftCols(15) = K;
  const internal::TangentMatrixHere stored(lower);
  const auto near = internal::verified::reach(e, stored, c, wrong, lambda * lambda - wrong);
  const double distance = std::sqrt(c.dot(p.r())), error = solution_error(15, std::pow(s(0) / s(14), 2));
  EXPECT_GE(near.coefficients, c.norm() * (1 - error));
  EXPECT_LE(near.coefficients, c.norm() * (1 + 1e-6));  // a goal: little is given away
  EXPECT_GE(near.distance, distance * (1 - error));
  EXPECT_LE(near.distance, distance * (1 + 1e-6));
  const auto any = internal::verified::reach_of_any(e.misfit, lambda * lambda);
  EXPECT_GE(any.coefficients, near.coefficients);
  EXPECT_GE(any.distance, near.distance);

  // A c that is off by a thousandth, as a solver in float32 may leave it, is no proof of a shorter way.
  const Vector rough = c + 1e-3 * c.norm() * normals(15, 9).normalized();
  const auto known = internal::verified::reach(e, stored, rough, wrong, lambda * lambda - wrong);
  EXPECT_GE(known.coefficients, c.norm() * (1 - error));
  EXPECT_GE(known.distance, distance * (1 - error));
}

// The most that any entry of Z moves, over all residuals of a norm, is never above what margins assume.
TEST(Cell, MarginsCoverEveryResidual) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Problem p = pairs("relu", 9, 4, 8, 2, seed);
    const Vector s = jacobi_singular_values(p.jacobian()).cast<double>();
    if (!(s(8) > 1e-3)) continue;  // nearly singular
    const auto e = internal::verified::evaluate(p.network, p.phi, {p.X, p.y});
    const auto any = internal::verified::reach_of_any(p.y.norm(), s(8) * s(8));
    const Matrix J = p.jacobian().cast<double>();
    const Vector counts;
    const double margin = internal::verified::sign_margins(e, p.network.v, {p.X, counts, 0}, {any}).front();
    const Matrix K = J * J.transpose();
    double largest = 0;  // of moves over |z_ij|
    for (int k = 0; k < 200; ++k) {
      const Vector r = normals(9, 100 * seed + static_cast<std::uint64_t>(k)).normalized() * p.y.norm();
      const Vector move = J.transpose() * solve_by_ldlt(K, r);
      const Eigen::Map<const RowMatrix> C(move.data(), 8, 4);
      largest = std::max(largest, ((p.X * C.transpose()).array() / p.Z().array()).abs().maxCoeff());
    }
    EXPECT_LE(largest * margin, 1) << "seed " << seed;
  }
}

// Margins against their formula in long double: what float32 rounds upwards takes a thousandth at most.
// Points of two blocks of rows, with counts, on a scale that float32 has no numbers for.
TEST(Cell, MarginsAreThoseOfTheFormula) {
  const Index n = 300, d = 7, m = 9;
  Problem p = pairs("leaky_relu", n, d, m - 1, 1e30, 4);
  const Vector counts = Vector::LinSpaced(n, 1, 4).array().round();
  const internal::CertifiedPoints points(p.X, counts, kUnit);
  Progress progress;
  points.size(progress);
  const auto e = internal::verified::evaluate(p.network, p.phi, {p.X, p.y, counts, kUnit});
  const internal::verified::Reach by_coefficients{1e-40, std::numeric_limits<double>::infinity()};
  const double margin = internal::verified::sign_margins(e, p.network.v, points, {by_coefficients}).front();
  long double least = std::numeric_limits<long double>::infinity();
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < p.network.v.size(); ++j) {
      long double squares = 0;
      for (Index k = 0; k < n; ++k) {
        long double product = 0;
        for (Index a = 0; a < d; ++a) product += static_cast<long double>(p.X(i, a)) * p.X(k, a);
        const long double term = product * std::sqrt(static_cast<long double>(counts(k))) * e.S(k, j);
        squares += term * term;
      }
      least =
          std::min(least, std::abs(static_cast<long double>(e.z.Z(i, j))) / (std::sqrt(squares) * 1e-40L));
    }
  EXPECT_LE(margin, static_cast<double>(least) * (1 + 4 * kUnit));
  EXPECT_GE(margin,
            static_cast<double>(least) * (1 - 1e-3));  // a goal: n 2^-24 of the sums, 1e-5 of products
}

}  // namespace
}  // namespace zeroloss
