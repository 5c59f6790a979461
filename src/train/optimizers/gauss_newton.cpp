#include <algorithm>
#include <cmath>
#include <utility>

#include "core/tiled.hpp"
#include "proof/evaluate.hpp"
#include "train/optimizers/optimizers.hpp"
#include "zeroloss/core/memory.hpp"

namespace zeroloss::internal {
namespace {

// Levenberg-Marquardt in the space of the points: (J J^T + mu I) c = r, W <- W - J^T c, which is the damped
// Gauss-Newton step of the m d weights. mu follows the gain ratio (Nielsen 1999): it falls up to threefold
// after a step that the linear model predicts well, and rises 2, 8, 64, ..-fold after rejected ones. It falls
// after fair steps too: relu's kinks lie at every scale, so that a gain of 1/4 is all there is at any mu, and
// a mu that rose with it would rise for ever.
class GaussNewton : public TwoLayerOptimizer {
 public:
  GaussNewton(const Points<double>& points, const Problem& problem, Space space)
      : trainer_(points, problem.start, problem.activation, space), y_(problem.y), v_(problem.start.v) {
    const auto n = static_cast<double>(problem.X.rows()), m = static_cast<double>(problem.start.W.rows());
    require_memory(8 * (3 * n * n + 3 * n * m), "gauss_newton", "use fewer points, or optimizer gd");
    point_gram(problem.X, G_);
  }

  Index advance(Index, Index, Progress& progress) override {
    constexpr int kTries = 40;
    const Vector r = f() - y_;
    Matrix K;
    tangent_gram(trainer_.scaled_pattern(), G_, K);
    if (mu_ == 0) mu_ = kStart * K.diagonal().maxCoeff();
    if (!(mu_ > 0)) return 0;  // J = 0, or not finite
    const auto before = trainer_.state();
    for (int attempt = 0; attempt < kTries; ++attempt, mu_ *= std::exchange(rise_, 2 * rise_)) {
      Matrix L = K;
      L.diagonal().array() += mu_;
      if (!tiled::factor(L, progress)) continue;
      Matrix c = r;
      tiled::solve(L, c);
      const double length = trainer_.move(c);
      const double predicted = r.squaredNorm() - mu_ * mu_ * c.squaredNorm();  // r - K c = mu c
      const double gain = (r.squaredNorm() - (f() - y_).squaredNorm()) / predicted;
      if (!(gain > kRejected)) {
        trainer_.restore(before);
        continue;
      }
      const double slope = 2 * gain - 1;
      mu_ *= gain > kPoor ? std::clamp(1 - slope * slope * slope, 1.0 / 3, 0.7) : 2;
      rise_ = 2;
      path_length += length;
      time += 1;
      return 1;
    }
    return 0;
  }

  const Vector& f() const override { return trainer_.f(); }
  void refresh() override { trainer_.refresh(); }
  TwoLayer network() const override { return {trainer_.weights(), v_}; }
  Travel travel() const override { return trainer_.travel(); }
  Snapshot snapshot() const override {
    const auto state = trainer_.state();
    return {{"Z", state.Z},
            {"sum", state.sum},
            {"W", state.W},
            {"f", state.f},
            {"damping", Eigen::Vector2d(mu_, rise_)}};
  }
  void restore(const Snapshot& from) override {
    trainer_.restore({from.at("Z"), from.at("sum"), from.at("W"), Vector(from.at("f").reshaped())});
    mu_ = from.at("damping")(0);
    rise_ = from.at("damping")(1);
  }

 private:
  static constexpr double kStart = 1e-3;                  // mu at the start, of the largest K_ii
  static constexpr double kRejected = 0.02, kPoor = 0.1;  // gains

  Trainer<double> trainer_;
  const Vector& y_;
  Vector v_;
  Matrix G_;
  double mu_ = 0, rise_ = 2;
};

std::unique_ptr<TwoLayerOptimizer> make_gauss_newton(const Beginning<double>& b) {
  return std::make_unique<GaussNewton>(b.points, b.problem, b.space);
}

}  // namespace

namespace methods {
extern constexpr Method gauss_newton{
    {.name = "gauss_newton", .note = "quickest to zero loss; n^2 memory", .tolerance = 1e-9, .gram = true},
    make_gauss_newton};
}

}  // namespace zeroloss::internal
