#include <boost/numeric/odeint/stepper/controlled_runge_kutta.hpp>
#include <boost/numeric/odeint/stepper/generation.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta_dopri5.hpp>
#include <cmath>
#include <vector>

#include "train/optimizers/optimizers.hpp"

namespace zeroloss::internal {
namespace {

// dW/dt = -J^T r by Dormand and Prince's embedded pair; the integrator's own error control chooses the steps.
class GradientFlow : public TwoLayerOptimizer {
 public:
  using State = std::vector<double>;

  GradientFlow(const Points<double>& points, const Problem& problem, double tolerance)
      : trainer_(points, problem.start, problem.activation, Space::weights),
        y_(problem.y),
        v_(problem.start.v),
        rows_(problem.start.W.rows()),
        W_(problem.start.W.data(), problem.start.W.data() + problem.start.W.size()),
        stepper_(boost::numeric::odeint::make_controlled(
            tolerance, tolerance, boost::numeric::odeint::runge_kutta_dopri5<State>())) {}

  Index advance(Index, Index, Progress& progress) override {
    constexpr double kStart = 1e-3;  // of a time over which the outputs could change by their own size
    if (dt_ == 0) dt_ = kStart * (f() - y_).norm() / trainer_.normal_product(f() - y_).norm();
    if (!std::isfinite(dt_)) return 0;  // r = 0 or J^T r = 0
    const auto velocity = [&](const State& W, State& dW, double) {
      trainer_.place(as_rows(W));
      Eigen::Map<RowMatrix>(dW.data(), rows_, columns()) = -trainer_.gradient(f() - y_);
    };
    const State before = W_;
    while (stepper_.try_step(velocity, W_, time, dt_) == boost::numeric::odeint::fail) {
      if (dt_ > 1e-15 * (time + dt_) && !progress.cancelled()) continue;
      refresh();  // from the integrator's trial to where it stands
      progress.check();
      return 0;  // it cannot meet its tolerance
    }
    trainer_.place(as_rows(W_));
    path_length += (as_rows(W_) - as_rows(before)).norm();
    return 1;
  }

  const Vector& f() const override { return trainer_.f(); }
  void refresh() override { trainer_.place(as_rows(W_)); }
  TwoLayer network() const override { return {as_rows(W_), v_}; }
  Travel travel() const override { return trainer_.travel(); }
  Snapshot snapshot() const override { return {{"W", as_rows(W_)}, {"dt", Matrix::Constant(1, 1, dt_)}}; }
  void restore(const Snapshot& from) override {
    Eigen::Map<RowMatrix>(W_.data(), rows_, columns()) = from.at("W");
    dt_ = from.at("dt")(0, 0);
    trainer_.place(as_rows(W_));
    stepper_.reset();
  }

 private:
  Index columns() const { return static_cast<Index>(W_.size()) / rows_; }
  Eigen::Map<const RowMatrix> as_rows(const State& W) const { return {W.data(), rows_, columns()}; }

  Trainer<double> trainer_;
  const Vector& y_;
  Vector v_;
  Index rows_;
  State W_;
  double dt_ = 0;
  boost::numeric::odeint::controlled_runge_kutta<boost::numeric::odeint::runge_kutta_dopri5<State>> stepper_;
};

std::unique_ptr<TwoLayerOptimizer> make_flow(const Beginning<double>& b) {
  return std::make_unique<GradientFlow>(b.points, b.problem, b.options.flow_tolerance);
}

// exp(-h t)^2.
double flow_left(double h, double, const FitOptions&, double t) { return std::exp(2 * t * -h); }

constexpr std::string_view kBesideFlow[] = {"dzps_3_1"};

}  // namespace

namespace methods {
extern constexpr Method flow{
    {.name = "flow", .note = "gradient flow", .flow = true}, make_flow, nullptr, flow_left, kBesideFlow};
}

}  // namespace zeroloss::internal
