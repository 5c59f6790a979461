#include <cmath>

#include "train/engine/small_trainer.hpp"
#include "train/fit_options.hpp"
#include "train/optimizers/descent.hpp"

namespace zeroloss::internal {
namespace {

// W <- W - step J^T r.
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

// The same steps of a small network (small_trainer.hpp), in weight space.
template <class T>
class SmallDescent : public TwoLayerOptimizer {
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

template <class T>
std::unique_ptr<TwoLayerOptimizer> make_gd(const Beginning<T>& b) {
  if (trains_small(b.options, b.problem.X.rows(), b.problem.X.cols()))
    return std::make_unique<SmallDescent<T>>(b.problem, b.step);
  return std::make_unique<GradientDescent<T>>(b);
}

// (1 - step h)^(2k).
double gd_left(double h, double step, const FitOptions&, double k) {
  const double log_left = step * h < 1 ? std::log1p(-step * h) : std::log(std::abs(1 - step * h));
  return std::exp(2 * k * log_left);
}

constexpr std::string_view kBesideGd[] = {"dzps_4_1", "os_6_2", "os_6_3"};

}  // namespace

namespace methods {
extern constexpr Method gd{{.name = "gd", .step = true, .gram = true, .small = true, .together = true},
                           make_gd<double>,
                           make_gd<float>,
                           gd_left,
                           kBesideGd};
}

}  // namespace zeroloss::internal
