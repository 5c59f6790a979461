#pragma once
#include <cstdint>

#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/progress.hpp"
#include "zeroloss/data/dataset.hpp"

/// Features of images without training: how much of some typical patches is where (Coates, Lee & Ng, AISTATS
/// 2011).
namespace zeroloss {

struct PatchOptions {
  Index filters = 256;     ///< patches that all others are compared with, >= 1
  bool mirror = false;     ///< take the mean of an image's features and those of its mirror image
  std::uint64_t seed = 0;  ///< of the patches that are drawn, [0, 2^53)
};

/// What is learned of images.
struct PatchFilters {
  PictureSize size{};            ///< of an image
  bool grey = false;             ///< all planes are equal, and count as one
  double least = 0, levels = 1;  ///< (x - least) levels is within 0..255
  RowMatrix weights{};           ///< 36 numbers a plane x filters, single precision
  Vector shift{};                ///< what the response of each filter is less
};

/// An image less its mean is divided by its deviation plus 10 of 255 levels, each patch of 6 x 6 pixels
/// likewise by the root of its variance plus 0.01, and patches are whitened (ZCA, 0.1 added to eigenvalues).
/// Filters are such patches, of length 1. Of responses r of a filter everywhere, the means of max(r - 1/4, 0)
/// and of max(-r - 1/4, 0) over each of 3 x 3 parts of the image are taken, and their roots are the features.
/// Images whose shorter side is 64 pixels or more are first shrunk to 32 to 63, by means over whole pixels.
class PatchFeatures {
 public:
  static constexpr Index kLeast = 16;  ///< pixels: images are as wide and as high as that
  static constexpr Index kSide = 6;    ///< pixels: of a patch

  /// Draws 20,000 patches of these images, n x (height width planes), finite, of any range: numbers in [0, 1]
  /// count as 255 levels, numbers in [0, 255] as they are, others as levels between the least and the
  /// largest. Planes that are equal in all images are one. Throws std::invalid_argument for options out of
  /// range or points of another size, DataError for images that are too small, Interrupted.
  PatchFeatures(const Eigen::Ref<const RowMatrix>& X, const PictureSize& size, const PatchOptions& options,
                Progress& progress);

  /// Of what another one has learned. Throws std::invalid_argument for numbers that do not fit together.
  PatchFeatures(PatchFilters filters, bool mirror);

  const PatchFilters& filters() const { return filters_; }
  bool mirror() const { return mirror_; }

  /// 18 a filter; of images without any contrast there are no filters, and this is 0.
  Index width() const { return 2 * kParts * kParts * filters_.weights.cols(); }

  /// n x width(), >= 0. 72 (or, mirrored, 144) multiply-adds a plane, a filter and a place of a patch. No bit
  /// depends on the number of threads. Throws std::invalid_argument, ResourceError, Interrupted.
  RowMatrix operator()(const Eigen::Ref<const RowMatrix>& X, Progress& progress) const;

 private:
  static constexpr Index kParts = 3;
  using Floats = Rows<float>;

  void set_up();                                                                 // from filters_
  Index numbers() const { return planes_ * kSide * kSide; }                      // of a patch
  Index places() const { return (height_ - kSide + 1) * (width_ - kSide + 1); }  // of patches in an image
  void prepare(const double* x, float* image) const;                             // planes x height x width
  void patch(const float* image, Index row, Index column, float* to) const;      // as it stands there
  void features(const double* x, Floats& patches, Floats& responses, double* to) const;

  PatchFilters filters_;
  bool mirror_ = false;
  Index times_ = 1;                            // pixels each way that one of a prepared image is the mean of
  Index planes_ = 0, height_ = 0, width_ = 0;  // of images that are prepared
  Floats weights_;                             // numbers x filters, then those of mirrored filters
  Eigen::Array<float, 1, Eigen::Dynamic> shift_;  // of all of them
};

}  // namespace zeroloss
