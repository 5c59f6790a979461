#include "memorize/exact_network.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "memorize/cases.hpp"
#include "memorize/construct.hpp"

namespace zeroloss {
namespace {
using namespace internal;
using Long = long double;
using LongMatrix = Eigen::Matrix<Long, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using LongVector = Eigen::Vector<Long, Eigen::Dynamic>;

Memory memory_of(const Dataset& data, const Matrix& Y, const MemorizeOptions& options) {
  Memory memory{data, &Y, options, Vector::Ones(data.d()), Y.cols()};
  memory.largest_target = Y.rowwise().norm().maxCoeff();
  if (memory.single()) memory.columns = columns_of(data.X);
  return memory;
}

double distance_of(const Memorizer& network, const RowMatrix& X, const Matrix& Y, const Construction& built) {
  Progress silent;
  ExactNetwork near(network, X, Y, built.points, built.neurons);
  each_ball(network, X, columns_of(X), silent, [&](const OutputBalls& balls) { near.take(balls); });
  return near.distance();
}

LongVector state_before(const Memorizer& network, const Eigen::Ref<const Vector>& x) {
  LongVector h = network.A_0.cast<Long>() * x.cast<Long>();
  if (network.b_0.size() > 0) h += network.b_0.cast<Long>();
  return h;
}

// What has to be added to V, block by block, solved for in 64 bits.
LongMatrix correction(const Memorizer& network, const RowMatrix& X, const Matrix& Y,
                      const std::vector<Index>& points) {
  const Index k = network.hidden(), count = std::ssize(points);
  const Long scale = 1 / static_cast<Long>(network.V_out(0, 0));
  LongMatrix all = LongMatrix::Zero(network.V.rows(), k);
  for (Index first = 0; first < count; first += k) {
    const Index size = std::min(k, count - first);
    const LongMatrix U = network.U.middleRows(first, k).cast<Long>(),
                     V = network.V.middleRows(first, k).cast<Long>();
    LongMatrix T(size, size), R = LongMatrix::Zero(k, size);
    for (Index i = 0; i < size; ++i) {
      const Index row = points[static_cast<std::size_t>(first + i)];
      const LongVector h = state_before(network, X.row(row).transpose());
      const LongVector activation = (U * h + network.s.segment(first, k).cast<Long>()).cwiseMax(Long{0});
      T.col(i) = activation.head(size);
      R.col(i).head(Y.cols()) = scale * Y.row(row).transpose().cast<Long>();
      R.col(i) -= h + V * activation;
    }
    for (Index i = size; i-- > 0;) {  // Delta T = R, T lower triangular
      for (Index a = i + 1; a < size; ++a) R.col(i) -= T(a, i) * R.col(a);
      R.col(i) /= T(i, i);
    }
    all.block(first, 0, k, size) = R;
  }
  return all;
}

// Outputs with V + delta, in 64 bits.
LongMatrix outputs_with(const Memorizer& network, const LongMatrix& delta, const RowMatrix& X) {
  const Index k = network.hidden();
  LongMatrix Y(X.rows(), network.outputs());
  for (Index i = 0; i < X.rows(); ++i) {
    LongVector h = state_before(network, X.row(i).transpose());
    for (Index first = 0; first < network.U.rows(); first += k) {
      const LongVector activation =
          (network.U.middleRows(first, k).cast<Long>() * h + network.s.segment(first, k).cast<Long>())
              .cwiseMax(Long{0});
      h += (network.V.middleRows(first, k).cast<Long>() + delta.middleRows(first, k)) * activation;
    }
    const LongVector last = (network.U_out.cast<Long>() * h + network.s_out.cast<Long>()).cwiseMax(Long{0});
    Y.row(i) = (network.V_out.cast<Long>() * last).transpose();
  }
  return Y;
}

struct Case {
  std::string precision;
  Index n, d, r, k;
  double size;  // of targets
};

class ExactNetworks : public testing::TestWithParam<Case> {};

TEST_P(ExactNetworks, AreWithinTheDistance) {
  const auto& [precision, n, d, r, k, size] = GetParam();
  MemorizeOptions options;
  options.precision = precision;
  RowMatrix X = test::normal_points(n, d, 3);
  Matrix Y = size * test::normal_targets(n, r, 4);
  if (precision == "float32") X = X.cast<float>().cast<double>();  // what the network sees
  if (n > 3) X.row(3) = X.row(1), Y.row(3) = Y.row(1);             // equal points
  const Dataset data = test::labelled(X, 2);
  Progress silent;
  const Construction built =
      construct(memory_of(data, Y, options), {"linear", {}, X.rowwise().norm().maxCoeff()}, k, silent);
  ASSERT_EQ(built.failure, "");

  const double distance = distance_of(built.network, X, Y, built);
  const LongMatrix delta = correction(built.network, X, Y, built.points);
  const double found = static_cast<double>(delta.norm());
  // V is rounded, and the states are: in 64 bits the correction is known to 2^-11 of what doubles lose.
  EXPECT_LE(found, distance * (1 + 0x1p-8));
  EXPECT_LT(distance, 1e5 * found + 1e-300);  // worth saying
  const LongMatrix before = outputs_with(built.network, LongMatrix::Zero(delta.rows(), k), X),
                   after = outputs_with(built.network, delta, X);
  const auto off = [&](const LongMatrix& outputs) {
    return static_cast<double>((outputs - Y.cast<Long>()).cwiseAbs().maxCoeff());
  };
  if (off(before) > 0) {
    EXPECT_LT(off(after), off(before) / 64);  // 11 more bits, lost in part by T^-1
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ExactNetworks,
                         testing::Values(Case{"float64", 1, 1, 1, 1, 1}, Case{"float64", 40, 5, 1, 2, 1},
                                         Case{"float64", 60, 5, 2, 8, 1e6},
                                         Case{"float64", 33, 20, 3, 16, 1e-9},
                                         Case{"float32", 40, 5, 1, 2, 1}, Case{"float32", 50, 8, 2, 8, 300},
                                         Case{"float64", 30, 4, 1, 4, 0}));

TEST(ExactNetwork, NoneIsClaimedWhereAnotherBlockMoves) {
  MemorizeOptions options;
  const RowMatrix X = test::normal_points(24, 4, 3);
  const Matrix Y = test::normal_targets(24, 1, 4);
  const Dataset data = test::labelled(X, 2);
  Progress silent;
  Construction built =
      construct(memory_of(data, Y, options), {"linear", {}, X.rowwise().norm().maxCoeff()}, 4, silent);
  ASSERT_LT(distance_of(built.network, X, Y, built), 1e-6);  // rounding of doubles over the margins
  Memorizer awake = built.network;
  awake.s(23) += 1;  // a threshold below all products
  EXPECT_TRUE(std::isinf(distance_of(awake, X, Y, built)));
  Memorizer asleep = built.network;
  asleep.s(0) = -100;  // its point is not moved at all
  EXPECT_TRUE(std::isinf(distance_of(asleep, X, Y, built)));
  RowMatrix other = X;
  other.row(5) *= 1 + 1e-12;  // no equal point any more, but one image is told of both
  std::vector<Index> neurons = built.neurons;
  ExactNetwork near(built.network, other, Y, built.points, neurons);
  each_ball(built.network, other, columns_of(other), silent, [&](const OutputBalls& b) { near.take(b); });
  EXPECT_TRUE(
      std::isfinite(near.distance()));  // its own image moved, and is counted as the state that it has
  neurons[5] = neurons[6];
  EXPECT_TRUE(std::isinf(ExactNetwork(built.network, X, Y, built.points, neurons).distance()));
}

TEST(ExactNetwork, MemorizeSaysSo) {
  Dataset data;
  data.X = test::normal_points(50, 6, 2);
  data.name = "points";
  const Matrix Y = test::normal_targets(50, 2, 5);
  Progress silent;
  const MemorizeResult result = memorize(data, Y, {}, silent);
  EXPECT_LT(result.exact_within, 1e-3);  // doubles over margins above 1e-5
  EXPECT_NE(result.conclusion.find("of that of an exact network, proved"), std::string::npos);
  const MemorizeResult classes = memorize(test::labelled(data.X, 3), {});
  EXPECT_TRUE(std::isinf(classes.exact_within));
}

}  // namespace
}  // namespace zeroloss
