#pragma once
#include <string>

#include "zeroloss/base/random.hpp"
#include "zeroloss/images/images.hpp"

/// From an image to what a network sees: size x size x 3 float32 numbers, row by row, the three channels of a
/// pixel side by side, with mean 0 and variance 1.
namespace zeroloss {

/// How training images are varied. Evaluation images are not.
struct Augment {
  /// pad: a random size x size window of the image with `pad` zeros around it, as for CIFAR [He et al.
  /// 2016, section 4.2]; resized: a random part of the image, resized, as for ImageNet [Szegedy et al.
  /// 2015]; none: the image as it is.
  std::string crop = "pad";
  Index size = 0;    ///< side of the result, 1..1024; 0 = that of the images (in memory only)
  Index pad = 4;     ///< crop = pad: zero pixels on each side, 0..size
  bool flip = true;  ///< left and right are exchanged with probability 1/2
  Index cutout = 0;  ///< side of a square of zeros, 0..size [DeVries & Taylor 2017]; its centre is uniform on
                     ///< the result, beyond whose edges it may reach
};

/// The side of the result for these images. Throws std::invalid_argument for an option out of its range, and
/// where images in memory need crop = resized: they are not size x size.
Index check_augment(const Augment& options, const ImageSet& images);

/// Writes a training image to x: crop, flip, standardisation, cutout, in this order. Draws one number for
/// each random choice that the options ask for, so one `random` gives one result.
/// - crop = resized: a window with `scale` in [0.08, 1] of the area and `ratio` width / height in [3/4, 4/3]
///   (scale and log ratio uniform), at a uniform place; after ten windows that do not fit the largest centred
///   one with a ratio in that range.
/// - standardisation: (p - mean) / max(deviation, 1 / sqrt(N)) over all N = 3 size^2 bytes p of the cropped
/// image,
///   zeros around it included; computed in double, rounded once.
/// `size` is what check_augment returned. Throws std::invalid_argument if crop is not "resized" and the image
/// is not size x size.
void augment(const ImageView& image, const Augment& options, Index size, Random random, float* x);

/// Writes an evaluation image to x, standardised: as it is, or for crop = resized and an image that is not
/// size x size the centre of it, resized to a shorter side of round(size 256 / 224) (and the longer one in
/// proportion, rounded down).
void prepare(const ImageView& image, const Augment& options, Index size, float* x);

}  // namespace zeroloss
