#include "train/loop.hpp"

#include <fmt/format.h>

#include <cmath>

#include "train/optimizers/descent.hpp"
#include "train/start.hpp"
#include "train/training.hpp"

namespace zeroloss::internal {
namespace {

// One output of a two-layer network on its way.
class OutputTraining : public Training {
 public:
  OutputTraining(const Run& run, Index index, const std::string& label, const Vector& y, RunState& state,
                 Checkpoint& checkpoint, Progress& progress)
      : Training(run.options, {index, run.Y.cols(), label, run.X.rows()}, y, state, checkpoint, progress),
        run_(run),
        start_(first_weights(options_, run.X, y_, index)),
        distinct_y_(run.set.y(index)),
        problem_{run.X, y_, start_, run.activation, run.distinct, distinct_y_},
        theory_curve_(run.theory, run.activation, options_, run.X, y_, run.Y.cols()) {
    optimizer_ = options_.precision == "float32" ? make<float>(run.points32) : make<double>(run.points64);
    theory_curve_.begin(start_.v.squaredNorm(), optimizer_->f() - y_, result_.step);
    result_.theorem = theory_curve_.theorem();
    begin();
  }

 private:
  Optimizer& optimizer() override { return *optimizer_; }

  double step_work() const override {
    const auto n = static_cast<double>(facts_.batch ? options_.batch : y_.size());
    const auto m = static_cast<double>(start_.W.rows()), d = static_cast<double>(start_.W.cols());
    return facts_.step ? n * m * d : n * m * (d + n);  // those that choose a step solve with n x n matrices
  }

  double final_residual_norm() const override {
    return (outputs(optimizer_->network(), run_.activation, run_.X) - y_).norm();
  }

  void keep(OutputState& state) const override {
    state.network = optimizer_->network();
    state.polished = polished_;
  }

  Certificate proved(bool polish, Progress& progress) override {
    auto proof = optimizer_->certify(problem_, polish, progress);
    polished_ = std::move(proof.polished);
    return std::move(proof.certificate);
  }

  void expect(const Certificate& start) override {
    theory_curve_.begin(start);
    result_.theorem = theory_curve_.theorem();
  }

  void complete(CurvePoint& point) const override {
    theory_curve_.complete(point);
    if (run_.test)
      point.test_error = test_error(*run_.test, optimizer_->network(), part_.index, run_.activation);
  }

  template <class T>
  std::unique_ptr<TwoLayerOptimizer> make(const Points<T>& points) {
    if (facts_.step) result_.step = chosen_step(points);
    return options_.method->make(Beginning<T>{points, problem_, run_.space, result_.step, options_,
                                              static_cast<std::uint64_t>(part_.index)});
  }

  template <class T>
  double chosen_step(const Points<T>& points) const {
    if (state_.current) return state_.current->result.step;  // resumed
    if (options_.rule.kind == Step::Kind::number) return options_.rule.value;
    if (options_.rule.kind == Step::Kind::automatic)
      return auto_step(Trainer<T>(points, start_, run_.activation, run_.space),
                       facts_.batch ? options_.batch : 0, progress_);
    const TheoremBeside& theorem = theory_curve_.theorem();
    if (!(theorem.step > 0))
      throw std::invalid_argument(fmt::format("fit: step theorem: {}", theorem.reason));
    return theorem.step;
  }

  const Run& run_;
  TwoLayer start_, polished_;
  Vector distinct_y_;
  Problem problem_;
  TheoryCurve theory_curve_;
  std::unique_ptr<TwoLayerOptimizer> optimizer_;
};

}  // namespace

void train_output(const Run& run, Index index, const std::string& label, RunState& state,
                  Checkpoint& checkpoint, Progress& progress) {
  const Vector y = run.Y.col(index);
  OutputTraining(run, index, label, y, state, checkpoint, progress).run();
}

}  // namespace zeroloss::internal
