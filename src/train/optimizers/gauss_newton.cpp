#include <algorithm>
#include <memory>
#include <utility>

#include "train/engine/tangent_steps.hpp"
#include "train/optimizers/optimizers.hpp"

namespace zeroloss::internal {
namespace {

// Levenberg-Marquardt in the space of the points: (J J^T + mu I) c = r, W <- W - J^T c, which is the damped
// Gauss-Newton step of the m d weights. mu follows the gain ratio (Nielsen 1999): it falls up to threefold
// after a step that the linear model predicts well, and rises 2, 8, 64, ..-fold after rejected ones. It falls
// after fair steps too: relu's kinks lie at every scale, so that a gain of 1/4 is all there is at any mu, and
// a mu that rose with it would rise for ever. For the same reason the misfit may grow, as long as it stays
// well below one of the last few (Grippo, Lampariello, Lucidi 1986): who insists on each step's gain ends
// among kinks, between which steps grow ever shorter. And the slopes of relu are means over as much as
// pre-activations z are about to move: of all slopes s the one for which s delta is nearest to phi(z + delta)
// - phi(z) for normal delta is the mean of phi'(z + delta) (Stein's lemma), not phi'(z). Near a solution,
// where signs no longer change, they are phi'(z).
class GaussNewton : public TwoLayerOptimizer {
 public:
  GaussNewton(std::unique_ptr<TangentSteps> steps, const Problem& problem)
      : steps_(std::move(steps)), y_(problem.y), v_(problem.start.v) {}

  Index advance(Index, Index, Progress& progress) override {
    constexpr int kTries = 40;
    const Vector r = f() - y_;
    if (norms_.size() == 0) norms_ = Vector::Constant(kRemembered, r.norm());
    const double largest = steps_->form(spread_);
    if (mu_ == 0) mu_ = kStart * largest;
    if (!(mu_ > 0)) return 0;  // J = 0, or not finite
    for (int attempt = 0; attempt < kTries; ++attempt, mu_ *= std::exchange(rise_, 2 * rise_)) {
      const auto c = steps_->solve(mu_, r, enough(r.norm()), progress);
      if (!c) continue;
      const double length = steps_->move(*c);
      const double predicted = r.squaredNorm() - mu_ * mu_ * c->squaredNorm();  // r - K c = mu c
      const double now = (f() - y_).norm();
      const double gain = (r.squaredNorm() - now * now) / predicted;
      if (!(gain > kRejected || now < kFallen * norms_.maxCoeff())) {
        steps_->go_back();
        if (spread_ > 0) steps_->form(spread_ = 0);  // slopes that are means may point uphill
        continue;
      }
      const double slope = 2 * gain - 1;
      mu_ *= gain > kPoor ? std::clamp(1 - slope * slope * slope, 1.0 / 3, 0.7) : 2;
      rise_ = 2;
      const double left = now / r.norm();
      spread_ = left > kNear ? kSpread * std::min(left, 1.0) * steps_->moved() : 0;
      norms_.head(kRemembered - 1) = norms_.tail(kRemembered - 1).eval();
      norms_(kRemembered - 1) = now;
      before_ = r.norm();
      path_length += length;
      time += 1;
      return 1;
    }
    return 0;
  }

  // Near a solution a step divides the misfit by a thousand or more, and the margin of descent, which is
  // proved at a fraction of what existence takes, grows as much: with this many points both are several
  // steps' work. Not so where rounding is most of the misfit.
  bool goes_on(double reached) const override {
    return y_.size() >= kMany && before_ > reached && (f() - y_).norm() > kRounding * y_.norm();
  }

  const Vector& f() const override { return steps_->f(); }
  void refresh() override { steps_->refresh(); }
  TwoLayer network() const override { return {steps_->weights(), v_}; }
  Travel travel() const override { return steps_->travel(); }
  Snapshot snapshot() const override {
    Snapshot state = steps_->snapshot();
    Vector numbers(4 + norms_.size());
    numbers << mu_, rise_, before_, spread_, norms_;
    state["damping"] = numbers;
    return state;
  }
  void restore(const Snapshot& from) override {
    steps_->restore(from);
    const Vector numbers = from.at("damping").reshaped();
    mu_ = numbers(0);
    rise_ = numbers(1);
    if (numbers.size() > 2) before_ = numbers(2);  // not in older checkpoints
    if (numbers.size() < 4 + kRemembered) return;
    spread_ = numbers(3);
    norms_ = numbers.tail(kRemembered);
  }

 private:
  static constexpr double kStart = 1e-3;  // mu at the start, of the largest K_ii
  static constexpr Index kMany = 1000;
  static constexpr double kRejected = 0.02, kPoor = 0.1;  // gains
  static constexpr double kFallen = 0.9;                  // of the largest misfit that is remembered
  static constexpr double kNear = 0.1;                    // what a step leaves that is near a solution
  static constexpr double kSpread = 2.5;                  // in moves as large as the last one
  static constexpr double kRounding = 1e-14;              // of ||y||
  static constexpr Index kRemembered = 10;                // misfits

  // How much of ||r|| a step's equations may leave: as the last step's gain says that the next will leave
  // (Eisenstat and Walker 1996).
  double enough(double norm) const {
    constexpr double kRough = 0.2, kFair = 0.3, kSafety = 0.01;
    const double left = before_ > 0 ? norm / before_ : 1;
    return left > kFair ? kRough : std::clamp(kSafety * left * left, 1e-8, 1e-2);
  }

  std::unique_ptr<TangentSteps> steps_;
  const Vector& y_;
  Vector v_;
  double mu_ = 0, rise_ = 2;
  double before_ = 0;  // ||r|| before the last step
  double spread_ = 0;  // of slopes at the next
  Vector norms_;       // ||r|| at the last steps; the start's at first
};

std::unique_ptr<TwoLayerOptimizer> make_gauss_newton(const Beginning<double>& b) {
  const auto& [X, y, start, activation, points, distinct_y] = b.problem;
  return std::make_unique<GaussNewton>(b.options.engine != nullptr
                                           ? b.options.engine->begin(X, start, activation)
                                           : tangent_steps(X, b.points, start, activation, b.space),
                                       b.problem);
}

// A certificate comes between two steps, or after them.
double gauss_newton_bytes(const CheckedOptions& options, Index n, Index d, Space space) {
  const StepBytes steps =
      options.engine != nullptr ? StepBytes{} : tangent_step_bytes(n, d, options.width, space);
  return steps.kept +
         std::max(steps.at_work, options.proved ? certificate_bytes(n, d, options.width, options.engine) : 0);
}

}  // namespace

namespace methods {
extern constexpr Method gauss_newton{{.name = "gauss_newton",
                                      .note = "quickest to zero loss; n^2 memory",
                                      .tolerance = 1e-9,
                                      .gram = true,
                                      .device = true},
                                     make_gauss_newton,
                                     nullptr,
                                     nullptr,
                                     {},
                                     gauss_newton_bytes};
}

}  // namespace zeroloss::internal
