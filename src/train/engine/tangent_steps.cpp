#include "train/engine/tangent_steps.hpp"

#include <cmath>

#include "linalg/tiled.hpp"
#include "proof/evaluate.hpp"
#include "zeroloss/base/memory.hpp"

namespace zeroloss::internal {
namespace {

class TrainerSteps final : public TangentSteps {
 public:
  TrainerSteps(const RowMatrix& X, const Points<double>& points, const TwoLayer& start,
               const Activation& activation, Space space)
      : trainer_(points, start, activation, space) {
    const auto n = static_cast<double>(X.rows()), m = static_cast<double>(start.W.rows());
    require_memory(8 * (3 * n * n + 3 * n * m), "gauss_newton", "use fewer points, or optimizer gd");
    point_gram(X, G_);
  }

  const Vector& f() const override { return trainer_.f(); }
  void refresh() override { trainer_.refresh(); }

  double form() override {
    tangent_gram(trainer_.scaled_pattern(), G_, K_);
    here_ = trainer_.state();
    return K_.diagonal().allFinite() ? K_.diagonal().maxCoeff() : std::nan("");
  }

  std::optional<Vector> solve(double mu, const Vector& r, Progress& progress) override {
    Matrix L = K_;
    L.diagonal().array() += mu;
    if (!tiled::factor(L, progress)) return {};
    Matrix c = r;
    tiled::solve(L, c);
    return c.col(0);
  }

  double move(const Vector& c) override { return trainer_.move(c); }
  void go_back() override { trainer_.restore(here_); }
  RowMatrix weights() const override { return trainer_.weights(); }
  Travel travel() const override { return trainer_.travel(); }

  std::map<std::string, Matrix> snapshot() const override {
    const auto state = trainer_.state();
    return {{"Z", state.Z}, {"sum", state.sum}, {"W", state.W}, {"f", state.f}};
  }
  void restore(const std::map<std::string, Matrix>& from) override {
    trainer_.restore({from.at("Z"), from.at("sum"), from.at("W"), Vector(from.at("f").reshaped())});
  }

 private:
  Trainer<double> trainer_;
  Trainer<double>::State here_;
  Matrix G_, K_;
};

}  // namespace

std::unique_ptr<TangentSteps> tangent_steps(const RowMatrix& X, const Points<double>& points,
                                            const TwoLayer& start, const Activation& activation,
                                            Space space) {
  return std::make_unique<TrainerSteps>(X, points, start, activation, space);
}

}  // namespace zeroloss::internal
