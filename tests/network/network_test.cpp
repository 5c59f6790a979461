// Drawing and using a two-layer network.
#include "zeroloss/network/network.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <set>

#include "support/statistics.hpp"
#include "support/temp_folder.hpp"
#include "support/two_layer.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss::test {
namespace {

TEST(Draw, WeightsAreStandardNormal) {
  const TwoLayer network = draw({.width = 400, .d = 50, .seed = 3});
  std::vector<double> w(network.W.data(), network.W.data() + network.W.size());
  EXPECT_LT(kolmogorov_smirnov(w, [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2)); }),
            kKolmogorovLimit);
}

TEST(Draw, NtkSignsAreFair) {
  const TwoLayer network = draw({.width = 10'000, .d = 1, .seed = 3});
  EXPECT_EQ(std::set<double>(network.v.begin(), network.v.end()), (std::set<double>{-0.01, 0.01}));
  EXPECT_LT(std::abs(network.v.sum()), 0.01 * kSigmas * 100);
}

TEST(Draw, BalancedHalvesCancel) {
  for (const Index m : {1, 2, 7, 10}) {
    const Vector v = draw({.width = m, .d = 2, .scaling = "balanced", .n = 9, .norm_y = 3}).v;
    const double size = 3 / std::sqrt(static_cast<double>(m) * 9);
    EXPECT_EQ(v.sum(), 0);
    EXPECT_EQ((v.array() == size).count(), m / 2);
    EXPECT_EQ((v.array() == -size).count(), m / 2);
    EXPECT_EQ((v.array() == 0).count(), m % 2);
  }
}

TEST(Draw, OutputsAndSeedsDiffer) {
  const TwoLayer first = draw({.width = 5, .d = 3}), again = draw({.width = 5, .d = 3}),
                 other = draw({.width = 5, .d = 3, .index = 1}),
                 seeded = draw({.width = 5, .d = 3, .seed = 1});
  EXPECT_TRUE(first.W == again.W && first.v == again.v);
  EXPECT_FALSE(first.W == other.W);
  EXPECT_FALSE(first.W == seeded.W);
  EXPECT_TRUE(draw({.width = 9, .d = 3}).W.topRows(5) == first.W);  // a wider one begins with it
}

TEST(Draw, SinglePrecisionRounds) {
  const TwoLayer exact = draw({.width = 5, .d = 3}),
                 rounded = draw({.width = 5, .d = 3, .precision = "float32"});
  EXPECT_TRUE(rounded.W == exact.W.cast<float>().cast<double>());
  EXPECT_TRUE(rounded.v == exact.v.cast<float>().cast<double>());
}

TEST(Draw, BadOptionsAreNamed) {
  EXPECT_MESSAGE(std::invalid_argument, draw({.width = 0}), "width must be >= 1");
  EXPECT_MESSAGE(std::invalid_argument, draw({.d = 0}), "d must be >= 1");
  EXPECT_MESSAGE(std::invalid_argument, draw({.scaling = "mup"}), "scaling must be");
  EXPECT_MESSAGE(std::invalid_argument, draw({.precision = "half"}), "precision must be");
  EXPECT_MESSAGE(std::invalid_argument, draw({.scaling = "balanced", .norm_y = 0}), "not all 0");
}

TEST(Predict, IsTheFormula) {
  for (const auto& name : activation_names()) {
    const Problem p = problem(name, 9, 4, 600);
    Network network;
    network.activation = name;
    network.outputs = {p.network, draw({.width = 600, .d = 4, .index = 1})};
    network.center = {Vector::LinSpaced(4, -1, 1), Vector::Zero(4)};
    RowMatrix X = 3 * p.X;
    const Matrix y = predict(network, X);
    ASSERT_EQ(y.cols(), 2);
    for (Index i = 0; i < 9; ++i) {
      Vector x = X.row(i).transpose() - network.center.high;
      x /= x.norm();
      for (Index c = 0; c < 2; ++c) {
        const auto& [W, v] = network.outputs[static_cast<std::size_t>(c)];
        double sum = 0, size = 0, moved = 0;  // by errors of x and z
        for (Index j = 0; j < 600; ++j) {
          const double z = W.row(j).dot(x), term = v(j) * p.phi.phi(z);
          sum += term;
          size += std::abs(term);
          const double slope = std::isfinite(p.phi.B) ? p.phi.B : std::abs(z);
          moved += std::abs(v(j)) * slope * W.row(j).norm();
        }
        // Of 600 terms and phi's 16 u; of 4 products and of the length and the quotient in x.
        const double error = test::gamma_of(600 + 16) * size + test::gamma_of(4 + 8) * moved;
        EXPECT_NEAR(y(i, c), sum, 2 * error) << name;
      }
    }
  }
}

TEST(Predict, StopsWhenItIsTold) {
  Network network;
  network.outputs = {draw({.width = 3, .d = 2})};
  const std::atomic<bool> cancel{true};
  EXPECT_THROW(predict(network, RowMatrix::Ones(2, 2), Progress({}, &cancel)), Interrupted);
}

TEST(Predict, BadPointsAreNamed) {
  Network network;
  network.outputs = {draw({.width = 3, .d = 2})};
  EXPECT_MESSAGE(DataError, predict(network, RowMatrix::Ones(2, 3)), "3 features", "2");
  EXPECT_MESSAGE(DataError, predict(network, RowMatrix::Zero(2, 2)), "zero row");
  EXPECT_MESSAGE(DataError, predict(network, RowMatrix::Constant(1, 2, NAN)), "finite");
}

TEST(PredictedClasses, SignOrLargest) {
  EXPECT_EQ(predicted_classes(Eigen::Vector3d(-1, 0, 2)), (std::vector<Index>{0, 1, 1}));
  Matrix outputs(3, 3);
  outputs << 1, 2, 3, 5, 4, 5, -3, -1, -2;
  EXPECT_EQ(predicted_classes(outputs), (std::vector<Index>{2, 0, 1}));
}

}  // namespace
}  // namespace zeroloss::test
