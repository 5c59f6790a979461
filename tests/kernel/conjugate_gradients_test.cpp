// What conjugate gradients find, and what is proved of it: against equations solved in long double, whose own
// error is some n 2^-64, a thousandth of the 2^-53 that every bound has in it.
#include "zeroloss/kernel/conjugate_gradients.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <tuple>

#include "support/bounds.hpp"
#include "support/decompositions.hpp"
#include "support/points.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/threads.hpp"
#include "zeroloss/kernel/ridge.hpp"
#include "zeroloss/kernel/spectrum.hpp"
#include "zeroloss/linalg/unit_rows.hpp"

namespace zeroloss {
namespace {

using test::LongMatrix, test::LongVector;

/// Points as they are given, and as doubles of unit length.
struct ExactPoints {
  LongMatrix exact;
  RowMatrix rows;
};

ExactPoints exact_points(RowMatrix X) {
  ExactPoints points{X.cast<long double>(), {}};
  for (Index i = 0; i < X.rows(); ++i) points.exact.row(i) /= points.exact.row(i).norm();
  EXPECT_TRUE(unit_rows(X).empty());
  points.rows = std::move(X);
  return points;
}

/// Sigma of relu and erf, from the angle of two vectors.
long double sigma_of(const std::string& name, const LongVector& x, const LongVector& z) {
  constexpr long double pi = std::numbers::pi_v<long double>;
  const long double theta = 2 * std::atan2((x - z).norm(), (x + z).norm()), rho = std::cos(theta);
  if (name == "relu") return rho * (pi - theta) / (2 * pi);
  return rho * (4 / pi) / std::sqrt(9 - 4 * rho * rho);
}

LongMatrix kernel_of(const std::string& name, const LongMatrix& X, const LongMatrix& Z) {
  LongMatrix K(X.rows(), Z.rows());
  for (Index i = 0; i < X.rows(); ++i)
    for (Index j = 0; j < Z.rows(); ++j) K(i, j) = sigma_of(name, X.row(i), Z.row(j));
  return K;
}

/// A^-1 B by Cholesky's factorisation, row by row.
LongMatrix solved(LongMatrix A, LongMatrix B) {
  const Index n = A.rows();
  for (Index j = 0; j < n; ++j) {
    for (Index k = 0; k < j; ++k) A.col(j).tail(n - j) -= A(j, k) * A.col(k).tail(n - j);
    const long double root = std::sqrt(A(j, j));
    A.col(j).tail(n - j) /= root;
  }
  for (Index i = 0; i < n; ++i) {
    for (Index k = 0; k < i; ++k) B.row(i) -= A(i, k) * B.row(k);
    B.row(i) /= A(i, i);
  }
  for (Index i = n - 1; i >= 0; --i) {
    for (Index k = i + 1; k < n; ++k) B.row(i) -= A(k, i) * B.row(k);
    B.row(i) /= A(i, i);
  }
  return B;
}

struct Asked {
  std::string activation = "relu";
  double ridge = 1e-3;
  bool weighted = false;
  double scale = 1;  // of the targets
};

struct Posed {
  Asked asked;
  ExactPoints points, others;
  Vector weights;
  Matrix Y;

