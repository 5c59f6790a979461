#include "zeroloss/conv/whiten.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "linalg/decompositions.hpp"
#include "zeroloss/conv/batches.hpp"

namespace zeroloss {
namespace {

constexpr Index kPatches = 2'000'000;
constexpr double kNoise = 0.01;  // directions of less mean square are rounding of bytes and compression

/// The sum of p p' over all patches p of an image, size x size x 3, is added to the lower triangle.
void add_patches(const float* image, Index size, Index kernel, Eigen::MatrixXd& sum) {
  const Index places = size - kernel + 1, row = 3 * kernel;
  Eigen::MatrixXd patches(sum.rows(), places);
  for (Index y = 0; y < places; ++y) {
    for (Index x = 0; x < places; ++x)
      for (Index dy = 0; dy < kernel; ++dy)
        patches.block(dy * row, x, row, 1) =
            Eigen::Map<const Eigen::VectorXf>(image + 3 * ((y + dy) * size + x), row).cast<double>();
    sum.selfadjointView<Eigen::Lower>().rankUpdate(patches);
  }
}

}  // namespace

void whiten_stem(ConvNetwork& network, const ImageSet& images) {
  const ConvLayer stem = layers(network.architecture).front();
  const Index size = network.architecture.image_size, n = images.n(), numbers = 3 * stem.kernel * stem.kernel;
  const Index places = size - stem.kernel + 1;
  if (n == 0) throw std::invalid_argument("conv: whiten_stem needs images");
  if (places < 1) throw std::invalid_argument("conv: whiten_stem needs images no smaller than the kernel");
  const Index count = std::min(n, (kPatches + places * places - 1) / (places * places));
  Augment whole;
  whole.size = size;
  whole.crop = "resized";
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(numbers, numbers);
  std::vector<float> image(static_cast<std::size_t>(3 * size * size));
  for (Index i = 0; i < count; ++i) {
    const Index place = i * n / count;
    fill_evaluation(images, whole, {&place, 1}, image.data());
    add_patches(image.data(), size, stem.kernel, sum);
  }
  sum /= static_cast<double>(count * places * places);
  const internal::SymmetricEigen found = internal::symmetric_eigen(sum);
  for (Index i = 0; i < std::min(stem.out, numbers); ++i) {
    const Index from = numbers - 1 - i;
    const double scale = 1 / std::sqrt(std::max(0.0, found.values[from]) + kNoise);
    Eigen::Map<Eigen::VectorXf>(network.weights.data() + i * numbers, numbers) =
        (scale * found.vectors.col(from)).cast<float>();
  }
}

}  // namespace zeroloss
