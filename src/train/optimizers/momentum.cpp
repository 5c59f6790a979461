#include <algorithm>
#include <cmath>
#include <limits>

#include "train/optimizers/descent.hpp"
#include "zeroloss/base/memory.hpp"

namespace zeroloss::internal {
namespace {

// The heavy ball, W_{k+1} = W_k - step J^T r + momentum (W_k - W_{k-1}), from rest. Z and the sum of all S
// are linear in W, so that the same recurrence holds for them: it is taken in either space (theory 6).
template <class T>
class HeavyBall : public Descent<T> {
 public:
  explicit HeavyBall(const Beginning<T>& b)
      : Descent<T>(b), phi_(phi_of(b.problem.activation)), momentum_(static_cast<T>(b.options.momentum)) {
    const State start = this->trainer_.state();
    const auto entries = static_cast<double>(start.Z.size() + start.sum.size() + start.W.size());
    require_memory(3 * sizeof(T) * entries, "momentum", "use fewer points, or optimizer gd");
    moved_ = {0 * start.Z, 0 * start.sum, 0 * start.W, {}};
  }

  Index advance(Index, Index, Progress&) override {
    if (this->step_ == 0) return 0;  // J = 0
    const State before = this->trainer_.state();
    this->trainer_.move(this->step_ * (this->f() - this->y_));
    State now = this->trainer_.state();
    const auto coast = [&](auto& place, auto& moved, const auto& last) {
      place += momentum_ * moved;
      moved = place - last;
    };
    coast(now.Z, moved_.Z, before.Z);
    coast(now.sum, moved_.sum, before.sum);
    coast(now.W, moved_.W, before.W);
    now.f = outputs_of(now.Z);
    this->trainer_.restore(now);
    this->path_length += length();
    this->time += this->step_;
    return 1;
  }

  Snapshot snapshot() const override {
    Snapshot all = Descent<T>::snapshot();
    all["moved Z"] = moved_.Z.template cast<double>();
    all["moved sum"] = moved_.sum.template cast<double>();
    all["moved W"] = moved_.W.template cast<double>();
    return all;
  }
  void restore(const Snapshot& from) override {
    Descent<T>::restore(from);
    moved_ = {from.at("moved Z").template cast<T>(),
              from.at("moved sum").template cast<T>(),
              from.at("moved W").template cast<T>(),
              {}};
  }

 private:
  using State = typename Trainer<T>::State;

  // phi(Z) v, by tiles of fixed size, so that its bits do not depend on the number of threads.
  Vector outputs_of(const Columns<T>& Z) const {
    constexpr Index kTile = 128;
    const Index m = Z.cols(), tiles = (m + kTile - 1) / kTile;
    const Eigen::Matrix<T, Eigen::Dynamic, 1> v = this->v_.template cast<T>();
    Columns<T> partial = Columns<T>::Zero(Z.rows(), tiles);
#pragma omp parallel for if (tiles > 1)
    for (Index t = 0; t < tiles; ++t)
      passes::outputs(phi_, Z.col(t * kTile).data(), Z.rows(), std::min(kTile, m - t * kTile),
                      v.data() + t * kTile, partial.col(t).data());
    Vector f = Vector::Zero(Z.rows());
    for (Index t = 0; t < tiles; ++t) f += partial.col(t).template cast<double>();
    return f;
  }

  // ||W_{k+1} - W_k||_F; in Gram space that of diag(v) T^T X, where T moves by D and Z by -X X^T D diag(v).
  double length() const {
    if (moved_.W.size() > 0) return moved_.W.template cast<double>().norm();
    double squares = 0;
    for (Index j = 0; j < moved_.Z.cols(); ++j)
      squares -= this->v_(j) *
                 moved_.sum.col(j).template cast<double>().dot(moved_.Z.col(j).template cast<double>());
    return std::sqrt(std::max(0.0, squares));  // may round below 0
  }

  Phi phi_;
  T momentum_;
  State moved_;  // by the last step
};

template <class T>
std::unique_ptr<TwoLayerOptimizer> make_momentum(const Beginning<T>& b) {
  return std::make_unique<HeavyBall<T>>(b);
}

// e_{k+1} = (1 + momentum - step h) e_k - momentum e_{k-1} with e_0 = e_{-1} = 1; its square at k.
double momentum_left(double h, double step, const FitOptions& options, double k) {
  Eigen::Matrix2d power{{1 + options.momentum - step * h, -options.momentum}, {1, 0}};
  Eigen::Vector2d e{1, 1};
  for (auto rest = static_cast<Index>(k); rest > 0; rest /= 2, power = (power * power).eval())
    if (rest % 2 == 1) e = (power * e).eval();
  return std::isfinite(e(0)) ? e(0) * e(0) : std::numeric_limits<double>::infinity();
}

}  // namespace

namespace methods {
extern constexpr Method momentum{
    {.name = "momentum", .note = "the heavy ball", .step = true, .momentum = true, .gram = true},
    make_momentum<double>,
    make_momentum<float>,
    momentum_left};
}

}  // namespace zeroloss::internal
