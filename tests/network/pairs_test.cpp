#include "zeroloss/network/pairs.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "support/bounds.hpp"
#include "support/points.hpp"

namespace zeroloss {
namespace {

TEST(Pairs, CancelAtEveryPoint) {
  const RowMatrix X = test::sphere(30, 5);
  const TwoLayer net = draw_pairs({.width = 12, .d = 5, .output_scale = 3}, activation("relu"), X);
  EXPECT_EQ(net.W.topRows(6), net.W.bottomRows(6));
  EXPECT_EQ(net.v.head(6), -net.v.tail(6));
  EXPECT_DOUBLE_EQ(net.v(0), 3 / std::sqrt(12.0));
  const Vector size = X.cwiseAbs() * (net.W.cwiseAbs().transpose() * net.v.cwiseAbs());
  EXPECT_LE(outputs(net, activation("relu"), X).cwiseAbs().maxCoeff(),
            test::gamma_of(5 + 12) * size.maxCoeff());
}

TEST(Pairs, KeepAwayFromEveryPoint) {
  const RowMatrix X = test::sphere(200, 8);
  const auto least = [&](const TwoLayer& net) { return (X * net.W.transpose()).cwiseAbs().minCoeff(); };
  const double chosen = least(draw_pairs({.width = 32, .d = 8}, activation("relu"), X));
  const double drawn =
      least(draw_pairs({.width = 32, .d = 8}, activation("softplus"), X));  // no kink: as drawn
  EXPECT_GT(chosen, 5 * drawn);
}

// Of points that all lie on one side of the origin, too.
TEST(Pairs, TellPointsApart) {
  RowMatrix X = test::sphere(100, 6);
  X.col(0).array() += 1.5;
  const TwoLayer net = draw_pairs({.width = 40, .d = 6}, activation("relu"), X);
  const Matrix Z = X * net.W.transpose();
  for (Index j = 0; j < 40; ++j) {
    const auto above = (Z.col(j).array() > 0).count();
    EXPECT_GE(above, 25);
    EXPECT_LE(above, 75);
  }
  const RowMatrix one = test::sphere(1, 3);
  EXPECT_GT((one * draw_pairs({.width = 2, .d = 3}, activation("relu"), one).W.transpose()).minCoeff(), 0);
}

TEST(Pairs, WiderOnesBeginWithTheSame) {
  const RowMatrix X = test::sphere(20, 4);
  const auto net = [&](Index width, std::uint64_t seed) {
    return draw_pairs({.width = width, .d = 4, .seed = seed}, activation("relu"), X);
  };
  EXPECT_EQ(net(8, 3).W.topRows(4), net(20, 3).W.topRows(4));
  EXPECT_NE(net(8, 3).W, net(8, 4).W);
}

TEST(Pairs, Float32IsChosenAsItIsKept) {
  const RowMatrix X = test::sphere(50, 4);
  const TwoLayer net = draw_pairs({.width = 8, .d = 4, .precision = "float32"}, activation("relu"), X);
  EXPECT_EQ(net.W, net.W.cast<float>().cast<double>());
  EXPECT_EQ(net.v, net.v.cast<float>().cast<double>());
}

TEST(Pairs, OddWidthsAndOtherPointsAreRefused) {
  const RowMatrix X = test::sphere(5, 3);
  EXPECT_THROW(draw_pairs({.width = 5, .d = 3}, activation("relu"), X), std::invalid_argument);
  EXPECT_THROW(draw_pairs({.width = 4, .d = 2}, activation("relu"), X), std::invalid_argument);
  EXPECT_THROW(draw_pairs({.width = 4, .d = 3, .output_scale = 0}, activation("relu"), X),
               std::invalid_argument);
}

}  // namespace
}  // namespace zeroloss
