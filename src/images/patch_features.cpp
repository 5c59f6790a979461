#include "zeroloss/images/patch_features.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/parallel_for.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/lapack.hpp"
#include "linalg/median.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/random.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr Index kPatches = 20'000;
constexpr Index kShrunk = 32;        // pixels: the shorter side of what is shrunk, at least
constexpr float kDeviation = 10;     // of 255 levels, added to that of an image
constexpr float kVariance = 0.01F;   // added to that of a patch
constexpr double kEigenvalue = 0.1;  // added to those of whitening
constexpr double kContrast = 0.3;    // of the median of the patches': filters have as much
constexpr float kThreshold = 0.25F;
constexpr double kFarthest = 1e6;  // levels
constexpr Index kTogether = 16;    // images that one thread takes at a time
constexpr Index kAround = 32;      // of these between two reports

using Run = Eigen::Map<Eigen::ArrayXf>;

/// Where the k-th of `parts` of 0 .. n - 1 begins and ends: all are alike from either side.
std::pair<Index, Index> part_of(Index n, Index k, Index parts) {
  return {k * n / parts, ((k + 1) * n + parts - 1) / parts};
}

void normalize_patch(float* patch, Index count) {
  Run p(patch, count);
  p -= p.mean();
  p /= std::sqrt(p.square().mean() + kVariance);
}

struct Place {
  Index image, row, column;
};

bool planes_are_equal(const Eigen::Ref<const RowMatrix>& X, const PictureSize& size) {
  const Index plane = size.height * size.width;
  for (Index i = 0; i < X.rows(); ++i)
    for (Index c = 1; c < size.planes; ++c)
      for (Index k = 0; k < plane; ++k)
        if (size.together ? X(i, k * size.planes) != X(i, k * size.planes + c)
                          : X(i, k) != X(i, c * plane + k))
          return false;
  return true;
}

}  // namespace

PatchFeatures::PatchFeatures(const Eigen::Ref<const RowMatrix>& X, const PictureSize& size,
                             const PatchOptions& options, Progress& progress)
    : filters_{.size = size}, mirror_(options.mirror) {
  if (options.filters < 1)
    throw std::invalid_argument(fmt::format("PatchFeatures: filters must be >= 1; got {}", options.filters));
  if (size.planes < 1 || X.cols() != size.height * size.width * size.planes || X.rows() < 1)
    throw std::invalid_argument(
        fmt::format("PatchFeatures: images of {} x {} x {} need as many numbers a row; got {}", size.height,
                    size.width, size.planes, X.cols()));
  const Index shorter = std::min(size.height, size.width);
  if (shorter < kLeast)
    throw DataError(
        fmt::format("images are {} x {}; patches need {} pixels each way", size.height, size.width, kLeast));
  filters_.grey = size.planes > 1 && planes_are_equal(X, size);
  const double least = X.minCoeff(), most = X.maxCoeff();
  if (least >= 0 && most <= 1) {
    filters_.levels = 255;
  } else if (least < 0 || most > 255) {
    filters_.least = least;
    const double range = most - least;  // none, or beyond that of doubles: no image is made of such numbers
    filters_.levels = range > 255 / std::numeric_limits<double>::max() ? 255 / range : 0;
  }
  set_up();

  Random random(options.seed, Stream::patches);
  std::vector<Place> drawn;
  for (Index k = 0; k < kPatches; ++k) {
    const auto below = [&](Index n) {
      return static_cast<Index>(random.below(static_cast<std::uint64_t>(n)));
    };
    const Index image = below(X.rows()), row = below(height_ - kSide + 1), column = below(width_ - kSide + 1);
    drawn.push_back({image, row, column});
  }
  std::ranges::stable_sort(drawn, {}, &Place::image);
  progress.stage("patches of images", static_cast<double>(kPatches));
  const Index count = numbers();
  std::vector<float> image(static_cast<std::size_t>(planes_ * height_ * width_)),
      one(static_cast<std::size_t>(count));
  Matrix patches(kPatches, count);
  for (std::size_t k = 0; k < drawn.size(); ++k) {
    if (k == 0 || drawn[k].image != drawn[k - 1].image) {
      prepare(X.row(drawn[k].image).data(), image.data());  // once for all patches of an image
      progress.check();
    }
    patch(image.data(), drawn[k].row, drawn[k].column, one.data());
    normalize_patch(one.data(), count);
    for (Index q = 0; q < count; ++q) patches(static_cast<Index>(k), q) = one[static_cast<std::size_t>(q)];
    progress.advance(1);
  }
  const SerialBlas serial;  // the same bits for any number of threads
  const Eigen::RowVectorXd middle = patches.colwise().mean();
  patches.rowwise() -= middle;
  const auto [values, vectors] =
      symmetric_eigen(patches.transpose() * patches / static_cast<double>(kPatches - 1));
  const Matrix whitening =
      vectors * (values.array().max(0) + kEigenvalue).rsqrt().matrix().asDiagonal() * vectors.transpose();
  const Matrix whitened = patches * whitening;
  const Vector norms = whitened.rowwise().norm();
  const double enough = kContrast * median(std::vector<double>(norms.begin(), norms.end()));
  std::vector<Index> chosen;
  for (Index k = 0; k < kPatches; ++k)
    if (norms(k) > std::max(enough, 1e-3)) chosen.push_back(k);
  shuffle(chosen, random);
  if (chosen.empty()) return;
  chosen.resize(std::min(chosen.size(), static_cast<std::size_t>(options.filters)));
  const Matrix units = norms(chosen).cwiseInverse().asDiagonal() * whitened(chosen, Eigen::all);
  filters_.weights = (whitening * units.transpose()).cast<float>().cast<double>();
  filters_.shift = (middle * filters_.weights).transpose();
  set_up();
}

