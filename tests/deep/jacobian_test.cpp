#include "deep/jacobian.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/deep.hpp"
#include "support/rounding.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/threads.hpp"
#include "zeroloss/deep/tangent.hpp"

namespace zeroloss::internal {
namespace {

using test::random_network;
using test::random_rows;

// Weights that move, one after another.
std::vector<double*> weights_of(DeepNetwork& network, const Moving& moving) {
  std::vector<double*> all;
  const auto add = [&](auto& A) {
    for (Index i = 0; i < A.size(); ++i) all.push_back(A.data() + i);
  };
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    if (!moving[l]) continue;
    Layer& layer = network.layers[l];
    add(layer.W);
    add(layer.b);
    add(layer.U);
    add(layer.bU);
  }
  if (moving.back()) add(network.V), add(network.c);
  return all;
}

Moving random_moving(const DeepNetwork& network, unsigned seed) {
  std::srand(seed);
  Moving moving(network.layers.size() + 1);
  for (std::size_t l = 0; l < moving.size(); ++l) moving[l] = std::rand() % 4 != 0;
  moving[static_cast<std::size_t>(std::rand()) % moving.size()] = true;
  return moving;
}

// Central differences with steps h and h/2, extrapolated: error O(h^4).
Matrix by_differences(DeepNetwork network, const Moving& moving, const RowMatrix& X, const Vector& weights,
                      double h = 1e-3) {
  const auto at = [&] {
    const Matrix f = forward(network, X).f;
    Vector rows(f.size());
    for (Index i = 0; i < f.rows(); ++i)
      rows.segment(i * f.cols(), f.cols()) = weights(i) * f.row(i).transpose();
    return rows;
  };
  const auto parameters = weights_of(network, moving);
  Matrix J(X.rows() * network.outputs(), static_cast<Index>(parameters.size()));
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    double& weight = *parameters[k];
    const double before = weight;
    const auto slope = [&](double step) {
      weight = before + step;
      const Vector up = at();
      weight = before - step;
      const Vector down = at();
      weight = before;
      return Vector((up - down) / (2 * step));
    };
    J.col(static_cast<Index>(k)) = (4 * slope(h / 2) - slope(h)) / 3;
  }
  return J;
}

// ||J - exact||_F: h^4 is cut off, of which twice the step shows 15 times as much, and outputs are off.
double differences_error(const DeepNetwork& network, const Moving& moving, const RowMatrix& X,
                         const Vector& weights, const Matrix& J) {
  const double cut_off = (by_differences(network, moving, X, weights, 2e-3) - J).norm() / 15;
  const double off = weights.maxCoeff() * test::rounding(network, X).maxCoeff();
  return 2 * cut_off + 3 / 1e-3 * off * std::sqrt(static_cast<double>(J.size()));
}

Matrix lower(const Matrix& K) { return K.triangularView<Eigen::Lower>(); }

TEST(DeepJacobian, IsThatOfDifferences) {
  const test::RandomNetwork smooth{3, 4, 2, {"tanh", "gelu", "softplus", "identity", "sin", "erf"}};
  for (unsigned seed = 0; seed < 60; ++seed) {
    auto options = smooth;
    options.outputs = 1 + seed % 3;
    const DeepNetwork network = random_network(seed, options);
    const RowMatrix X = random_rows(4, network.features(), seed);
    const Moving moving = random_moving(network, seed);
    const Vector weights = Vector::Random(4).cwiseAbs() + Vector::Ones(4);
    const Matrix J = by_differences(network, moving, X, weights);
    const ForwardPass pass = forward(network, X);
    const BackwardPass back = backward(network, pass, moving, weights);
    Matrix K;
    tangent_gram(network, pass, back, moving, weights, K);
    const double size = J.squaredNorm();
    const double off = differences_error(network, moving, X, weights, J),
                 rounding = test::jacobian_rounding(network, X, moving, weights);
    ASSERT_LT(rounding, 0x1p-30 * J.norm());  // a goal, without which the bound would say nothing
    EXPECT_LT((lower(K) - lower(J * J.transpose())).norm(),
              2 * std::sqrt(size) * off + 2 * test::gram_rounding(network, X, moving, weights, size))
        << seed;
    EXPECT_LT((tangent_diagonal(network, pass, back, moving, weights) - K.diagonal()).norm(),
              2 * test::gram_rounding(network, X, moving, weights, size))
        << seed;
    // theta - J^T q, whose change to first order is J J^T q.
    const Vector q = Vector::Random(J.rows());
    DeepNetwork after = moved(network, pass, back, moving, weights, q), before = network;
    const auto new_weights = weights_of(after, moving), old_weights = weights_of(before, moving);
    Vector change(J.cols());
    for (Index k = 0; k < J.cols(); ++k) change(k) = *old_weights[k] - *new_weights[k];
    const double weight = 4 * std::sqrt(static_cast<double>(J.cols())) * test::kUnit;  // they are at most 2
    EXPECT_LT((change - J.transpose() * q).norm(), (off + 2 * rounding) * q.norm() + weight) << seed;
    const double up = 4 * 0x1p-30 * change.norm();  // some factors of 1 + 2^-30
    EXPECT_NEAR(distance(network, after), change.norm(), up);
  }
}