  Kernel kernel() const { return sigma(activation(asked.activation)); }
  /// The exact predictor at the other points.
  LongMatrix f() const {
    LongMatrix A = kernel_of(asked.activation, points.exact, points.exact);
    for (Index i = 0; i < A.rows(); ++i)
      A(i, i) += weights.size() > 0 ? asked.ridge / static_cast<long double>(weights(i)) : asked.ridge;
    return at_others(solved(A, Y.cast<long double>()));
  }
  LongMatrix at_others(const LongMatrix& C) const {
    return kernel_of(asked.activation, others.exact, points.exact) * C;
  }
};

Posed posed(Index n, Index d, Index c, const Asked& asked) {
  RowMatrix X = test::normal_matrix(n, d, 5, Stream::points),
            Z = test::normal_matrix(30, d, 6, Stream::points);
  Z.row(0) = X.row(0) * 3;                // a point that is fitted
  Z.row(1) = X.row(0) + 1e-9 * Z.row(1);  // and one beside it
  Posed p{asked, exact_points(X), exact_points(Z), {}, {}};
  p.Y = asked.scale * test::normal_matrix(n, c, 7, Stream::weights);
  if (asked.weighted) p.weights = test::normal_matrix(n, 1, 8, Stream::weights).cwiseAbs().array() + 0.1;
  return p;
}

ConjugateGradientsSolution solution_of(const Posed& p, ConjugateGradientsOptions options) {
  Progress silent;
  options.ridge = p.asked.ridge;
  return solve_conjugate_gradients(p.points.rows, p.kernel(), p.weights, p.Y, options, silent);
}

/// Nothing is farther from the exact predictor than is said, and what is evaluated is as near as is said.
void expect_bounded(const Posed& p, const ConjugateGradientsSolution& s) {
  Progress silent;
  const LongMatrix f = p.f(), near = p.at_others(s.coefficients.cast<long double>());
  const BoundedValues v = bounded_values(p.others.rows, p.points.rows, p.kernel(), s.coefficients, silent);
  for (Index j = 0; j < p.Y.cols(); ++j) {
    EXPECT_LE((f.col(j) - near.col(j)).cwiseAbs().maxCoeff(), s.bound.error(j, j));
    for (Index i = 0; i < f.rows(); ++i)
      EXPECT_LE(std::abs(near(i, j) - v.values(i, j)), v.error(i, j)) << "point " << i;
    for (Index k = 0; k < j; ++k) {
      EXPECT_LE((f.col(j) - f.col(k) - near.col(j) + near.col(k)).cwiseAbs().maxCoeff(), s.bound.error(j, k));
      EXPECT_EQ(s.bound.error(j, k), s.bound.error(k, j));
    }
  }
}

TEST(ConjugateGradients, NothingIsFartherThanProved) {
  for (const auto& [n, d] : {std::pair<Index, Index>{1, 3}, {2, 1}, {5, 1}, {40, 3}, {120, 6}})
    for (const std::string name : {"relu", "erf"})
      for (const double ridge : {1e-9, 1e-3, 1.0})
        for (const bool weighted : {false, true})
          for (const double tolerance : {0.0, 1e-6, 0.3}) {
            SCOPED_TRACE(testing::Message() << n << " x " << d << ", " << name << ", ridge " << ridge
                                            << (weighted ? ", weighted" : "") << ", to " << tolerance);
            const Posed p = posed(n, d, 3, {name, ridge, weighted});
            const auto s = solution_of(p, {.tolerance = tolerance});
            EXPECT_TRUE(s.bound.verified);
            EXPECT_TRUE(s.bound.error.allFinite());
            expect_bounded(p, s);
            if (tolerance > 1e-7) {
              EXPECT_LE(s.bound.relative, tolerance);
            }
          }
}

TEST(ConjugateGradients, TheResidualIsTheEquations) {
  const Posed p = posed(120, 5, 2, {"relu", 1e-2, true});
  auto s = solution_of(p, {.tolerance = 1e-3});
  const Matrix sharp = s.bound.error;
  Progress silent;
  s.bound =
      predictor_bound({p.points.rows, p.weights, p.asked.ridge, p.Y, s.coefficients}, p.kernel(), silent);
  EXPECT_TRUE((sharp.array() <= s.bound.error.array()).all());
  LongMatrix A = kernel_of("relu", p.points.exact, p.points.exact);
  for (Index i = 0; i < 120; ++i) A(i, i) += p.asked.ridge / static_cast<long double>(p.weights(i));
  const LongMatrix r = p.Y.cast<long double>() - A * s.coefficients.cast<long double>();
  for (Index j = 0; j < 2; ++j) {
    const double length = p.Y.col(j).norm();
    EXPECT_LE(static_cast<double>((r.col(j) - s.bound.residual.col(j).cast<long double>()).norm()),
              s.bound.entries * length);
    // The statement itself, from the residual in long double: what is said is no less, and at most 1 % more,
    // for errors of entries are 1e-8 of this residual.
    const long double weighted = (p.weights.cast<long double>().cwiseSqrt().asDiagonal() * r.col(j)).norm();
    const long double least =
        std::sqrt(0.5L) * weighted / (2 * std::sqrt(static_cast<long double>(p.asked.ridge)));
    EXPECT_GE(s.bound.error(j, j), least);
    EXPECT_LE(s.bound.error(j, j), 1.01L * least);
  }
}

TEST(ConjugateGradients, TargetsOfAnySize) {
  for (const double scale : {1e-300, 1e-150, 1e150, 1e300}) {
    SCOPED_TRACE(scale);
    const Posed p = posed(60, 4, 2, {"relu", 1e-2, false, scale});
    const auto s = solution_of(p, {.tolerance = 1e-6});
    EXPECT_LE(s.bound.relative, 1e-6);  // the tolerance
    expect_bounded(p, s);
    EXPECT_LE(s.bound.error.maxCoeff(), 1e-2 * scale);  // sqrt(k) 1e-6 ||Y||/(2 sqrt(ridge)), ||Y|| some 15
  }
  const Posed none = posed(20, 3, 2, {"relu", 1e-2, false, 0});
  const auto s = solution_of(none, {});
  EXPECT_EQ(s.coefficients, Matrix::Zero(20, 2));
  EXPECT_EQ(s.steps, 0);
  EXPECT_LE(s.bound.error.maxCoeff(), 1e-290);  // what underflows
}

TEST(ConjugateGradients, EqualPointsAndOppositeOnes) {
  Posed p = posed(40, 3, 2, {"relu", 1e-4});
  RowMatrix X = test::normal_matrix(40, 3, 9, Stream::points);
  X.middleRows(10, 10) = 2 * X.topRows(10);
  X.middleRows(20, 10) = -X.topRows(10);
  p.points = exact_points(X);
  const auto s = solution_of(p, {.tolerance = 1e-8});
  expect_bounded(p, s);
  EXPECT_LE(s.bound.relative, 1e-8);  // the tolerance
}

TEST(ConjugateGradients, WithoutARidgeTheLeastEigenvalueDecides) {
  const Posed p = posed(40, 6, 2, {"relu", 0});
  Progress silent;
  const LambdaMin least = lambda_min(p.points.rows, p.kernel(), silent);
  ASSERT_TRUE(least.verified.holds);
  const auto unknown = solution_of(p, {.tolerance = 1e-6});
  EXPECT_TRUE(unknown.bound.error.array().isInf().all());
  const auto s = solution_of(p, {.tolerance = 1e-6, .lambda_min = least.verified.lambda_min});
  EXPECT_EQ(s.coefficients, unknown.coefficients);
  EXPECT_TRUE(s.bound.error.allFinite());
  expect_bounded(p, s);
}

TEST(ConjugateGradients, WhereverTheKernelIs) {
  const Posed p = posed(700, 8, 3, {"relu", 1e-3});
  const auto exact = solution_of(p, {.tolerance = 1e-9, .storage = KernelStorage::float64});
  for (const auto storage : {KernelStorage::float32, KernelStorage::tiles}) {
    const auto s = solution_of(p, {.tolerance = 1e-9, .storage = storage});
    EXPECT_EQ(s.storage, storage);
    EXPECT_LE(s.bound.relative, 1e-9);  // the tolerance
    // ||K + ridge I||^-1 is at most 1/ridge, of two residuals of 1e-9 ||Y||.
    EXPECT_LE((s.coefficients - exact.coefficients).norm(), 2e-9 * p.Y.norm() / p.asked.ridge);
  }
}

TEST(ConjugateGradients, WhereFloat32IsTooCoarseTilesGoOn) {
  const Posed p = posed(300, 3, 1, {"erf", 1e-7});
  const auto s = solution_of(p, {.most = 3000, .storage = KernelStorage::float32});
  EXPECT_EQ(s.storage, KernelStorage::tiles);
  EXPECT_LT(s.bound.relative, 1);  // that of no coefficients
  expect_bounded(p, s);
}

TEST(ConjugateGradients, NoBitDependsOnThreads) {
  const Posed p = posed(1500, 5, 2, {"relu", 1e-3});
  const int before = set_thread_count(1);
  for (const auto storage : {KernelStorage::float64, KernelStorage::float32, KernelStorage::tiles}) {
    set_thread_count(1);
    const auto one = solution_of(p, {.tolerance = 1e-7, .storage = storage});
    set_thread_count(3);
    const auto three = solution_of(p, {.tolerance = 1e-7, .storage = storage});
    EXPECT_EQ(one.coefficients, three.coefficients);
    EXPECT_EQ(one.bound.error, three.bound.error);
    EXPECT_EQ(one.steps, three.steps);
    Progress silent;
    const BoundedValues v3 =
        bounded_values(p.others.rows, p.points.rows, p.kernel(), one.coefficients, silent);
    set_thread_count(1);
    const BoundedValues v1 =
        bounded_values(p.others.rows, p.points.rows, p.kernel(), one.coefficients, silent);
    EXPECT_EQ(v1.values, v3.values);
    EXPECT_EQ(v1.error, v3.error);
  }
  set_thread_count(before);
}

TEST(ConjugateGradients, TheBoundIsOfAnyCoefficients) {
  Posed p = posed(50, 4, 2, {"erf", 1e-2});
  Progress silent;
  ConjugateGradientsSolution given;
  given.coefficients = test::normal_matrix(50, 2, 3, Stream::weights);
  given.bound =
      predictor_bound({p.points.rows, p.weights, p.asked.ridge, p.Y, given.coefficients}, p.kernel(), silent);
  expect_bounded(p, given);
  EXPECT_GT(given.bound.relative, 0.1);
}

TEST(ConjugateGradients, WhateverIsGuessedOfTheErrorTheBoundHolds) {
  for (const double ridge : {1e-6, 1e-2})
    for (const bool weighted : {false, true}) {
      const Posed p = posed(50, 4, 2, {"relu", ridge, weighted});
      Progress silent;
      LongMatrix A = kernel_of("relu", p.points.exact, p.points.exact);
      for (Index i = 0; i < 50; ++i)
        A(i, i) += ridge / static_cast<long double>(weighted ? p.weights(i) : 1.0);
      const LongMatrix exact = solved(A, p.Y.cast<long double>());
      const Matrix off = 1e-3 * test::normal_matrix(50, 2, 4, Stream::weights);
      ConjugateGradientsSolution given;
      given.coefficients = exact.cast<double>() + off;
      const auto bound_with = [&](const Matrix* guess) {
        return predictor_bound({p.points.rows, p.weights, ridge, p.Y, given.coefficients, 0, guess},
                               p.kernel(), silent);
      };
      const Matrix plain = bound_with(nullptr).error;
      for (const double share :
           {-1.0, -0.5, 0.0, 3.0}) {  // of what it is off: all of it, half, nothing, too much
        const Matrix guess = share * off;
        given.bound = bound_with(&guess);
        expect_bounded(p, given);
        EXPECT_TRUE((given.bound.error.array() <= plain.array()).all());
      }
      // The exact correction leaves the length of f - f_hat in the space of the kernel.
      const Matrix all = -off;
      const PredictorBound best = bound_with(&all);
      const LongMatrix K = kernel_of("relu", p.points.exact, p.points.exact);
      const double length = std::sqrt(
          0.5 * static_cast<double>(off.col(0).cast<long double>().dot(K * off.col(0).cast<long double>())));
      EXPECT_GE(best.error(0, 0), length * (1 - 1e-12));  // exact is rounded to double
      EXPECT_LE(best.error(0, 0), 1.01 * length);         // what is left is rounding, 1e-10 of it
    }
}

TEST(ConjugateGradients, ClassesAreDecidedWhereTheyAreSure) {
  BoundedValues v{Matrix{{1.0, 0.0, 0.5}, {1.0, 0.85, 0.0}, {0.0, 1.0, 1.0}}, Matrix::Constant(3, 3, 0.01)};
  const Matrix error{{0.5, 0.1, 0.3}, {0.1, 0.5, 0.1}, {0.3, 0.1, 0.5}};
  EXPECT_EQ(decided_classes(v, error), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(decided_classes(v, 1.5 * error), (std::vector<bool>{true, false, false}));
  BoundedValues one{Matrix{{0.3}, {-0.3}, {0.2}, {0.0}}, Matrix::Constant(4, 1, 0.01)};
  EXPECT_EQ(decided_classes(one, Matrix{{0.25}}), (std::vector<bool>{true, true, false, false}));
  const Matrix infinite = Matrix::Constant(1, 1, std::numeric_limits<double>::infinity());
  EXPECT_EQ(decided_classes(one, infinite), std::vector<bool>(4, false));
  EXPECT_EQ(decided_classes(one, Matrix{{std::nan("")}}), std::vector<bool>(4, false));
  EXPECT_THROW(decided_classes(v, infinite), std::invalid_argument);
}

TEST(ConjugateGradients, StopsWhereItIsTold) {
  const Posed p = posed(500, 5, 1, {"relu", 1e-6});
  const auto s = solution_of(p, {.tolerance = 1e-12, .most = 2, .rank = 3});
  EXPECT_EQ(s.steps, 2);
  EXPECT_GT(s.bound.relative, 1e-12);
  expect_bounded(p, s);
  std::atomic<bool> stop = true;
  Progress cancelled({}, &stop);
  EXPECT_THROW(solve_conjugate_gradients(p.points.rows, p.kernel(), {}, p.Y, {.ridge = 1}, cancelled),
               Interrupted);
}

TEST(ConjugateGradients, WhatIsNoProblemIsRefused) {
  const Posed p = posed(20, 3, 1, {"relu", 1e-2});
  EXPECT_THROW(solution_of(p, {.tolerance = 1}), std::invalid_argument);
  EXPECT_THROW(solution_of(p, {.most = 0}), std::invalid_argument);
  EXPECT_THROW(solution_of(p, {.rank = 21}), std::invalid_argument);
  EXPECT_THROW(solution_of(p, {.lambda_min = -1}), std::invalid_argument);
  Posed bad = p;
  bad.asked.ridge = -1;
  EXPECT_THROW(solution_of(bad, {}), std::invalid_argument);
  bad = p;
  bad.weights = Vector::Zero(20);
  EXPECT_THROW(solution_of(bad, {}), std::invalid_argument);
  bad = p;
  bad.Y.conservativeResize(19, 1);
  EXPECT_THROW(solution_of(bad, {}), std::invalid_argument);
  bad = p;
  bad.Y(3, 0) = std::nan("");
  EXPECT_THROW(solution_of(bad, {}), std::invalid_argument);
}

}  // namespace
}  // namespace zeroloss