PatchFeatures::PatchFeatures(PatchFilters filters, bool mirror)
    : filters_(std::move(filters)), mirror_(mirror) {
  const PictureSize& size = filters_.size;
  if (std::min(size.height, size.width) < kLeast || size.planes < 1 ||
      filters_.weights.rows() != (filters_.grey ? 1 : size.planes) * kSide * kSide ||
      filters_.shift.size() != filters_.weights.cols())
    throw std::invalid_argument(
        fmt::format("PatchFeatures: {} x {} weights and {} shifts are not those of images of {} x {} x {}",
                    filters_.weights.rows(), filters_.weights.cols(), filters_.shift.size(), size.height,
                    size.width, size.planes));
  set_up();
}

void PatchFeatures::set_up() {
  const PictureSize& size = filters_.size;
  times_ = std::max<Index>(1, std::min(size.height, size.width) / kShrunk);
  height_ = size.height / times_;
  width_ = size.width / times_;
  planes_ = filters_.grey ? 1 : size.planes;
  const Index count = filters_.weights.cols();
  weights_.resize(numbers(), (mirror_ ? 2 : 1) * count);
  shift_.resize(weights_.cols());
  if (count == 0) return;
  for (Index q = 0; q < numbers(); ++q) {
    const Index mirrored = q - q % kSide + (kSide - 1 - q % kSide);
    weights_.row(q).leftCols(count) = filters_.weights.row(q).cast<float>();
    if (mirror_) weights_.row(q).rightCols(count) = filters_.weights.row(mirrored).cast<float>();
  }
  shift_.leftCols(count) = filters_.shift.transpose().array().cast<float>();
  if (mirror_) shift_.rightCols(count) = shift_.leftCols(count).eval();
}

void PatchFeatures::prepare(const double* x, float* image) const {
  const PictureSize& size = filters_.size;
  const Index times = times_, same = filters_.grey ? size.planes : 1;
  const Index step = size.together ? size.planes : 1, next = size.together ? 1 : size.height * size.width;
  const double levels = filters_.levels / static_cast<double>(times * times * same);
  for (Index p = 0; p < planes_; ++p)
    for (Index r = 0; r < height_; ++r)
      for (Index c = 0; c < width_; ++c) {
        double sum = 0;
        for (Index i = r * times; i < (r + 1) * times; ++i)
          for (Index j = c * times; j < (c + 1) * times; ++j)
            for (Index q = p; q < p + same; ++q)
              sum += x[(i * size.width + j) * step + q * next] - filters_.least;
        // Other images may be far beyond the range of those that were learned of.
        *image++ = static_cast<float>(std::clamp(sum * levels, -kFarthest, kFarthest));
      }
  Run all(image - planes_ * height_ * width_, planes_ * height_ * width_);
  all -= all.mean();
  all /= std::sqrt(all.square().mean()) + kDeviation;
}

