#include "deep/lipschitz.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/deep.hpp"
#include "support/deep_jacobian.hpp"
#include "support/rounding.hpp"
#include "zeroloss/deep/certificate.hpp"

namespace zeroloss::internal::verified {
namespace {

using test::jacobian;
using test::random_network;
using test::random_rows;

// A network whose weights have moved by a vector of length `distance` at most, in random directions.
DeepNetwork shaken(DeepNetwork network, const Moving& moving, double distance) {
  std::vector<double> all;
  double squares = 0;
  const auto visit = [&](const auto& change) {
    for (std::size_t l = 0; l < network.layers.size(); ++l) {
      Layer& layer = network.layers[l];
      if (moving[l]) change(layer.W), change(layer.b), change(layer.U), change(layer.bU);
    }
    if (moving.back()) change(network.V), change(network.c);
  };
  visit([&](auto& A) {
    // A matrix of rank one as often as one of full rank: spectral norms are reached.
    const bool thin = std::rand() % 2 == 0, none = std::rand() % 4 == 0;
    for (Index i = 0; i < A.rows(); ++i)
      for (Index j = 0; j < A.cols(); ++j) {
        const double entry =
            none   ? 0
            : thin ? std::sin(1.0 + static_cast<double>(i * i)) * std::cos(static_cast<double>(j * j))
                   : 2.0 * std::rand() / RAND_MAX - 1;
        all.push_back(entry);
        squares += entry * entry;
      }
  });
  const double factor = squares > 0 ? distance / std::sqrt(squares) : 0;
  std::size_t k = 0;
  visit([&](auto& A) {
    for (Index i = 0; i < A.rows(); ++i)
      for (Index j = 0; j < A.cols(); ++j) A(i, j) += factor * all[k++];
  });
  return network;
}

// The difference of two such is off by what each is, and the subtracted weights, at most 2, are.
double difference_rounding(const DeepNetwork& network, const RowMatrix& X, const Moving& moving,
                           const Vector& weights) {
  const auto size = static_cast<double>(jacobian(network, X, moving, weights).size());
  return 2 * (test::jacobian_rounding(network, X, moving, weights) + 4 * test::kUnit * std::sqrt(size));
}

struct Case {
  DeepNetwork network;
  RowMatrix X;
  Moving moving;
  Vector weights;
};
Case random_case(unsigned seed, const std::vector<std::string>& activations) {
  Case c;
  c.network = random_network(seed, {2 + seed % 3, 3, 1 + seed % 3, activations});
  c.X = random_rows(3, c.network.features(), seed + 7);
  c.moving.resize(c.network.layers.size() + 1);
  for (std::size_t l = 0; l < c.moving.size(); ++l) c.moving[l] = std::rand() % 3 != 0;
  c.moving[static_cast<std::size_t>(std::rand()) % c.moving.size()] = true;
  c.weights = Vector::Ones(3) + Vector::Random(3).cwiseAbs();
  return c;
}

DeepEvaluation evaluated(const Case& c, std::vector<LayerNorms>& norms) {
  Progress progress;
  norms = layer_norms(c.network, progress);
  return evaluate(c.network, norms, c.X, c.weights, c.moving, progress);
}

// Weights and a multiple of `direction`, in the order of columns of J.
DeepNetwork moved_along(DeepNetwork network, const Vector& direction, double t) {
  Index k = 0;
  const auto add = [&](auto& A) {
    for (Index i = 0; i < A.size(); ++i) A.data()[i] += t * direction(k++);
  };
  for (Layer& layer : network.layers) add(layer.W), add(layer.b), add(layer.U), add(layer.bU);
  add(network.V), add(network.c);
  return network;
}

// The largest change of J for each unit of a small step, of the directions that the power method goes
// through: with H_r the second derivatives in row r, the square of it is the largest eigenvalue of the sum of
// H_r^2.
double steepest_change(const Case& c) {
  const double t = 0x1p-20;
  const Matrix J = jacobian(c.network, c.X, c.moving, c.weights);
  const auto change_along = [&](const Vector& direction) {
    return Matrix((jacobian(moved_along(c.network, direction, t), c.X, c.moving, c.weights) - J) / t);
  };
  double steepest = 0;
  Vector direction = Vector::Ones(J.cols());
  for (int k = 0; k < 12; ++k) {
    direction /= direction.norm();
    const Matrix change = change_along(direction);
    steepest = std::max(steepest, change.norm());
    direction.setZero();
    for (Index r = 0; r < J.rows(); ++r)
      direction += change_along(change.row(r).transpose()).row(r).transpose();
  }
  return steepest;
}

// By norms of products, however large products of norms are.
Lipschitz by_norms(const Case& c, const std::vector<LayerNorms>& norms, const DeepEvaluation& e,
                   double radius, double enough = 0) {
  Progress progress;
  Sensitivities sensitivities(c.network, e, c.moving);
  return lipschitz(c.network, norms, e, c.moving, radius, enough, sensitivities, progress);
}

TEST(DeepLipschitz, IsNeverExceeded) {
  double closest = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    const Case c = random_case(seed, {"tanh", "gelu", "softplus", "identity", "sin", "quadratic"});
    std::vector<LayerNorms> norms;
    const DeepEvaluation e = evaluated(c, norms);
    const double R = std::pow(10.0, -3.0 + seed % 4);
    const double bound = by_norms(c, norms, e, R).constant;
    ASSERT_TRUE(std::isfinite(bound)) << seed;
    ASSERT_LE(bound, lipschitz(c.network, norms, e, c.moving, R).constant) << seed;
    std::srand(seed);
    for (int trial = 0; trial < 40; ++trial) {
      const DeepNetwork one = shaken(c.network, c.moving, R * (0.5 + 0.25 * (trial % 3)));
      // The other at the full radius from the center or beside the first: both may show the steepest change.
      const DeepNetwork other = trial % 2 == 0 ? shaken(c.network, c.moving, R) : c.network;
      const double change =
          (jacobian(one, c.X, c.moving, c.weights) - jacobian(other, c.X, c.moving, c.weights)).norm();
      const double apart = distance(one, other);
      if (apart == 0) continue;
      const double rounding = difference_rounding(one, c.X, c.moving, c.weights);
      EXPECT_LE(change, bound * apart + rounding) << "seed " << seed << " trial " << trial;
      closest = std::max(closest, (change - rounding) / (bound * apart));
    }
  }
  EXPECT_GT(closest, 0.5);  // it is not a bound that anything would satisfy
}

// f = V phi(w x) of one unit, w moving: the second derivative is V phi''(z) x^2, everywhere the same.
TEST(DeepLipschitz, OfASquareIsReached) {
  for (const double x : {1e-20, 0.5, 3.0, 1e20}) {
    const Case c{{.layers = {{.activation = "quadratic", .W = RowMatrix::Constant(1, 1, 0.3)}},
                  .V = RowMatrix::Constant(1, 1, -1.5)},
                 RowMatrix::Constant(1, 1, x),
                 {true, false},
                 Vector::Ones(1)};
    std::vector<LayerNorms> norms;
    const DeepEvaluation e = evaluated(c, norms);
    const double curvature = activation("quadratic").M, exact = 1.5 * curvature * x * x;
    for (const double bound :
         {by_norms(c, norms, e, 0.1).constant, lipschitz(c.network, norms, e, c.moving, 0.1).constant}) {
      EXPECT_GE(bound, exact * (1 - 4 * test::kUnit)) << x;  // roundings of its formula
      EXPECT_LE(bound, exact * (1 + 64 * 0x1p-30)) << x;     // some factors of 1 + 2^-30
    }
  }
}

// f = v w x: J = (v x, w x) changes by |x| a unit, and a pair of weights that are multiplied may cost the
// root of 2.
TEST(DeepLipschitz, OfAProductIsNearlyReached) {
  const Case c{{.layers = {{.activation = "identity", .W = RowMatrix::Constant(1, 1, 0.3)}},
                .V = RowMatrix::Constant(1, 1, 0.7)},
               RowMatrix::Constant(1, 1, 3.0),
               {true, true},
               Vector::Ones(1)};
  std::vector<LayerNorms> norms;
  const DeepEvaluation e = evaluated(c, norms);
  const double up = 1 + 64 * 0x1p-30;  // some factors of 1 + 2^-30
  EXPECT_GE(by_norms(c, norms, e, 0.1).constant, 3 * std::sqrt(2.0) / up);
  EXPECT_LE(by_norms(c, norms, e, 0.1).constant, 3 * std::sqrt(2.0) * up);
}

// Outputs whose first and second derivatives are 0 at the weights: all of the change is in the ball.
TEST(DeepLipschitz, OfDerivativesThatGrowFromNothing) {
  const auto layer = [](const char* phi, double w) {
    return Layer{.activation = phi, .W = RowMatrix::Constant(1, 1, w)};
  };
  const RowMatrix V = RowMatrix::Ones(1, 1), x = RowMatrix::Constant(1, 1, 1.5);
  for (const Case& c :
       {Case{{.layers = {layer("quadratic", 0), layer("quadratic", 1)}, .V = V}, x, {true, false, false}, {}},
        Case{{.layers = {layer("identity", 0), layer("identity", 0), layer("quadratic", 1)}, .V = V},
             x,
             {true, true, false, false},
             {}}}) {
    Case at = c;
    at.weights = Vector::Ones(1);
    std::vector<LayerNorms> norms;
    const DeepEvaluation e = evaluated(at, norms);
    for (const double R : {1e-3, 0.5}) {
      const auto moved_by = [&](double distance) {
        DeepNetwork network = at.network;
        const bool both = at.moving[1];
        network.layers[0].W(0, 0) = both ? distance / std::sqrt(2.0) : distance;
        if (both) network.layers[1].W(0, 0) = network.layers[0].W(0, 0);
        return network;
      };
      const DeepNetwork one = moved_by(R * (1 - 1e-12)),
                        other = moved_by(0.9 * R);  // 1e-12: within R, rounded
      const double change =
          (jacobian(one, x, at.moving, at.weights) - jacobian(other, x, at.moving, at.weights)).norm();
      EXPECT_LE(change, by_norms(at, norms, e, R).constant * distance(one, other) +
                            difference_rounding(one, x, at.moving, at.weights));
      EXPECT_GT(change, R * R * distance(one, other));
    }
  }
}

// What J changes by along the steepest line that is found at the weights themselves.
TEST(DeepLipschitz, OfManyLayersIsNearWhatIsFound) {
  for (const bool residual : {false, true})
    for (const std::size_t depth : {1, 2, 4, 8}) {
      Case c{{}, random_rows(3, 6, 2), Moving(depth + 1, true), Vector::Ones(3)};
      for (std::size_t l = 0; l < depth; ++l) {
        const auto seed = static_cast<unsigned>(l);
        Layer layer{
            .activation = "tanh", .W = random_rows(6, 6, 10 + seed), .residual = residual, .scale = 0.5};
        if (residual) layer.U = random_rows(6, 6, 30 + seed);
        c.network.layers.push_back(layer);
      }
      c.network.V = random_rows(2, 6, 9);
      std::vector<LayerNorms> norms;
      const DeepEvaluation e = evaluated(c, norms);
      const double R = 1e-9, bound = by_norms(c, norms, e, R).constant,
                   products = lipschitz(c.network, norms, e, c.moving, R).constant,
                   found = steepest_change(c);
      EXPECT_GE(bound, found) << residual << depth;
      EXPECT_LE(bound, 20 * found) << residual << depth;
      EXPECT_GE(products, bound);
      if (depth == 8) {
        EXPECT_GE(products, 10 * bound) << residual;
      }
    }
}

TEST(DeepLipschitz, StopsWhereItIsMoreThanEnough) {
  Case c = random_case(3, {"tanh"});
  c.X = random_rows(40, c.network.features(), 5);
  c.weights = Vector::Ones(40);
  std::vector<LayerNorms> norms;
  const DeepEvaluation e = evaluated(c, norms);
  const double R = 1e-3, products = lipschitz(c.network, norms, e, c.moving, R).constant,
               whole = by_norms(c, norms, e, R, 0.999 * products).constant;
  ASSERT_LT(whole, products);
  for (const double enough : {0.0, 0.2 * whole, 0.5 * whole}) {
    const Lipschitz stopped = by_norms(c, norms, e, R, enough);
    EXPECT_GT(stopped.least, enough);
    EXPECT_LE(stopped.least, whole);
    EXPECT_EQ(stopped.constant, products);
  }
  const Lipschitz unasked = by_norms(c, norms, e, R, products);
  EXPECT_EQ(unasked.constant, products);
  EXPECT_EQ(unasked.least, products);
}

TEST(DeepLipschitz, OfKinksHoldsWhileNoSignChanges) {
  int changed = 0, kept = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    const Case c = random_case(seed, {"relu", "leaky_relu", "tanh"});
    std::vector<LayerNorms> norms;
    const DeepEvaluation e = evaluated(c, norms);
    const double R = std::pow(10.0, -3.5 + seed % 4);
    const Lipschitz lip = lipschitz(c.network, norms, e, c.moving, R);
    std::srand(seed);
    for (int trial = 0; trial < 20; ++trial) {
      const DeepNetwork one = shaken(c.network, c.moving, R);
      bool same = true;
      const ForwardPass a = forward(c.network, c.X), b = forward(one, c.X);
      for (std::size_t l = first_moving(c.moving); l < c.network.layers.size(); ++l)
        if (!activation_of(c.network.layers[l]).smooth())
          same = same && ((a.layers[l].z.array() >= 0) == (b.layers[l].z.array() >= 0)).all();
      EXPECT_TRUE(same || !(lip.kink.ratio > 1)) << seed;
      (same ? kept : changed)++;
      if (!(lip.kink.ratio > 1)) continue;
      const double change =
          (jacobian(one, c.X, c.moving, c.weights) - jacobian(c.network, c.X, c.moving, c.weights)).norm();
      EXPECT_LE(change,
                lip.constant * distance(one, c.network) + difference_rounding(one, c.X, c.moving, c.weights));
    }
  }
  EXPECT_GT(changed, 50);
  EXPECT_GT(kept, 50);
}

