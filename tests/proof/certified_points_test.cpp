#include "proof/certified_points.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "proof/certificate.hpp"
#include "proof/existence.hpp"
#include "support/two_layer.hpp"
#include "zeroloss/network/pairs.hpp"

namespace zeroloss {
namespace {

using namespace test;
using internal::CertifiedPoints;

auto numbers(const Certificate& c) {
  return std::tuple(c.kind, c.holds, c.radius, c.margin, c.any_margin, c.misfit, c.lambda_min, c.norm_J,
                    c.step, c.rate, c.kinks, c.kink_bound, c.reason);
}

// More points than features, as many, and fewer: X X^T is kept or it is not.
TEST(CertifiedPoints, ManyNetworksHaveTheCertificatesThatEachHasAlone) {
  for (const auto& [n, d, width] : {std::tuple{12, 4, 12}, {9, 9, 6}, {7, 20, 6}})
    for (const bool repeated : {false, true})
      for (const char* phi : {"relu", "leaky_relu", "tanh"}) {
        SCOPED_TRACE(testing::Message()
                     << phi << ", " << n << " points of " << d << " features, repeated " << repeated);
        const RowMatrix X = sphere(n, d, 3);
        Vector counts;
        if (repeated) counts = Vector::LinSpaced(n, 1, 3).array().round();
        const CertifiedPoints points(X, counts, 4 * kUnit);
        Progress progress;
        bool descends = false, misses = false;
        for (std::uint64_t seed = 1; seed <= 3; ++seed)
          for (const double scale : {1.0, 1e3, 1e6}) {
            const Vector y = normals(n, seed).cwiseSign();
            const Activation& activation = zeroloss::activation(phi);
            const TwoLayer network =
                draw_pairs({.width = width, .d = d, .seed = seed, .output_scale = scale}, activation, X);
            const auto alone =
                certify_output(network, activation, Equations{X, y, counts, 4 * kUnit}, progress, true);
            const auto together = internal::certify_output(network, activation, points, y, progress, true);
            EXPECT_EQ(numbers(together.certificate), numbers(alone.certificate));
            EXPECT_EQ(together.polished.W, alone.polished.W);
            const Certificate descent = internal::certify_descent(network, activation, points, y, progress);
            EXPECT_EQ(
                numbers(descent),
                numbers(certify_descent(network, activation, Equations{X, y, counts, 4 * kUnit}, progress)));
            (descent.holds ? descends : misses) = true;
          }
        EXPECT_TRUE(descends && misses);
      }
}

// An exact network fits points, however often each occurs.
TEST(CertifiedPoints, ExistenceKnowsNoCounts) {
  for (const auto& [n, d, width] : {std::tuple{12, 4, 40}, {7, 20, 8}}) {
    const RowMatrix X = sphere(n, d, 3);
    const Activation& relu = activation("relu");
    const TwoLayer network = draw({.width = width, .d = d, .scaling = "ntk", .seed = 1});
    const Vector none, counts = Vector::LinSpaced(n, 1, 100).array().round();
    const Vector y = outputs(network, relu, X) + 1e-3 * normals(n, 1);
    const auto z = internal::verified::pre_activations(X, network.W, kUnit);
    const CertifiedPoints once(X, none, kUnit), repeated(X, counts, kUnit);
    Progress progress;
    repeated.size(progress);
    once.size(progress);
    const auto one = internal::relu_existence(network, once, y, z, progress),
               other = internal::relu_existence(network, repeated, y, z, progress);
    EXPECT_TRUE(one.holds) << one.reason;
    EXPECT_EQ(std::tuple(one.holds, one.radius, one.margin, one.kinks, one.reason),
              std::tuple(other.holds, other.radius, other.margin, other.kinks, other.reason));
    EXPECT_EQ(one.polished.W, other.polished.W);
  }
}

TEST(CertifiedPoints, SizesAreBoundsOfTheRowsAndTheirNorm) {
  for (const auto& [n, d] : {std::pair{1, 1}, {12, 4}, {4, 12}}) {
    const RowMatrix X = 1e3 * sphere(n, d, 5);
    const Vector counts = Vector::LinSpaced(n, 1, 4).array().round();
    const CertifiedPoints points(X, counts, kUnit);
    Progress progress;
    const auto& size = points.size(progress);
    const LongMatrix exact = counts.cast<long double>().cwiseSqrt().asDiagonal() * X.cast<long double>();
    const long double longest = exact.rowwise().norm().maxCoeff();
    const auto norm = jacobi_singular_values(exact).maxCoeff();
    EXPECT_GE(size.longest, longest * (1 + kUnit));
    EXPECT_LE(size.longest, longest * (1 + 0x1p-29));  // row_lengths() is within 2^-30
    EXPECT_GE(size.norm, norm * (1 + kUnit));
    EXPECT_LE(size.norm, 1.001 * norm);  // of use
  }
}

}  // namespace
}  // namespace zeroloss
