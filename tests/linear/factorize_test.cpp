#include "zeroloss/linear/factorize.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "linear/rotation.hpp"
#include "linear/svd.hpp"
#include "support/bounds.hpp"
#include "support/decompositions.hpp"
#include "support/maps.hpp"
#include "support/temp_folder.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
using namespace internal;
namespace {

using namespace test;

constexpr double kPi = std::numbers::pi;

Matrix oriented(Matrix R) {
  if (determinant(R) < 0) {
    if (R.rows() % 2 == 1)
      R = -R;
    else
      R.row(0) = -R.row(0);
  }
  return R;
}

Matrix with_eigenvalues(Index d, const std::vector<double>& values, std::uint64_t seed) {
  Vector s(d);
  for (Index i = 0; i < d; ++i) s(i) = values[static_cast<std::size_t>(i) % values.size()];
  const Matrix U = orthogonal(d, seed);
  return U * s.asDiagonal() * U.transpose();
}

struct Kind {
  const char* name;
  std::function<Matrix(Index d, std::uint64_t seed)> map;
};

const std::vector<Kind> kKinds{
    {"random", [](Index d, std::uint64_t seed) { return gaussian(d, d, seed); }},
    {"rotation", [](Index d, std::uint64_t seed) { return orthogonal(d, seed); }},
    {"identity", [](Index d, std::uint64_t) { return Matrix(Matrix::Identity(d, d)); }},
    {"minus identity", [](Index d, std::uint64_t) { return Matrix(-Matrix::Identity(d, d)); }},
    {"nearly the identity",
     [](Index d, std::uint64_t seed) {
       return Matrix(Matrix::Identity(d, d) + 1e-15 * gaussian(d, d, seed));
     }},
    {"reflection",
     [](Index d, std::uint64_t seed) {
       return with_eigenvalues(d, {1, -1}, seed);
     }},
    {"repeated",
     [](Index d, std::uint64_t seed) {
       return with_eigenvalues(d, {-1, 2, 1}, seed);
     }},
    {"nearly -1",
     [](Index d, std::uint64_t seed) {
       Matrix R = -Matrix::Identity(d, d);
       if (d > 1) R(0, 1) = 1e-9, R(1, 0) = -1e-9;
       const Matrix U = orthogonal(d, seed);
       return Matrix(U * R * U.transpose());
     }},
    {"Jordan block",
     [](Index d, std::uint64_t) {
       Matrix R = Matrix::Identity(d, d);
       R.diagonal(1).setOnes();
       return R;
     }},
    {"condition 1e8", [](Index d, std::uint64_t seed) { return conditioned(d, 1, 1e8, seed); }},
    {"condition 1e8 about 1", [](Index d, std::uint64_t seed) { return conditioned(d, 1e4, 1e8, seed); }},
    {"large", [](Index d, std::uint64_t seed) { return Matrix(1e6 * gaussian(d, d, seed)); }},
    {"small", [](Index d, std::uint64_t seed) { return Matrix(1e-6 * gaussian(d, d, seed)); }},
};

// A proved norm is above the exact one by this factor at most (LinearResnet::max_norm), or twice so much.
double norm_excess(double d) { return 1 + 2 * d * d * 0x1p-49; }

// The contract of the header, for every kind of map, size and depth. All that is measured is measured again
// here by other means: the product from the left, norms by Jacobi's method.
TEST(Factorize, EveryFactorisationReconstructsAndKeepsItsBound) {
  for (const Kind& kind : kKinds)
    for (const Index d : {1, 2, 3, 8, 17, 30})
      for (std::uint64_t seed = 0; seed < (d < 10 ? 5 : 1); ++seed) {
        const Matrix R = oriented(kind.map(d, 10 * seed + static_cast<std::uint64_t>(d)));
        const Factorizer factorizer(R);
        const double norm = norm2(R);
        for (const Index l : {1, 2, 3, 5, 8, 100})
          for (const Factorization& f : factorizer.all(l)) {
            SCOPED_TRACE(std::string(kind.name) + ", d = " + std::to_string(d) + ", " + f.name +
                         ", l = " + std::to_string(l));
            EXPECT_EQ(f.layers, l);
            EXPECT_TRUE(f.name != "polar" || f.missing.empty()) << f.missing;
            if (!f.missing.empty()) {  // for rounding: the logarithm only, and only of ill-conditioned maps
              const bool hard = f.name == "logarithm" && factorizer.gamma() > 8;
              EXPECT_TRUE(hard || f.missing.find("rounding") == std::string::npos) << f.missing;
              continue;
            }
            ASSERT_EQ(f.network.layers(), l);
            const auto D = static_cast<double>(d);
            const double allowed = 1e-12 * D * std::max(norm, 1e-3);  // the header's
            // The proof adds l products' roundings, each against ||A||_F ||h||_F <= d ||A|| ||h||: the
            // ||A_i|| sum to 4 pi + 3 gamma + l at most. Of a logarithm the layers may grow on the way.
            const double steps = 4 * kPi + 3 * factorizer.gamma() + static_cast<double>(l);
            const double rounding = steps * D * D * 2 * kUnit * std::max(norm, 1.0);
            EXPECT_TRUE(f.name == "logarithm" || f.reconstruction_error <= allowed + rounding)
                << f.reconstruction_error;
            // This product and that of the contract are off by as much each.
            const double lost = f.name == "logarithm" ? f.reconstruction_error : rounding;
            EXPECT_LE((plain_product(f.network.A) - R).norm(), allowed + 2 * lost);
            double largest = 0;
            for (const Matrix& A : f.network.A) largest = std::max(largest, norm2(A));
            EXPECT_GE(f.max_norm, largest * (1 - backward_error(D)));
            EXPECT_LE(f.max_norm, (largest * (1 + backward_error(D)) + f.correction) * norm_excess(D));
            EXPECT_TRUE(f.name == "paper" || largest <= f.bound) << largest << " " << f.bound;
          }
      }
}

// theory 10: polar alone is at or below (4 pi + 3 gamma)/l for every l >= max(2, 3 gamma).
TEST(Factorize, PolarKeepsTheBoundOfTheTheoremAtEveryDepth) {
  for (const double condition : {1.0, 3.0, 1e2, 1e4, 1e8})
    for (const double largest : {1.0, std::sqrt(condition), 1.0 / 7})
      for (const Index d : {1, 2, 3, 6}) {
        const Matrix R = oriented(conditioned(d, largest, condition, 5));
        const Factorizer factorizer(R);
        for (Index l = 2; l <= 100; ++l) {
          if (static_cast<double>(l) < 3 * factorizer.gamma()) continue;
          const double bound = (4 * kPi + 3 * factorizer.gamma()) / static_cast<double>(l);
          const Factorization f = factorizer.polar(l);
          EXPECT_LE(f.max_norm, bound) << condition << " " << largest << " " << d << " " << l;
        }
      }
}

TEST(Factorize, PaperIsItsTheoremWhereRoundingAllows) {
  // gamma = 0 and l = 4 q: every rotation factor is T(theta/q), and nothing is left for the stretch.
  const Matrix R = oriented(orthogonal(6, 3));
  const Factorizer factorizer(R);
  EXPECT_LE(factorizer.gamma(), 4 * backward_error(6) + 80 * 6 * 6 * kUnit);  // of R and its proof, at s = 1
  for (const Index q : {1, 2, 5, 25}) {
    const Factorization f = factorizer.paper(4 * q);
    EXPECT_LE(f.max_norm, f.bound);
    const double bound = (4 * kPi + 3 * factorizer.gamma()) / static_cast<double>(4 * q);
    EXPECT_NEAR(f.bound, bound, test::gamma_of(12) * bound);
  }
}

TEST(Factorize, PolarOfARotationIsItsRoot) {
  const double theta = 2.5;
  const Matrix R{{std::cos(theta), -std::sin(theta)}, {std::sin(theta), std::cos(theta)}};
  for (const Index l : {1, 2, 7}) {
    const double part = theta / static_cast<double>(l);
    const Factorization f = Factorizer(R).polar(l);
    const Matrix root{{std::cos(part) - 1, -std::sin(part)}, {std::sin(part), std::cos(part) - 1}};
    const double off = backward_error(2) * R.norm();
    for (const Matrix& A : f.network.A) EXPECT_LE((A - root).norm(), off);
    EXPECT_GE(f.max_norm, 2 * std::sin(part / 2) - off);
    EXPECT_LE(f.max_norm, 2 * std::sin(part / 2) + static_cast<double>(l) * off);  // proved of a product of l
  }
}

// A triangular map with a logarithm known in closed form: log [a, b; 0, a] = [log a, b/a; 0, log a].
TEST(Factorize, LogarithmOfAJordanBlock) {
  const double a = 3, b = 0.7;
  const Matrix R{{a, b}, {0, a}};
  const Factorization f = Factorizer(R).logarithm(4);
  ASSERT_EQ(f.missing, "");
  const double root = std::pow(a, 0.25);
  const Matrix expected{{root - 1, root * b / a / 4}, {0, root - 1}};
  for (const Matrix& A : f.network.A) EXPECT_LE((A - expected).norm(), backward_error(2) * R.norm());
}

TEST(Factorize, ScalarsAndIdentitiesAreTrivial) {
  for (const Factorization& f : Factorizer(Matrix{{16}}).all(4)) {
    EXPECT_EQ(f.missing, "");
    EXPECT_GE(f.max_norm, 1);                          // 16 = 2^4, and not with less
    EXPECT_LE(f.max_norm, 1 + 4 * backward_error(1));  // proved of a product of four
  }
  for (const Factorization& f : Factorizer(Matrix::Identity(3, 3)).all(2)) {
    if (f.name == "paper") continue;
    EXPECT_EQ(f.max_norm, 0);
    EXPECT_EQ(f.reconstruction_error, 0);
  }
}

TEST(Factorize, SaysWhyThereIsNone) {
  const Factorizer factorizer(-Matrix::Identity(2, 2));
  EXPECT_NE(factorizer.logarithm(5).missing.find("real eigenvalue -1"), std::string::npos);
  EXPECT_NE(Factorizer(conditioned(2, 2, 3, 1) * Matrix::Identity(2, 2))
                .paper(4)
                .missing.find("finds no such q and p"),
            std::string::npos);
  EXPECT_MESSAGE(std::invalid_argument, factorizer.polar(0), "layers must be >= 1; got 0");
}

TEST(Factorize, LayersNeededIsTheLeast) {
  for (const Matrix& R : {Matrix(-Matrix::Identity(2, 2)), Matrix{{100}}, Matrix{{1e-6}},
                          oriented(gaussian(5, 5, 2)), oriented(conditioned(4, 1e4, 1e8, 1))}) {
    const Factorizer factorizer(R);
    const Index needed = factorizer.layers_needed();
    const auto small = [&](Index l) {
      return factorizer.polar(l).small() || factorizer.logarithm(l).small();
    };
    EXPECT_TRUE(small(needed));
    for (Index l = 1; l < needed; ++l) EXPECT_FALSE(small(l)) << l;
  }
  EXPECT_EQ(Factorizer(-Matrix::Identity(2, 2)).layers_needed(), 4);  // 2 sin(pi/6) = 1 at 3
  EXPECT_EQ(Factorizer(Matrix{{100}}).layers_needed(), 7);            // 100^(1/7) < 2 < 100^(1/6)
}

TEST(Factorize, SingularAndReflectingMapsAreErrors) {
  EXPECT_MESSAGE(DataError, Factorizer(Matrix{{1, 2}, {2, 4}}), "singular", "rank is 1", "d is 2");
  EXPECT_MESSAGE(DataError, Factorizer(Matrix::Zero(3, 3)), "rank is 0");
  EXPECT_MESSAGE(DataError, Factorizer(Matrix{{-1}}), "det R < 0");
  EXPECT_MESSAGE(std::invalid_argument, Factorizer(Matrix::Zero(2, 3)), "square");
}

TEST(Factorize, DeterminantsAreTurnedPositive) {
  const LinearProblem odd = population(-Matrix::Identity(3, 3) * 2, covariance(3, 1));
  const OrientedProblem flipped = orient(odd);
  EXPECT_EQ(flipped.treatment, "flipped");
  EXPECT_EQ(flipped.problem.R, -odd.R);
  EXPECT_TRUE(flipped.map.reverses);
  const LinearProblem even = population(Matrix{{0, 1}, {1, 0}}, covariance(2, 2));
  for (const OrientedProblem& augmented : {orient(even), orient(odd, "augment")}) {
    const Index d = augmented.problem.d() - 1;
    EXPECT_EQ(augmented.treatment, "augmented");
    EXPECT_GT(determinant(augmented.problem.R), 0);
    EXPECT_EQ(augmented.problem.R(d, d), -1);
    const LinearProblem& p = augmented.problem;
    const LinearProblem again = population(p.R, p.Sigma);  // Sigma is a covariance, with these eigenvalues
    const auto D = static_cast<double>(d);
    const double off = backward_error(D + 1) * p.Sigma.norm();
    EXPECT_NEAR(again.sigma_min, p.sigma_min, off);
    EXPECT_NEAR(again.sigma_max, p.sigma_max, off);
    EXPECT_LE((p.root * p.root.transpose() - p.Sigma).norm(), off);
    const auto& before = d == 2 ? even : odd;
    EXPECT_LE((p.Sigma.topLeftCorner(d, d) - before.Sigma).norm(), off);
    const double variance = before.Sigma.trace() / D;  // a norm of d squares, and its square again
    EXPECT_NEAR(p.Sigma(d, d), variance, test::gamma_of(3 * D + 12) * variance);
  }
  EXPECT_EQ(orient(population(Matrix::Identity(2, 2), covariance(2, 2)), "augment").treatment, "none");
  EXPECT_MESSAGE(std::invalid_argument, orient(even, "flip"), "odd d", "d is 2");
  EXPECT_MESSAGE(std::invalid_argument, orient(even, "turn"), "turn");
  EXPECT_MESSAGE(DataError, orient(population(Matrix{{1, 1}, {1, 1}}, covariance(2, 2))), "singular",
                 "rank is 1");
}

TEST(Rotation, RootsMultiplyToTheRotation) {
  for (const Index d : {1, 2, 3, 6, 11}) {
    const Matrix Q =
        oriented(with_eigenvalues(d, {1, -1, -1}, 4) * orthogonal(d, 5) * orthogonal(d, 5).transpose());
    const Rotation rotation(Q);
    for (const Index q : {1, 2, 9}) {
      const Matrix A = rotation.root(q);
      const auto D = static_cast<double>(d), factors = static_cast<double>(q);
      EXPECT_LE((plain_product(std::vector<Matrix>(static_cast<std::size_t>(q), A)) - Q).norm(),
                (1 + factors) * backward_error(D) * Q.norm());  // of the Schur form, and of each factor
      EXPECT_NEAR(norm2(A), 2 * std::sin(rotation.angle() / (2 * factors)), 2 * backward_error(D) * A.norm());
      const Matrix parts =
          rotation.root(q, Rotation::Planes::turning) + rotation.root(q, Rotation::Planes::reversing);
      EXPECT_LE((parts - A).norm(), backward_error(D) * (A.norm() + 1));
    }
  }
}

// A divide-and-conquer method that fails on coinciding singular values shows here.
TEST(Svd, IsAccurateForCoincidingValues) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto d = static_cast<Index>(16 + seed % 30);
    const Matrix R = with_eigenvalues(d, {-1, 2, 1}, seed);
    const Svd svd = singular_vectors(R);
    const double off = backward_error(static_cast<double>(d));
    EXPECT_LE((svd.U * svd.s.asDiagonal() * svd.Vt - R).norm(), off * R.norm());
    EXPECT_LE((svd.U.transpose() * svd.U - Matrix::Identity(d, d)).norm(), off * svd.U.norm());
    EXPECT_LE((singular_values(R).s - svd.s).norm(), off * R.norm());
  }
}

}  // namespace
}  // namespace zeroloss
