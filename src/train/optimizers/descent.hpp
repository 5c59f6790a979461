#pragma once
#include "train/optimizers/optimizers.hpp"

/// What the optimizers that follow gradients by steps of one size share.
namespace zeroloss::internal {

/// 1.5/||J||^2, by Lanczos on J J^T to 0.1 %; over a bound of any ||J||^2 of `batch` points if that is not 0.
/// 0 if J = 0.
template <class T>
double auto_step(const Trainer<T>& trainer, Index batch, const Progress& progress);

/// A trainer, and its state as matrices of doubles.
template <class T>
class Descent : public TwoLayerOptimizer {
 public:
  explicit Descent(const Beginning<T>& b)
      : trainer_(b.points, b.problem.start, b.problem.activation, b.space),
        y_(b.problem.y),
        v_(b.problem.start.v),
        step_(b.step) {}

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
    trainer_.restore({from.at("Z").template cast<T>(), from.at("sum").template cast<T>(),
                      from.at("W").template cast<T>(), Vector(from.at("f").reshaped())});
  }

 protected:
  Trainer<T> trainer_;
  const Vector& y_;
  Vector v_;
  double step_;
};

}  // namespace zeroloss::internal
