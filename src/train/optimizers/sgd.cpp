#include <algorithm>
#include <vector>

#include "train/optimizers/descent.hpp"
#include "zeroloss/core/random.hpp"

namespace zeroloss::internal {
namespace {

// Every step draws `batch` distinct points uniformly from numbers of its own, so that a run resumes from the
// count of its steps alone. f is renewed after each pass over the data.
template <class T>
class StochasticDescent : public Descent<T> {
 public:
  explicit StochasticDescent(const Beginning<T>& b)
      : Descent<T>(b),
        batch_(b.options.batch),
        seed_(b.options.seed),
        index_(b.index),
        taken_(static_cast<std::size_t>(b.problem.X.rows())) {}

  Index advance(Index done, Index most, Progress&) override {
    if (this->step_ == 0) return 0;  // J = 0
    const Index n = this->trainer_.n(), count = std::min(most, (n + batch_ - 1) / batch_);
    for (Index k = 0; k < count; ++k) {
      const std::vector<Index> batch = draw(n, done + k);
      Vector residual = this->trainer_.batch_outputs(batch);
      for (Index b = 0; b < batch_; ++b) residual(b) -= this->y_(batch[static_cast<std::size_t>(b)]);
      this->path_length += this->trainer_.batch_move(this->step_ * residual);
      this->time += this->step_;
    }
    this->trainer_.refresh();
    return count;
  }

 private:
  // The first numbers of a random permutation (Floyd's algorithm), ascending.
  std::vector<Index> draw(Index n, Index step) {
    // 2^40 steps of each output have numbers of their own.
    Random random(seed_, Stream::batches, (index_ << 40) + static_cast<std::uint64_t>(step));
    std::vector<Index> batch;
    for (Index top = n - batch_; top < n; ++top) {
      const auto drawn = static_cast<Index>(random.below(static_cast<std::uint64_t>(top) + 1));
      batch.push_back(taken_[static_cast<std::size_t>(drawn)] ? top : drawn);
      taken_[static_cast<std::size_t>(batch.back())] = true;
    }
    for (const Index i : batch) taken_[static_cast<std::size_t>(i)] = false;
    std::sort(batch.begin(), batch.end());
    return batch;
  }

  Index batch_;
  std::uint64_t seed_, index_;
  std::vector<bool> taken_;  // by the batch that is being drawn
};

template <class T>
std::unique_ptr<TwoLayerOptimizer> make_sgd(const Beginning<T>& b) {
  return std::make_unique<StochasticDescent<T>>(b);
}

constexpr std::string_view kBesideSgd[] = {"os_2_6"};

}  // namespace

namespace methods {
extern constexpr Method sgd{
    {.name = "sgd", .step = true, .batch = true}, make_sgd<double>, make_sgd<float>, nullptr, kBesideSgd};
}

}  // namespace zeroloss::internal
