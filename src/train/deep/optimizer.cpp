#include "train/deep/optimizer.hpp"

#include <algorithm>
#include <limits>

#include "deep/levenberg_marquardt.hpp"
#include "train/deep/engine.hpp"
#include "train/optimizers/batches.hpp"
#include "train/optimizers/optimizers.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/kernel/spectrum.hpp"

namespace zeroloss::internal {
namespace {

// Calls visit(numbers) for all weights, in order.
template <class Network, class Visit>
void each_weight(Network& network, const Visit& visit) {
  for (auto& layer : network.layers) {
    visit(layer.W);
    visit(layer.b);
    visit(layer.U);
    visit(layer.bU);
  }
  visit(network.V);
  visit(network.c);
}

// ||w_j - w_j(0)|| of the unit that is farthest, and all weights' distance.
Travel travel_between(const DeepNetwork& now, const DeepNetwork& start) {
  Travel travel;
  for (std::size_t l = 0; l < now.layers.size(); ++l)
    travel.max_distance =
        std::max(travel.max_distance, (now.layers[l].W - start.layers[l].W).rowwise().norm().maxCoeff());
  travel.distance = distance(now, start);
  return travel;
}

double flipped(const std::vector<bool>& now, const std::vector<bool>& start) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < now.size(); ++i) count += now[i] != start[i] ? 1 : 0;
  return static_cast<double>(count) / static_cast<double>(std::max<std::size_t>(now.size(), 1));
}

// gd, momentum (the heavy ball, from rest) and sgd: steps along J^T r.
template <class T>
class DeepDescent : public DeepOptimizer {
 public:
  DeepDescent(const DeepBeginning& b, double chosen, Progress& progress)
      : engine_(b.start, b.X, b.moving),
        start_(b.start),
        Y_(b.Y.cast<T>()),
        momentum_(b.options.method->facts.momentum ? b.options.momentum : 0),
        batch_(b.options.method->facts.batch ? b.options.batch : 0),
        batches_(b.X.rows(), std::max<Index>(batch_, 1), b.options.seed, b.index) {
    refresh();
    signs_ = engine_.signs();
    if (momentum_ > 0) moved_ = Flat::Zero(engine_.weights.size());
    step = chosen > 0                                     ? chosen
           : b.options.rule.kind == Step::Kind::automatic ? auto_step(progress)
                                                          : b.options.rule.value;
  }

  Index advance(Index done, Index most, Progress&) override {
    if (step == 0) return 0;  // J = 0
    if (batch_ > 0) return pass(done, most);
    Flat move = static_cast<T>(-step) * engine_.gradient(engine_.f() - Y_);
    if (momentum_ > 0) {
      move += static_cast<T>(momentum_) * moved_;
      moved_ = move;
    }
    take(move);
    refresh();
    return 1;
  }

  const Vector& f() const override { return f_; }
  void refresh() override { f_ = engine_.forward().template cast<double>().reshaped(); }
  DeepNetwork network() const override { return engine_.network(); }
  Travel travel() const override {
    Travel travel = travel_between(network(), start_);
    travel.flipped_fraction = flipped(engine_.signs(), signs_);
    return travel;
  }
  Snapshot snapshot() const override {
    Snapshot all{{"weights", engine_.weights.template cast<double>()}};
    if (momentum_ > 0) all["moved"] = moved_.template cast<double>();
    return all;
  }
  void restore(const Snapshot& from) override {
    const Matrix& weights = from.at("weights");
    if (weights.size() != engine_.weights.size())
      throw DataError("damaged checkpoint: weights are missing; remove it to begin anew");
    engine_.weights = weights.reshaped().cast<T>();
    if (momentum_ > 0) moved_ = from.at("moved").reshaped().cast<T>();
    refresh();
  }

 private:
  using Flat = typename DeepEngine<T>::Flat;
  using Numbers = typename DeepEngine<T>::Numbers;

  void take(const Flat& move) {
    engine_.weights += move;
    path_length += move.template cast<double>().norm();
    time += step;
  }

  Index pass(Index done, Index most) {
    const Index n = engine_.points(), count = std::min(most, (n + batch_ - 1) / batch_);
    for (Index k = 0; k < count; ++k) {
      const std::vector<Index> rows = batches_.draw(done + k);
      const Numbers residual = engine_.forward(rows) - Y_(rows, Eigen::all);
      take(static_cast<T>(-step) * engine_.gradient(residual));
    }
    refresh();
    return count;
  }