TEST(DeepLipschitz, NamesTheNearestKink) {
  DeepNetwork network;
  network.layers = {Layer{.activation = "relu", .W = RowMatrix::Ones(2, 1)}};
  network.layers[0].W << 1, 2;
  network.V = RowMatrix::Ones(1, 2);
  const RowMatrix X = (RowMatrix(3, 1) << 1, -0.25, 4).finished();
  Progress progress;
  const auto norms = layer_norms(network, progress);
  const Moving all(2, true);
  const auto e = evaluate(network, norms, X, Vector::Ones(3), all, progress);
  const NearestKink kink = lipschitz(network, norms, e, all, 0.5).kink;
  // |z| = 0.25 |w|, which moves by 0.25 R: the ratio of neuron 0 is 1/R at every point.
  EXPECT_NEAR(kink.ratio, 2, 2 * 32 * 0x1p-30);  // some factors of 1 + 2^-30
  EXPECT_EQ(kink.neuron, 0);
}

TEST(DeepLipschitz, AKinkThatMovesNobodyKnowsHowFarIsNear) {
  DeepNetwork network;
  network.layers = {Layer{.activation = "relu", .W = RowMatrix::Ones(1, 1)},
                    Layer{.activation = "relu", .W = RowMatrix::Ones(1, 1)}};
  network.V = RowMatrix::Ones(1, 1);
  Progress progress;
  auto norms = layer_norms(network, progress);
  const Moving all(3, true);
  const auto e = evaluate(network, norms, RowMatrix::Ones(1, 1), Vector::Ones(1), all, progress);
  EXPECT_GT(lipschitz(network, norms, e, all, 0.1).kink.ratio, 1);
  norms[0].W = std::nan("");
  const NearestKink kink = lipschitz(network, norms, e, all, 0.1).kink;
  EXPECT_EQ(kink.ratio, 0);
  EXPECT_EQ(kink.layer, 1);
}

}  // namespace
}  // namespace zeroloss::internal::verified
