#pragma once
#include <string>
#include <vector>

#include "zeroloss/base/fields.hpp"
#include "zeroloss/base/progress.hpp"
#include "zeroloss/conv/resnet.hpp"
#include "zeroloss/images/images.hpp"

/// What a convolutional network says about images, and how often it is right.
namespace zeroloss {

/// Where and how a network is computed.
struct ConvDevice {
  std::string device = "auto";     ///< cpu | cuda | cuda:N | auto: cuda where there is one
  std::string precision = "auto";  ///< float32 | bfloat16 (of convolutions; sums and weights stay float32) |
                                   ///< auto: bfloat16 where the device multiplies it faster: on cuda, and
                                   ///< on processors with AVX512-BF16
  int threads = 0;                 ///< for the cpu and for decoding images; 0 = one for each processor
  bool mirror = false;             ///< outputs for test images are means over the image and its mirror image;
                                   ///< takes twice as long
};

/// n x classes, one row for each image.
using Logits = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The network's outputs, n x classes, in the order of the images. Images of another size than the network's
/// are resized and cropped (see prepare() in augment.hpp). `batch` images, >= 1, are computed at a time.
/// Throws std::invalid_argument for an unknown device or precision and a network whose numbers do not fit its
/// architecture; BackendError where LibTorch or the device is missing; ResourceError where memory does not
/// suffice; DataError for a file that cannot be decoded; Interrupted once cancelled.
Logits predict(const ConvNetwork& network, const ImageSet& images, const ConvDevice& device,
               Progress& progress, Index batch = 250);

/// How outputs compare with labels.
struct ConvEvaluation {
  Index n = 0;
  double loss = 0;                        ///< mean cross-entropy
  double top1_error = 0, top5_error = 0;  ///< fractions; top5: the label is not among the five largest
  Index wrong = 0;                        ///< top1_error * n
  /// [label][predicted], counts; predicted is the first of equal largest outputs.
  std::vector<std::vector<Index>> confusion;
  std::vector<double> per_class_error;  ///< NaN for a class without images
};
template <Is<ConvEvaluation> T, class Visitor>
void fields(T& e, const Visitor& visit) {
  visit(Field{"n"}, e.n);
  visit(Field{"loss"}, e.loss);
  visit(Field{"top1_error"}, e.top1_error);
  visit(Field{"top5_error"}, e.top5_error);
  visit(Field{"wrong"}, e.wrong);
  visit(Field{"per_class_error"}, e.per_class_error);
  visit(Field{"confusion"}, e.confusion);
}

/// `labels`: class numbers, 0..classes-1. An output that is not a number counts as smaller than all others.
/// Throws std::invalid_argument if sizes differ or a label is out of range.
ConvEvaluation evaluate(const Logits& logits, const std::vector<std::int64_t>& labels);

}  // namespace zeroloss
