#include "memorize/balls.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "linalg/rounding.hpp"
#include "memorize/blocks.hpp"
#include "memorize/forward.hpp"
#include "memorize/tasks.hpp"

namespace zeroloss::internal {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kSingle = 0x1p-24;

/// An arithmetic: each operation is off by `unit` of its result, or by `tiny` where that is too small.
struct Arithmetic {
  double unit, tiny, largest;
  /// The relative error of `count` roundings.
  double gamma(Index count) const {
    const double sum = static_cast<double>(count) * unit;
    return sum < 0.5 ? sum / (1 - sum) * kUp : kNever;
  }
};

constexpr Arithmetic kReal{0, 0, kNever}, kDouble{u, kTiny, 0x1p1022}, kFloat{kSingle, 0x1p-126, 0x1p126};

bool is_silent_row(const Eigen::Ref<const RowMatrix>& U, const Eigen::Ref<const Vector>& s, Index a) {
  return s(a) <= 0 && U.row(a).isZero(0);  // it fills the last block
}

Vector row_lengths(const RowMatrix& U) {
  Vector lengths(U.rows());
  for (Index a = 0; a < U.rows(); ++a) lengths(a) = length_up(U.row(a).transpose());
  return lengths;
}

float float_up(double x) {
  return std::nextafter(static_cast<float>(x), std::numeric_limits<float>::infinity());
}

/// A point between two blocks: no execution has a hidden state further from h than its reach.
struct State {
  Eigen::Map<Vector> h;
  std::array<double, kExecutions> reach;
};

/// Values of relu neurons and their errors; an execution in which one is silent has the error 0 for it.
struct Activations {
  Vector value;
  std::array<Vector, kExecutions> error;
  std::array<bool, kExecutions> any;  ///< whether one may be awake
};

class Evaluation {
 public:
  Evaluation(const Memorizer& network, const Columns& columns)
      : network_(network),
        single_(network.precision == "float32"),
        arithmetic_{kReal, single_ ? kFloat : kDouble},
        norms_(row_lengths(network.U)),
        output_norms_(row_lengths(network.U_out)),
        longest_(std::max(norms_.maxCoeff(), output_norms_.maxCoeff())) {
    const Index k = network.hidden();
    const double room = 3 * kFloat.gamma(k + 8);
    U_ = network.U.cast<float>();
    s_.resize(norms_.size());
    float_norms_.resize(norms_.size());
    for (Index a = 0; a < norms_.size(); ++a) {
      const double s = network.s(a);
      s_(a) = is_silent_row(network.U, network.s, a) ? -1.0F : float_up(s + std::abs(s) * room + 0x1p-80);
      float_norms_(a) = float_up(norms_(a));
    }
    screened_ = longest_ < kScreened && network.s.cwiseAbs().maxCoeff() < kScreened * kScreened;
    weights_ = network.A_0.cwiseAbs().colwise().maxCoeff().transpose();
    shift_ = network.b_0.size() > 0 ? network.b_0.cwiseAbs().maxCoeff() : 0;
    if (single_) {
      exact_ = true;
      for (Index a = 0; a < k && exact_; ++a)
        exact_ = is_exact_sum(columns, network.A_0.row(a).transpose(), shift_ > 0 ? network.b_0(a) : 0);
    }
  }

  bool first_layer_is_exact() const { return exact_; }

  /// How far h_0 of each execution is from what doubles find for the point x.
  std::array<double, kExecutions> first_reach(const Eigen::Ref<const Vector>& x) const {
    if (exact_) return {0, 0};
    const Index terms = network_.d() + 1;
    const auto k = static_cast<double>(network_.hidden()), count = static_cast<double>(terms);
    const double size = (weights_.dot(x.cwiseAbs()) + shift_) * kUp;
    std::array<double, kExecutions> reach{};
    for (const Execution e : {kExact, kOwn}) {
      const Arithmetic& own = arithmetic_[e];
      const double off =
          size * (kDouble.gamma(terms) + own.gamma(terms)) + 2 * count * (own.tiny + kDouble.tiny);
      reach[e] = size < own.largest ? std::sqrt(k) * off * kUp : kNever;
    }
    return reach;
  }

