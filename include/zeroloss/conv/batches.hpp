#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "zeroloss/conv/augment.hpp"

/// Batches of training images, prepared by threads of their own while the network computes.
namespace zeroloss {

/// One process's share of the images of a step.
struct Batch {
  std::int64_t step = 0;
  double epoch = 0;            ///< passes over the images that are complete after this step
  Index size = 0;              ///< side of the images
  std::shared_ptr<float> x{};  ///< count x size x size x 3, see augment(); the buffer is used again once
                               ///< nobody holds it
  std::vector<std::int64_t> labels{};  ///< count class numbers
  std::vector<Index> indices{};        ///< count places in the ImageSet

  Index count() const { return static_cast<Index>(labels.size()); }
};

/// The images in training order: one random permutation for each epoch, one after the other. Step t takes
/// places t batch .. (t + 1) batch - 1 of it, so batches are full and may span epochs; process `rank` of
/// `world` takes the rank-th of `world` equal shares of each. Image i in epoch e is augmented by Random(seed,
/// Stream::augment, e n + i). So what a step holds depends on the seed and on nothing else.
class Batches {
 public:
  /// Starts `threads` threads, which stay up to four batches ahead. The images must outlive this. Throws
  /// std::invalid_argument unless batch >= 1 is a multiple of world, 0 <= rank < world, first_step >= 0,
  /// threads >= 1, seed < 2^53 and check_augment agrees.
  Batches(const ImageSet& images, const Augment& options, Index batch, std::uint64_t seed,
          std::int64_t first_step = 0, int threads = 1, int rank = 0, int world = 1);
  ~Batches();  ///< stops the threads, after at most 16 images each
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  /// The batches of steps first_step, first_step + 1, ... Waits until the batch is complete. Throws what went
  /// wrong with it, now and at every further call: DataError for a file that vanished, was damaged or has the
  /// wrong size for its crop. One thread calls this.
  Batch next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes the evaluation images (see prepare()) at these places of the set to x, in parallel. Throws as
/// Batches::next() and std::invalid_argument for a place that is not in the set.
void fill_evaluation(const ImageSet& images, const Augment& options, std::span<const Index> indices,
                     float* x);

}  // namespace zeroloss