  double auto_step(const Progress& progress) {
    const Index n = engine_.points(), K = engine_.outputs();
    const Operator normal = [&](const Matrix& V) {
      progress.check();
      Matrix result(V.rows(), V.cols());
      for (Index b = 0; b < V.cols(); ++b) {
        const Numbers R = V.col(b).reshaped(n, K).template cast<T>();
        result.col(b) = engine_.derivative(engine_.gradient(R)).template cast<double>().reshaped();
      }
      return result;
    };
    constexpr double kAccuracy = 1e-3;
    Matrix start(n * K, 1);
    Random(0, Stream::start).fill_normal(start);
    double norm_squared = block_lanczos(normal, start, 1, 50, kAccuracy).values.tail(1).value();
    if (batch_ > 0)
      norm_squared = std::min(norm_squared, engine_.row_squares().maxCoeff() * static_cast<double>(batch_));
    return norm_squared > 0 ? 1.5 / norm_squared : 0;
  }

  DeepEngine<T> engine_;
  DeepNetwork start_;
  Numbers Y_;
  double momentum_;
  Index batch_;  // 0: all points
  Batches batches_;
  Flat moved_;  // the last step
  Vector f_;
  std::vector<bool> signs_;
};

// Levenberg-Marquardt with chord steps, on distinct points.
class DeepGaussNewton : public DeepOptimizer {
 public:
  explicit DeepGaussNewton(const DeepBeginning& b)
      : start_(b.start), X_(b.X), all_(b.X.rows() == b.equations.X.rows()), descent_(b.start, b.equations) {
    refresh();
    signs_ = signs();
  }

  Index advance(Index, Index, Progress& progress) override {
    const DeepNetwork before = descent_.network();
    if (!descent_.step(std::numeric_limits<Index>::max(), progress)) return 0;
    path_length += distance(descent_.network(), before);
    time += 1;
    refresh();
    return 1;
  }

  const Vector& f() const override { return f_; }
  void refresh() override {
    if (all_)
      f_ = descent_.pass().f.reshaped();
    else
      f_ = forward(descent_.network(), X_).f.reshaped();
  }
  DeepNetwork network() const override { return descent_.network(); }
  Travel travel() const override {
    Travel travel = travel_between(descent_.network(), start_);
    travel.flipped_fraction = flipped(signs(), signs_);
    return travel;
  }
  Snapshot snapshot() const override {
    const auto damping = descent_.damping();
    Snapshot all{{"weights", flat_weights(descent_.network())},
                 {"damping", Vector{{damping.damping, damping.worse, damping.mu,
                                     static_cast<double>(damping.factorizations)}}}};
    if (descent_.factored() != nullptr) all["factored"] = flat_weights(*descent_.factored());
    return all;
  }
  void restore(const Snapshot& from) override {
    const Matrix& kept = from.at("damping");
    Progress silent;
    DeepNetwork factored = start_;
    const auto known = from.find("factored");
    if (known != from.end()) factored = with_weights(factored, known->second);
    descent_.restore(with_weights(start_, from.at("weights")),
                     {kept(0), kept(1), kept(2), static_cast<Index>(kept(3))},
                     known != from.end() ? &factored : nullptr, silent);
    refresh();
  }

 private:
  std::vector<bool> signs() const {
    std::vector<bool> all;
    for (const LayerValues& layer : descent_.pass().layers)
      for (Index i = 0; i < layer.z.size(); ++i) all.push_back(layer.z.data()[i] >= 0);
    return all;
  }

  DeepNetwork start_;
  const RowMatrix& X_;
  bool all_;  // points are distinct
  LevenbergMarquardt descent_;
  Vector f_;
  std::vector<bool> signs_;
};

}  // namespace

Matrix flat_weights(const DeepNetwork& network) {
  Vector flat(parameters(network));
  Index at = 0;
  each_weight(network, [&](const auto& numbers) {
    std::copy(numbers.data(), numbers.data() + numbers.size(), flat.data() + at);
    at += numbers.size();
  });
  return flat;
}

DeepNetwork with_weights(DeepNetwork network, const Matrix& flat) {
  if (flat.size() != parameters(network))
    throw DataError("damaged checkpoint: weights are missing; remove it to begin anew");
  Index at = 0;
  each_weight(network, [&](auto& numbers) {
    std::copy(flat.data() + at, flat.data() + at + numbers.size(), numbers.data());
    at += numbers.size();
  });
  return network;
}

std::unique_ptr<DeepOptimizer> make_deep(const DeepBeginning& beginning, double step, Progress& progress) {
  if (!beginning.options.method->facts.step) return std::make_unique<DeepGaussNewton>(beginning);
  if (beginning.options.precision == "float32")
    return std::make_unique<DeepDescent<float>>(beginning, step, progress);
  return std::make_unique<DeepDescent<double>>(beginning, step, progress);
}

}  // namespace zeroloss::internal