void PatchFeatures::patch(const float* image, Index row, Index column, float* to) const {
  for (Index p = 0; p < planes_; ++p)
    for (Index i = 0; i < kSide; ++i)
      to = std::copy_n(image + (p * height_ + row + i) * width_ + column, kSide, to);
}

void PatchFeatures::features(const double* x, Floats& patches, Floats& responses, double* to) const {
  const Index across = width_ - kSide + 1, down = height_ - kSide + 1, numbers_of_patch = numbers();
  const Index all = weights_.cols(), filters = filters_.weights.cols();
  std::vector<float> image(static_cast<std::size_t>(planes_ * height_ * width_));
  prepare(x, image.data());
  for (Index r = 0; r < down; ++r)
    for (Index c = 0; c < across; ++c) {
      float* one = patches.row(r * across + c).data();
      patch(image.data(), r, c, one);
      normalize_patch(one, numbers_of_patch);
    }
  lapack::gemm('N', 'N', all, places(), numbers_of_patch, 1.0F, weights_.data(), all, patches.data(),
               numbers_of_patch, 0.0F, responses.data(), all);
  Floats sums(2 * kParts * kParts, all);  // a row a part and a sign
  for (Index a = 0; a < kParts; ++a)
    for (Index b = 0; b < kParts; ++b) {
      const auto [top, bottom] = part_of(down, a, kParts);
      const auto [left, right] = part_of(across, b, kParts);
      auto more = sums.row(2 * (a * kParts + b)).array(), less = sums.row(2 * (a * kParts + b) + 1).array();
      more.setZero();
      less.setZero();
      for (Index r = top; r < bottom; ++r)
        for (Index c = left; c < right; ++c) {
          const auto response = responses.row(r * across + c).array();
          more += (response - (shift_ + kThreshold)).max(0);
          less += ((shift_ - kThreshold) - response).max(0);
        }
      const auto size = static_cast<float>((bottom - top) * (right - left));
      more = (more / size).sqrt();
      less = (less / size).sqrt();
    }
  for (Index part = 0; part < kParts * kParts; ++part)
    for (Index sign = 0; sign < 2; ++sign) {
      const Index other =
          part - part % kParts + (kParts - 1 - part % kParts);  // the same part of the mirror image
      for (Index f = 0; f < filters; ++f) {
        const float here = sums(2 * part + sign, f);
        *to++ =
            mirror_
                ? 0.5 * (static_cast<double>(here) + static_cast<double>(sums(2 * other + sign, filters + f)))
                : static_cast<double>(here);
      }
    }
}

RowMatrix PatchFeatures::operator()(const Eigen::Ref<const RowMatrix>& X, Progress& progress) const {
  const PictureSize& size = filters_.size;
  if (X.cols() != size.height * size.width * size.planes)
    throw std::invalid_argument(fmt::format("PatchFeatures: images of {} numbers; expected {} x {} x {}",
                                            X.cols(), size.height, size.width, size.planes));
  const Index n = X.rows();
  require_memory(8.0 * static_cast<double>(n) * static_cast<double>(width()) +
                     4.0 * thread_count() * static_cast<double>(places() * (numbers() + weights_.cols())),
                 fmt::format("features of {}", count(n, "image", "images")), "use fewer images");
  RowMatrix all(n, width());
  if (width() == 0) return all;
  const Index blocks = (n + kTogether - 1) / kTogether;
  const Threads threads(static_cast<double>(n) * static_cast<double>(places() * weights_.size()));
  progress.stage("features of images", static_cast<double>(n));
  struct Scratch {
    Floats patches, responses;
  };
  for (Index begin = 0; begin < blocks; begin += kAround) {
    const Index end = std::min(blocks, begin + kAround);
    const SerialBlas serial;
    parallel_for(
        end - begin,
        [&] {
          return Scratch{Floats(places(), numbers()), Floats(places(), weights_.cols())};
        },
        [&](Scratch& own, Index k) {
          const Index first = (begin + k) * kTogether;
          for (Index i = first; i < std::min(n, first + kTogether) && !progress.cancelled(); ++i)
            features(X.row(i).data(), own.patches, own.responses, all.row(i).data());
        });
    progress.advance(static_cast<double>(std::min(n, end * kTogether) - begin * kTogether));
  }
  progress.finish();
  return all;
}

}  // namespace zeroloss