  /// h <- h + V_j relu(U_j h + s_j); whether the exact one may move.
  bool advance(Index block, State& state, Activations& work) const {
    const Index k = network_.hidden(), first = block * k;
    activate(network_.U.middleRows(first, k), network_.s.segment(first, k), norms_.segment(first, k), state,
             work);
    if (!work.any[kExact] && !work.any[kOwn]) return false;
    Vector moved = state.h;
    for (const Execution e : {kExact, kOwn})
      if (work.any[e])
        state.reach[e] =
            lost_or(state.reach[e] + length_up(output_errors(network_.V.middleRows(first, k),
                                                             state.h.cwiseAbs(), state.reach[e], e, work)));
    moved.noalias() += network_.V.middleRows(first, k) * work.value;
    state.h = moved;
    return work.any[kExact];
  }

  void finish(const State& state, Index row, Activations& work, OutputBalls& balls) const {
    activate(network_.U_out, network_.s_out, output_norms_, state, work);
    balls.centers.row(row).noalias() = (network_.V_out * work.value).transpose();
    const Vector nothing = Vector::Zero(network_.outputs());
    for (const Execution e : {kExact, kOwn})
      balls.errors[e].row(row) = state.reach[e] < kNever
                                     ? output_errors(network_.V_out, nothing, 0, e, work).transpose().eval()
                                     : Vector::Constant(network_.outputs(), kNever).transpose().eval();
  }

  /// What screen() adds to the products of a point, times the rows' lengths.
  float float_reach(const State& state) const {
    constexpr float kSilent = -1e30F;  // a lost point is not looked at any more
    double reach = -1;
    for (const double r : state.reach)
      if (r < kNever) reach = std::max(reach, r);
    if (reach < 0) return kSilent;
    const double room = 3 * kFloat.gamma(network_.hidden() + 8);
    return float_up((reach + room * (length_up(state.h) + reach)) * (1 + 0x1p-20));
  }

  bool screens(const State& state) const { return screened_ && length_up(state.h) < kScreened; }
  blocks::Screen screen() const {
    return {network_.hidden(), network_.blocks(), U_.data(), s_.data(), float_norms_.data()};
  }

 private:
  static constexpr double kScreened =
      0x1p40;  ///< products of such numbers do not overflow, nor vanish beside 2^-80

  double lost_or(double reach) const { return reach < 4 * longest_ ? reach : kNever; }

  void activate(const Eigen::Ref<const RowMatrix>& U, const Eigen::Ref<const Vector>& s,
                const Eigen::Ref<const Vector>& norms, const State& state, Activations& work) const {
    const Index terms = U.cols() + 1;
    const auto count = static_cast<double>(terms);
    const double length = length_up(state.h);
    work.value.noalias() = U * state.h + s;
    for (const Execution e : {kExact, kOwn}) {
      const Arithmetic& own = arithmetic_[e];
      const double gamma = kDouble.gamma(terms) + own.gamma(terms), reach = state.reach[e];
      const double tiny = 2 * count * (own.tiny + kDouble.tiny);
      work.error[e].setZero(U.rows());
      work.any[e] = false;
      if (reach == kNever) continue;
      for (Index a = 0; a < U.rows(); ++a) {
        if (norms(a) < 0x1p-500 && is_silent_row(U, s, a)) continue;
        const double size = norms(a) * (length + reach) + std::abs(s(a));
        const double error = size < own.largest ? (norms(a) * reach + gamma * size + tiny) * kUp : kNever;
        if (work.value(a) + error <= 0) continue;
        work.error[e](a) = error;
        work.any[e] = true;
      }
    }
    work.value = work.value.cwiseMax(0);
  }

  /// How far sums base + V r of an execution are from what doubles find for them, base being off by `reach`.
  Vector output_errors(const Eigen::Ref<const RowMatrix>& V, const Eigen::Ref<const Vector>& base,
                       double reach, Execution e, const Activations& work) const {
    const Arithmetic& own = arithmetic_[e];
    const Index terms = V.cols() + 2;
    const double gamma = kDouble.gamma(terms) + own.gamma(terms);
    const double tiny = 2 * static_cast<double>(terms) * (own.tiny + kDouble.tiny);
    Vector errors(V.rows());
    for (Index j = 0; j < V.rows(); ++j) {
      double spread = 0, size = base(j) + reach;
      for (Index a = 0; a < V.cols(); ++a) {
        if (work.value(a) == 0 && work.error[e](a) == 0) continue;
        const double weight = std::abs(V(j, a));
        spread += weight * work.error[e](a);
        size += weight * (work.value(a) + work.error[e](a));
      }
      errors(j) = size < own.largest ? (spread + gamma * size * kUp + tiny) * kUp : kNever;
    }
    return errors;
  }

