#include <algorithm>
#include <cmath>

#include "train/optimizer.hpp"
#include "train/engine/small_trainer.hpp"
#include "zeroloss/core/random.hpp"
#include "zeroloss/kernel/spectrum.hpp"

namespace zeroloss::internal {
namespace {

// What gradient descent in both forms keeps: a trainer, and its state as matrices of doubles.
template <class T>
class Descent : public Optimizer {
 public:
  Descent(const Points<T>& points, const Problem& problem, Space space, double step)
      : trainer_(points, problem.start, problem.activation, space),
        y_(problem.y),
        v_(problem.start.v),
        step_(step) {}

  const Vector& f() const override { return trainer_.f(); }
  void refresh() override { trainer_.refresh(); }
  TwoLayer network() const override { return {trainer_.weights().template cast<double>(), v_}; }
  Travel travel() const override { return trainer_.travel(); }

  Snapshot snapshot() const override {
    const auto state = trainer_.state();
    return {{"Z", state.Z.template cast<double>()},
            {"sum", state.sum.template cast<double>()},
            {"W", state.W.template cast<double>()},
            {"f", state.f}};
  }
  void restore(const Snapshot& from) override {
    trainer_.restore({from.at("Z").cast<T>(), from.at("sum").cast<T>(), from.at("W").cast<T>(),
                      Vector(from.at("f").reshaped())});
  }

 protected:
  Trainer<T> trainer_;
  const Vector& y_;
  Vector v_;
  double step_;
};

template <class T>
class GradientDescent : public Descent<T> {
 public:
  using Descent<T>::Descent;
  Index advance(Index, Index, Progress&) override {
    if (this->step_ == 0) return 0;  // J = 0
    this->path_length += this->trainer_.move(this->step_ * (this->f() - this->y_));
    this->time += this->step_;
    return 1;
  }
};

template <class T>
class SmallDescent : public Optimizer {
 public:
  SmallDescent(const Problem& problem, double step)
      : problem_(problem),
        step_(step),
        trainer_(problem.X, problem.y, problem.start, problem.activation, step) {
    refresh();
  }

  Index advance(Index, Index, Progress&) override {
    if (step_ == 0) return 0;  // J = 0
    trainer_.descend(1);
    const RowMatrix before = std::move(W_);
    refresh();
    path_length += (W_ - before).norm();
    time += step_;
    return 1;
  }
  const Vector& f() const override { return f_; }
  double residual_norm(const Vector&) const override { return trainer_.residual_norm(); }
  void refresh() override {
    W_ = trainer_.weights();
    f_ = trainer_.residual() + problem_.y;
  }
  TwoLayer network() const override { return {W_, problem_.start.v}; }
  Travel travel() const override {
    const RowMatrix moved = W_ - problem_.start.W;
    const auto signs = [&](const RowMatrix& W) { return ((problem_.X * W.transpose()).array() >= 0).eval(); };
    const auto flips = static_cast<double>((signs(W_) != signs(problem_.start.W)).count());
    return {moved.rowwise().norm().maxCoeff(), moved.norm(),
            flips / (static_cast<double>(problem_.X.rows()) * static_cast<double>(W_.rows()))};
  }
  Snapshot snapshot() const override { return {{"W", W_}}; }
  void restore(const Snapshot& from) override {
    trainer_.place(from.at("W"));
    refresh();
  }

 private:
  const Problem& problem_;
  double step_;
  SmallTrainer<T> trainer_;
  RowMatrix W_;
  Vector f_;
};

// Every step draws `batch` distinct points uniformly from numbers of its own, so that a run resumes from the
// count of its steps alone. f is renewed after each pass over the data.
template <class T>
class StochasticDescent : public Descent<T> {
 public:
  StochasticDescent(const Points<T>& points, const Problem& problem, double step, Index batch,
                    std::uint64_t seed, std::uint64_t index)
      : Descent<T>(points, problem, Space::weights, step), batch_(batch), seed_(seed), index_(index) {}

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
  std::vector<Index> draw(Index n, Index step) const {
    // 2^40 steps of each output have numbers of their own.
    Random random(seed_, Stream::batches, (index_ << 40) + static_cast<std::uint64_t>(step));
    std::vector<Index> batch;
    for (Index top = n - batch_; top < n; ++top) {
      const auto drawn = static_cast<Index>(random.below(static_cast<std::uint64_t>(top) + 1));
      const bool taken = std::find(batch.begin(), batch.end(), drawn) != batch.end();
      batch.push_back(taken ? top : drawn);
    }
    std::sort(batch.begin(), batch.end());
    return batch;
  }

  Index batch_;
  std::uint64_t seed_, index_;
};

}  // namespace

template <class T>
double auto_step(const Trainer<T>& trainer, const FitOptions& options) {
  const Operator normal = [&](const Matrix& V) {
    Matrix W(V.rows(), V.cols());
    for (Index b = 0; b < V.cols(); ++b) W.col(b) = trainer.normal_product(V.col(b));
    return W;
  };
  constexpr double kAccuracy = 1e-3;
  Matrix start(trainer.n(), 1);
  Random(0, Stream::start).fill_normal(start);
  double norm_squared = block_lanczos(normal, start, 1, 50, kAccuracy).values.tail(1).value();
  if (options.optimizer == "sgd") {
    const double largest = trainer.gradient_squares().maxCoeff();
    norm_squared = std::min(norm_squared, largest * static_cast<double>(options.batch));
  }
  return norm_squared > 0 ? 1.5 / norm_squared : 0;
}

template <class T>
std::unique_ptr<Optimizer> gradient_descent(const Points<T>& points, const Problem& problem, Space space,
                                            double step) {
  return std::make_unique<GradientDescent<T>>(points, problem, space, step);
}

template <class T>
std::unique_ptr<Optimizer> small_descent(const Problem& problem, double step) {
  return std::make_unique<SmallDescent<T>>(problem, step);
}

template <class T>
std::unique_ptr<Optimizer> stochastic_descent(const Points<T>& points, const Problem& problem, double step,
                                              Index batch, std::uint64_t seed, std::uint64_t index) {
  return std::make_unique<StochasticDescent<T>>(points, problem, step, batch, seed, index);
}

#define ZEROLOSS_DESCENT(T)                                                                               \
  template std::unique_ptr<Optimizer> small_descent<T>(const Problem&, double);                           \
  template double auto_step(const Trainer<T>&, const FitOptions&);                                        \
  template std::unique_ptr<Optimizer> gradient_descent(const Points<T>&, const Problem&, Space, double);  \
  template std::unique_ptr<Optimizer> stochastic_descent(const Points<T>&, const Problem&, double, Index, \
                                                         std::uint64_t, std::uint64_t);
ZEROLOSS_DESCENT(double)
ZEROLOSS_DESCENT(float)
#undef ZEROLOSS_DESCENT

}  // namespace zeroloss::internal
