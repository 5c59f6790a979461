#include "deep/levenberg_marquardt.hpp"

#include <algorithm>
#include <cmath>

#include "deep/equations.hpp"
#include "linalg/tiled.hpp"

namespace zeroloss::internal {
namespace {

constexpr double kMostDamping = 1e6;  // steps are so short then that none helps

}  // namespace

LevenbergMarquardt::LevenbergMarquardt(const DeepNetwork& network, const DeepEquations& equations)
    : equations_(equations),
      moving_(moving_layers(network, equations)),
      weights_(root_counts(equations)),
      size_(std::max((weights_.asDiagonal() * equations.Y.rowwise().norm()).norm(), 1e-300)) {
  require_gram_memory(network, moving_, equations.X.rows(), 1, "Gauss-Newton");
  at_ = at(network);
}

LevenbergMarquardt::At LevenbergMarquardt::at(DeepNetwork network) const {
  At next{std::move(network), {}, Vector(equations_.Y.size()), 0};
  next.pass = forward(next.network, equations_.X);
  const Index K = equations_.Y.cols();
  for (Index i = 0; i < equations_.Y.rows(); ++i)
    next.residual.segment(i * K, K) = weights_(i) * (next.pass.f.row(i) - equations_.Y.row(i)).transpose();
  next.misfit = next.residual.norm();
  return next;
}

LevenbergMarquardt::At LevenbergMarquardt::moved_by(const Vector& q) const {
  return at(moved(at_.network, at_.pass, back_, moving_, weights_, q));
}

bool LevenbergMarquardt::factor(Progress& progress) {
  tangent_gram(at_.network, at_.pass, back_, moving_, weights_, L_);
  mu_ = damping_ * L_.diagonal().mean();
  L_.diagonal().array() += mu_;
  return tiled::factor(L_, progress);
}

// Where phi has kinks the misfit can fall along an edge that every short step crosses: steps of a fixed
// damping go over it, and are taken as soon as one is below where they began.
bool LevenbergMarquardt::across_kinks(Index most, Progress& progress) {
  constexpr int kSteps = 20;
  constexpr Index kFew = 5000;  // equations whose factorisation is a second
  const bool kinked = std::any_of(at_.network.layers.begin(), at_.network.layers.end(),
                                  [](const Layer& layer) { return !activation_of(layer).smooth(); });
  if (!kinked) return false;
  const At best = at_;
  const Damping before = damping();
  const auto back = [&] {
    at_ = best;
    back_ = {};
    damping_ = before.damping;
    mu_ = before.mu;
  };
  try {
    for (const double damping : {1.0, 0.1, 0.01, 10.0}) {
      if (damping < 1 && at_.residual.size() > kFew) break;
      at_ = best;
      damping_ = damping;
      for (int k = 0; k < kSteps && factorizations_ < most; ++k) {
        progress.check();
        back_ = backward(at_.network, at_.pass, moving_, weights_);
        ++factorizations_;
        if (!factor(progress)) break;
        Vector q = at_.residual;
        tiled::solve(L_, q);
        at_ = moved_by(q);
        if (!(at_.misfit < 2 * best.misfit)) break;
        if (at_.misfit < 0.99 * best.misfit) {
          back_ = {};
          worse_ = 4;
          return true;
        }
      }
    }
  } catch (...) {
    back();
    factorizations_ = before.factorizations;
    throw;
  }
  back();
  return false;
}

bool LevenbergMarquardt::step(Index most, Progress& progress) {
  constexpr double kSlowest = 0.5;  // a chord step that leaves more is worth a new factorisation
  constexpr double kNoise = 1e-10;  // of the targets: below this a step that does not help is rounding
  const auto take = [&](At next) {
    at_ = std::move(next);
    back_ = {};
    return true;
  };
  for (;;) {
    progress.check();
    if (back_.g.empty()) back_ = backward(at_.network, at_.pass, moving_, weights_);
    if (usable_) {
      Vector q = at_.residual;
      tiled::solve(L_, q);
      At next = moved_by(q);
      const double left = next.misfit / at_.misfit;
      usable_ = left <= kSlowest;
      if (left < 1) return take(std::move(next));
      if (at_.misfit <= kNoise * size_) return false;
      continue;
    }
    if (!(damping_ < kMostDamping)) return across_kinks(most, progress);
    if (factorizations_ == most) return false;
    const bool definite = factor(progress);  // what is interrupted is done again
    ++factorizations_;
    if (!definite) {
      damping_ = std::max(damping_ * 10, 1e-14);
      continue;
    }
    Vector q = at_.residual;
    tiled::solve(L_, q);
    At next = moved_by(q);
    // The linear network's residual is mu q.
    const double predicted = std::pow(at_.misfit, 2) - std::pow(mu_ * q.norm(), 2);
    const double gain = (std::pow(at_.misfit, 2) - std::pow(next.misfit, 2)) / predicted;
    if (!(gain > 0.1)) {
      if (at_.misfit <= kNoise * size_ && !(next.misfit < at_.misfit)) return false;
      damping_ *= worse_;
      worse_ *= 2;
      continue;
    }
    worse_ = 4;
    damping_ = gain > 0.9 ? damping_ / 100 : gain > 0.6 ? damping_ / 5 : damping_;
    usable_ = next.misfit <= kSlowest * at_.misfit;
    if (usable_) factored_ = at_.network;
    return take(std::move(next));
  }
}

void LevenbergMarquardt::restore(DeepNetwork network, const Damping& damping, const DeepNetwork* factored,
                                 Progress& progress) {
  back_ = {};
  if (factored != nullptr) {
    at_ = at(*factored);
    factored_ = *factored;
    back_ = backward(at_.network, at_.pass, moving_, weights_);
    tangent_gram(at_.network, at_.pass, back_, moving_, weights_, L_);
    L_.diagonal().array() += damping.mu;
    tiled::factor(L_, progress);
    back_ = {};
  }
  usable_ = factored != nullptr;
  at_ = at(std::move(network));
  damping_ = damping.damping;
  worse_ = damping.worse;
  mu_ = damping.mu;
  factorizations_ = damping.factorizations;
}

}  // namespace zeroloss::internal