  const Memorizer& network_;
  bool single_, exact_ = false, screened_ = false;
  std::array<Arithmetic, kExecutions> arithmetic_;
  Vector norms_, output_norms_;  ///< of the rows of U and U_out, rounded up
  double longest_, shift_ = 0;
  Vector weights_;  ///< largest |A_0| of each column
  Rows<float> U_;
  Eigen::VectorXf s_, float_norms_;
};

}  // namespace

// Squares that vanish are below 2^-1022 each.
double length_up(const Eigen::Ref<const Vector>& h) {
  return (h.norm() + std::sqrt(static_cast<double>(h.size())) * 0x1p-511) * kUp;
}

void each_ball(const Memorizer& network, const RowMatrix& X, const Columns& columns, Progress& progress,
               const UseBalls& use) {
  constexpr Index kTile = 512;
  const Index n = X.rows(), k = network.hidden(), r = network.outputs();
  const bool single = network.precision == "float32";
  const Evaluation evaluation(network, columns);
  Memorizer first;  // in doubles; floats where they are exact
  if (evaluation.first_layer_is_exact()) first.precision = "float32";
  first.A_0 = network.A_0, first.b_0 = network.b_0;
  progress.stage("proof", static_cast<double>(n));
  const auto work = [&](Index tile) {
    const Index begin = tile * kTile, count = std::min(kTile, n - begin);
    RowMatrix x = X.middleRows(begin, count);
    if (single && first.precision != "float32") x = x.cast<float>().cast<double>();
    Progress silent = progress.silent();
    RowMatrix h = first_layer(first, x, silent);
    const Index places = (count + blocks::kPoints - 1) / blocks::kPoints * blocks::kPoints;
    Rows<float> screened = Rows<float>::Zero(k, places);
    Eigen::VectorXf reach = Eigen::VectorXf::Constant(places, -1e30F);
    OutputBalls balls;
    balls.first = begin;
    balls.centers.resize(count, r);
    balls.errors.fill(Matrix(count, r));
    balls.moved_by.assign(static_cast<std::size_t>(count), -1);
    balls.activations = balls.activation_errors = RowMatrix::Zero(count, k);
    std::vector<State> states;
    const auto show = [&](Index i) {  // what screen() sees of a point
      State& state = states[static_cast<std::size_t>(i)];
      if (!evaluation.screens(state)) state.reach = {kNever, kNever};
      reach(i) = evaluation.float_reach(state);
      if (reach(i) >= 0) screened.col(i) = state.h.cast<float>();
    };
    for (Index i = 0; i < count; ++i) {
      states.push_back(
          {Eigen::Map<Vector>(h.row(i).data(), k), evaluation.first_reach(x.row(i).transpose())});
      show(i);
    }
    Activations activations;
    blocks::screen(evaluation.screen(), places, screened.data(), reach.data(), [&](Index block, Index i) {
      if (i >= count || reach(i) < 0) return;
      Index& mover = balls.moved_by[static_cast<std::size_t>(i)];
      if (evaluation.advance(block, states[static_cast<std::size_t>(i)], activations)) {
        mover = mover == -1 ? block : -2;
        balls.activations.row(i) = activations.value.transpose();
        balls.activation_errors.row(i) = activations.error[kExact].transpose();
      }
      show(i);
    });
    for (Index i = 0; i < count; ++i)
      evaluation.finish(states[static_cast<std::size_t>(i)], i, activations, balls);
    balls.reach.resize(count);
    for (Index i = 0; i < count; ++i) balls.reach(i) = states[static_cast<std::size_t>(i)].reach[kExact];
    balls.states = std::move(h);
    use(balls);
  };
  in_batches((n + kTile - 1) / kTile, static_cast<double>(kTile), progress, work,
             [](Index, Index) { return true; });
}

}  // namespace zeroloss::internal
