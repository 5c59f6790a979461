#include "zeroloss/images/patch_features.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "zeroloss/base/error.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss {
namespace {

/// Smooth random images of whole levels, planar.
RowMatrix images(Index n, const PictureSize& size, std::uint64_t seed = 0) {
  Random random(seed, Stream::points);
  RowMatrix X(n, size.height * size.width * size.planes);
  for (Index i = 0; i < n; ++i)
    for (Index p = 0; p < size.planes; ++p) {
      const double a = random.normal(), b = random.normal(), c = 6 * random.uniform();
      for (Index r = 0; r < size.height; ++r)
        for (Index q = 0; q < size.width; ++q)
          X(i, (p * size.height + r) * size.width + q) = std::floor(
              128 + 90 * std::sin(a * static_cast<double>(r) / 3 + b * static_cast<double>(q) / 3 + c) +
              30 * random.uniform());
    }
  return X;
}

RowMatrix features(const PatchFeatures& patches, const RowMatrix& X) {
  Progress silent;
  return patches(X, silent);
}

PatchFeatures learned(const RowMatrix& X, const PictureSize& size, const PatchOptions& options = {}) {
  Progress silent;
  return {X, size, options, silent};
}

RowMatrix mirrored(const RowMatrix& X, const PictureSize& size) {
  RowMatrix made(X.rows(), X.cols());
  for (Index k = 0; k < X.cols(); ++k)
    made.col(k - k % size.width + (size.width - 1 - k % size.width)) = X.col(k);
  return made;
}

/// What the header says, number by number, in double precision: squares of the features of one planar image.
Vector squares(const PatchFilters& filters, const Eigen::RowVectorXd& x) {
  const PictureSize& s = filters.size;
  const Index side = PatchFeatures::kSide, down = s.height - side + 1, across = s.width - side + 1;
  Eigen::ArrayXd image = x.transpose().array();
  image -= image.mean();
  image /= std::sqrt(image.square().mean()) + 10;
  const Index F = filters.weights.cols();
  Matrix responses(down * across, F);
  for (Index r = 0; r < down; ++r)
    for (Index c = 0; c < across; ++c) {
      Vector patch(s.planes * side * side);
      for (Index p = 0; p < s.planes; ++p)
        for (Index i = 0; i < side; ++i)
          for (Index j = 0; j < side; ++j)
            patch((p * side + i) * side + j) = image((p * s.height + r + i) * s.width + c + j);
      patch.array() -= patch.mean();
      patch /= std::sqrt(patch.squaredNorm() / static_cast<double>(patch.size()) + 0.01);
      responses.row(r * across + c) = patch.transpose() * filters.weights - filters.shift.transpose();
    }
  Vector made(18 * F);
  for (Index a = 0; a < 3; ++a)
    for (Index b = 0; b < 3; ++b)
      for (Index f = 0; f < F; ++f) {
        double more = 0, less = 0, count = 0;
        for (Index r = a * down / 3; r < ((a + 1) * down + 2) / 3; ++r)
          for (Index c = b * across / 3; c < ((b + 1) * across + 2) / 3; ++c, ++count) {
            more += std::max(responses(r * across + c, f) - 0.25, 0.0);
            less += std::max(-responses(r * across + c, f) - 0.25, 0.0);
          }
        made(2 * (3 * a + b) * F + f) = more / count;
        made((2 * (3 * a + b) + 1) * F + f) = less / count;
      }
  return made;
}

/// How far a response in single precision may be off: patches are of length sqrt(k) at most, and k + 20
/// operations lead to one; sums of 100 places and their roots' squares have less than as many again.
double response_error(const PatchFilters& filters) {
  const auto k = static_cast<double>(filters.weights.rows());
  return (k + 20 + 100) * 0x1p-24 * std::sqrt(k) * filters.weights.colwise().norm().maxCoeff() +
         8 * 0x1p-24 * filters.shift.cwiseAbs().maxCoeff();
}

TEST(PatchFeatures, AreWhatTheHeaderSays) {
  for (const PictureSize size : {PictureSize{16, 16, 1}, PictureSize{20, 23, 3}, PictureSize{17, 31, 4}}) {
    const RowMatrix X = images(6, size);
    const PatchFeatures patches = learned(X, size, {.filters = 7});
    ASSERT_EQ(patches.width(), 18 * 7);
    const RowMatrix F = features(patches, X);
    const double error = response_error(patches.filters());
    EXPECT_LT(error, 0.01);
    for (Index i = 0; i < X.rows(); ++i) {
      const Vector exact = squares(patches.filters(), X.row(i));
      EXPECT_LE((F.row(i).transpose().cwiseAbs2() - exact).cwiseAbs().maxCoeff(),
                error * (1 + exact.maxCoeff()));
      EXPECT_GT(exact.maxCoeff(), 0.1);
    }
  }
}

TEST(PatchFeatures, MirroredOnesAreMeansOfBoth) {
  const PictureSize size{18, 21, 3};
  const RowMatrix X = images(5, size), turned = mirrored(X, size);
  const PatchFeatures patches = learned(X, size, {.filters = 5, .mirror = true});
  const PatchFeatures plain(patches.filters(), false);
  const RowMatrix mean = (features(plain, X) + features(plain, turned)) / 2, both = features(patches, X);
  // Of roots of numbers that are off by e: sqrt(e) near 0.
  EXPECT_LE((both.array() - mean.array()).abs().maxCoeff(), std::sqrt(2 * response_error(patches.filters())));
  EXPECT_LE((both - features(patches, turned)).cwiseAbs().maxCoeff(),
            std::sqrt(2 * response_error(patches.filters())));
  EXPECT_GT((features(plain, X) - features(plain, turned)).cwiseAbs().maxCoeff(), 0.1);
}

TEST(PatchFeatures, LayoutAndRangeOfLevelsDoNotMatter) {
  const PictureSize size{16, 19, 3};
  const RowMatrix X = images(6, size);
  const PatchFeatures patches = learned(X, size, {.filters = 4});
  const RowMatrix F = features(patches, X);
  RowMatrix side_by_side(X.rows(), X.cols());
  const Index plane = size.height * size.width;
  for (Index k = 0; k < X.cols(); ++k) side_by_side.col(k % plane * 3 + k / plane) = X.col(k);
  EXPECT_EQ(features(learned(side_by_side, {16, 19, 3, true}, {.filters = 4}), side_by_side), F);
  // A power of two leaves each number as it was, but for the range that it is taken to be.
  RowMatrix wide = X;
  wide(0, 0) = 255;
  wide(1, 0) = 0;
  RowMatrix wider = wide * 1024;
  const RowMatrix G = features(learned(wide, size, {.filters = 4}), wide);
  EXPECT_LE((features(learned(wider, size, {.filters = 4}), wider) - G).cwiseAbs().maxCoeff(), 0.02);
  const RowMatrix small = wide / 255;
  EXPECT_LE((features(learned(small, size, {.filters = 4}), small) - G).cwiseAbs().maxCoeff(), 0.02);
}

TEST(PatchFeatures, EqualPlanesAreOne) {
  const RowMatrix X = images(6, {16, 16, 1});
  RowMatrix grey(X.rows(), 3 * X.cols());
  grey << X, X, X;
  const PatchFeatures patches = learned(grey, {16, 16, 3}, {.filters = 4});
  EXPECT_TRUE(patches.filters().grey);
  EXPECT_EQ(patches.filters().weights.rows(), 36);
  const double error = std::sqrt(2 * response_error(patches.filters()));
  EXPECT_LE(
      (features(patches, grey) - features(learned(X, {16, 16, 1}, {.filters = 4}), X)).cwiseAbs().maxCoeff(),
      error);
}

TEST(PatchFeatures, LargeImagesAreShrunkByMeans) {
  const RowMatrix X = images(4, {32, 40, 1});
  RowMatrix large(X.rows(), 9 * X.cols());  // 96 x 120: each pixel three times three
  for (Index r = 0; r < 96; ++r)
    for (Index c = 0; c < 120; ++c) large.col(r * 120 + c) = X.col(r / 3 * 40 + c / 3);
  const PatchFeatures patches = learned(X, {32, 40, 1}, {.filters = 4});
  EXPECT_LE((features(learned(large, {96, 120, 1}, {.filters = 4}), large) - features(patches, X))
                .cwiseAbs()
                .maxCoeff(),
            std::sqrt(2 * response_error(patches.filters())));
}

// 33 pixels are one, and no pixel behind the last row or column is read.
TEST(PatchFeatures, PortraitsAreShrunkBothWaysAlike) {
  const PictureSize size{1088, 1056, 1};
  RowMatrix X = images(2, size);
  const PatchFeatures patches = learned(X, size, {.filters = 3});
  RowMatrix small(2, 32 * 32);
  for (Index r = 0; r < 32; ++r)
    for (Index c = 0; c < 32; ++c)
      for (Index i = 0; i < 2; ++i) {
        double sum = 0;
        for (Index k = 0; k < 33 * 33; ++k) sum += X(i, (33 * r + k / 33) * 1056 + 33 * c + k % 33);
        small(i, 32 * r + c) = sum / (33 * 33);
      }
  PatchFilters filters = patches.filters();
  filters.size = {32, 32, 1};
  EXPECT_LE((features(patches, X) - features(PatchFeatures(filters, false), small)).cwiseAbs().maxCoeff(),
            std::sqrt(2 * response_error(filters)));
}

TEST(PatchFeatures, NoBitDependsOnThreadsOrOnTheOtherImages) {
  const PictureSize size{24, 24, 3};
  const RowMatrix X = images(70, size);
  const int before = set_thread_count(1);
  const PatchFeatures patches = learned(X, size, {.filters = 9, .mirror = true});
  const RowMatrix F = features(patches, X);
  set_thread_count(3);
  const PatchFeatures others = learned(X, size, {.filters = 9, .mirror = true});
  EXPECT_EQ(others.filters().weights, patches.filters().weights);
  EXPECT_EQ(features(others, X), F);
  set_thread_count(before);
  EXPECT_EQ(features(patches, X.bottomRows(3)), F.bottomRows(3));
}

TEST(PatchFeatures, ImagesWithoutContrastHaveNone) {
  const PictureSize size{16, 16, 1};
  for (const double level : {-1.0, 0.0, 300.0, 1e-310})
    EXPECT_EQ(learned(RowMatrix::Constant(3, 256, level), size).width(), 0) << level;
  const RowMatrix blank = RowMatrix::Constant(3, 256, 7);
  EXPECT_EQ(learned(blank, size).width(), 0);
  EXPECT_EQ(features(learned(blank, size), blank).cols(), 0);
  const PatchFeatures patches = learned(images(4, size), size, {.filters = 3});
  const RowMatrix F = features(patches, blank);
  EXPECT_TRUE(F.allFinite());
  EXPECT_EQ(F.row(0), F.row(2));
  RowMatrix far = images(3, size);
  far(1, 7) = 1e300;
  far(2, 7) = -1e39;
  EXPECT_TRUE(features(patches, far).allFinite());
  RowMatrix extreme = images(3, size) * 1e300;
  EXPECT_TRUE(features(learned(extreme, size, {.filters = 3}), extreme).allFinite());
  extreme = images(3, size) * 1e-300;
  extreme(0, 0) = -1e-310;
  EXPECT_TRUE(features(learned(extreme, size, {.filters = 3}), extreme).allFinite());
}

TEST(PatchFeatures, WhatIsNoImageIsRefused) {
  const RowMatrix X = images(3, {16, 16, 1});
  EXPECT_THROW(learned(X, {16, 15, 1}), std::invalid_argument);
  EXPECT_THROW(learned(X, {8, 32, 1}), DataError);
  EXPECT_THROW(learned(X, {16, 16, 1}, {.filters = 0}), std::invalid_argument);
  PatchFilters filters = learned(X, {16, 16, 1}, {.filters = 3}).filters();
  filters.weights = filters.weights.leftCols(2).eval();
  EXPECT_THROW(PatchFeatures(filters, false), std::invalid_argument);
  EXPECT_THROW(features(learned(X, {16, 16, 1}, {.filters = 3}), images(2, {16, 17, 1})),
               std::invalid_argument);
}

}  // namespace
}  // namespace zeroloss
