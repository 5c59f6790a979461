#pragma once
#include <algorithm>
#include <vector>

#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/random.hpp"

/// The batches of sgd: every step draws distinct points uniformly from numbers of its own, so that a run
/// resumes from the count of its steps alone.
namespace zeroloss::internal {

class Batches {
 public:
  Batches(Index points, Index batch, std::uint64_t seed, std::uint64_t index)
      : batch_(batch), seed_(seed), index_(index), taken_(static_cast<std::size_t>(points)) {}

  /// The first numbers of a random permutation (Floyd's algorithm), ascending.
  std::vector<Index> draw(Index step) {
    // 2^40 steps of each output have numbers of their own.
    Random random(seed_, Stream::batches, (index_ << 40) + static_cast<std::uint64_t>(step));
    const auto points = static_cast<Index>(taken_.size());
    std::vector<Index> batch;
    for (Index top = points - batch_; top < points; ++top) {
      const auto drawn = static_cast<Index>(random.below(static_cast<std::uint64_t>(top) + 1));
      batch.push_back(taken_[static_cast<std::size_t>(drawn)] ? top : drawn);
      taken_[static_cast<std::size_t>(batch.back())] = true;
    }
    for (const Index i : batch) taken_[static_cast<std::size_t>(i)] = false;
    std::sort(batch.begin(), batch.end());
    return batch;
  }

 private:
  Index batch_;
  std::uint64_t seed_, index_;
  std::vector<bool> taken_;  // by the batch that is being drawn
};

}  // namespace zeroloss::internal