// Many points and outputs: several tiles, the last of them not full.
TEST(DeepJacobian, TilesOfTheGramMatrixFitTogether) {
  for (const Index outputs : {1, 3, 300}) {
    const DeepNetwork network = random_network(5, {3, 6, outputs, {"tanh"}});
    const Index n = outputs == 1 ? 700 : outputs == 3 ? 200 : 5;
    const RowMatrix X = random_rows(n, 3, 2);
    const Moving all(network.layers.size() + 1, true);
    const Vector ones = Vector::Ones(n);
    const ForwardPass pass = forward(network, X);
    const BackwardPass back = backward(network, pass, all, ones);
    Matrix K;
    tangent_gram(network, pass, back, all, ones, K);
    // Two points at a time, each pair a problem of its own.
    for (const auto& [i, j] :
         std::vector<std::pair<Index, Index>>{{n - 1, 0}, {n / 2, 1}, {n - 1, n - 2}, {n / 2, n / 2 - 1}}) {
      RowMatrix pair(2, 3);
      pair << X.row(j), X.row(i);
      const ForwardPass two = forward(network, pair);
      Matrix k;
      tangent_gram(network, two, backward(network, two, all, Vector::Ones(2)), all, Vector::Ones(2), k);
      EXPECT_LT((K.block(i * outputs, j * outputs, outputs, outputs) - k.block(outputs, 0, outputs, outputs))
                    .norm(),
                2 * test::gram_rounding(network, pair, all, Vector::Ones(2), k.trace()));
    }
  }
}

TEST(DeepJacobian, TangentKernelIsAllOfIt) {
  const DeepNetwork network = random_network(9, {3, 6, 2, {"tanh"}});
  const RowMatrix X = random_rows(20, 3, 2);
  const Matrix K = tangent_kernel(network, X);
  EXPECT_EQ(K, K.transpose());
  const Moving all(network.layers.size() + 1, true);
  const Matrix J = by_differences(network, all, X, Vector::Ones(20));
  const Vector ones = Vector::Ones(20);
  EXPECT_LT((K - J * J.transpose()).norm(),
            2 * J.norm() * differences_error(network, all, X, ones, J) +
                2 * test::gram_rounding(network, X, all, ones, J.squaredNorm()));
  Moving last(network.layers.size() + 1, false);
  last.back() = true;
  EXPECT_LT(tangent_kernel(network, X, last).norm(), K.norm());
  EXPECT_THROW(tangent_kernel(network, X, {true}), std::invalid_argument);
  EXPECT_THROW(tangent_kernel(network, RowMatrix::Ones(2, 7)), DataError);
}

TEST(DeepJacobian, BitsDoNotDependOnThreads) {
  const DeepNetwork network = random_network(7, {5, 40, 2, {"tanh"}});
  const RowMatrix X = random_rows(300, 5, 3);
  const Moving all(network.layers.size() + 1, true);
  Matrix once;
  for (const int threads : {1, 2, 3}) {
    const int before = set_thread_count(threads);
    const ForwardPass pass = forward(network, X);
    Matrix K;
    tangent_gram(network, pass, backward(network, pass, all, Vector::Ones(300)), all, Vector::Ones(300), K);
    set_thread_count(before);
    if (once.size() == 0) once = lower(K);
    EXPECT_EQ(once, lower(K));
  }
}

}  // namespace
}  // namespace zeroloss::internal
