#include "deep/lipschitz.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/deep.hpp"
#include "support/rounding.hpp"
#include "zeroloss/deep/certificate.hpp"

namespace zeroloss::internal::verified {
namespace {

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

// J itself, from its factors.
Matrix jacobian(const DeepNetwork& network, const RowMatrix& X, const Moving& moving, const Vector& weights) {
  const ForwardPass pass = forward(network, X);
  const BackwardPass back = backward(network, pass, moving, weights);
  const Index N = X.rows() * network.outputs();
  std::vector<Vector> rows;
  for (Index r = 0; r < N; ++r) {
    const DeepNetwork after = moved(network, pass, back, moving, weights, Vector::Unit(N, r));
    std::vector<double> row;
    const auto add = [&](const auto& A, const auto& B) {
      for (Index i = 0; i < A.size(); ++i) row.push_back(A.data()[i] - B.data()[i]);
    };
    for (std::size_t l = 0; l < network.layers.size(); ++l) {
      const Layer &a = network.layers[l], &b = after.layers[l];
      add(a.W, b.W), add(a.b, b.b), add(a.U, b.U), add(a.bU, b.bU);
    }
    add(network.V, after.V), add(network.c, after.c);
    rows.push_back(Eigen::Map<Vector>(row.data(), static_cast<Index>(row.size())));
  }
  Matrix J(N, rows.front().size());
  for (Index r = 0; r < N; ++r) J.row(r) = rows[static_cast<std::size_t>(r)].transpose();
  return J;
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

TEST(DeepLipschitz, IsNeverExceeded) {
  double closest = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    const Case c = random_case(seed, {"tanh", "gelu", "softplus", "identity", "sin", "quadratic"});
    std::vector<LayerNorms> norms;
    const DeepEvaluation e = evaluated(c, norms);
    const double R = std::pow(10.0, -3.0 + seed % 4);
    const double bound = lipschitz(c.network, norms, e, c.moving, R).constant;
    ASSERT_TRUE(std::isfinite(bound)) << seed;
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
  EXPECT_GT(closest, 0.3);  // it is not a bound that anything would satisfy
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
