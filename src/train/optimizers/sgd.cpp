#include "train/optimizers/batches.hpp"
#include "train/optimizers/descent.hpp"

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
        batches_(b.problem.X.rows(), b.options.batch, b.options.seed, b.index) {}

  Index advance(Index done, Index most, Progress&) override {
    if (this->step_ == 0) return 0;  // J = 0
    const Index n = this->trainer_.n(), count = std::min(most, (n + batch_ - 1) / batch_);
    for (Index k = 0; k < count; ++k) {
      const std::vector<Index> batch = batches_.draw(done + k);
      Vector residual = this->trainer_.batch_outputs(batch);
      for (Index b = 0; b < batch_; ++b) residual(b) -= this->y_(batch[static_cast<std::size_t>(b)]);
      this->path_length += this->trainer_.batch_move(this->step_ * residual);
      this->time += this->step_;
    }
    this->trainer_.refresh();
    return count;
  }

 private:
  Index batch_;
  Batches batches_;
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
