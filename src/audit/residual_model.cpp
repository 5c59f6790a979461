#include "audit/residual_model.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "audit/bootstrap.hpp"
#include "base/parallel_for.hpp"
#include "linalg/median.hpp"

namespace zeroloss::internal {
namespace {

constexpr double kFine = 0.02,
                 kCoarse = 0.15;  // of the targets' range: scales of residuals that say something
constexpr int kMostRounds = 300;
constexpr double kFreedom = 5;

double density_of_t(double x) {
  static const double height =
      std::tgamma((kFreedom + 1) / 2) / (std::sqrt(kFreedom * std::numbers::pi) * std::tgamma(kFreedom / 2));
  return height * std::pow(1 + x * x / kFreedom, -(kFreedom + 1) / 2);
}

/// Expectation maximisation of scale and rate; t is a normal whose precision is drawn, too.
/// The scale is `least` at least, and stays where it is `scaled`.
void fit_residuals(const Vector& x, const Vector& uniform, const Vector& weights, bool scaled, double least,
                   double& scale, double& rate, Vector& right) {
  const Index n = x.size();
  right.resize(n);
  for (int step = 0; step < kMostRounds; ++step) {
    double sum = 0, squares = 0, all = 0;
    for (Index i = 0; i < n; ++i) {
      const double z = x(i) / scale, inlier = (1 - rate) * density_of_t(z) / scale;
      right(i) = inlier / (inlier + rate * uniform(i));
      const double weight = weights(i) * right(i);
      sum += weight;
      all += weights(i);
      squares += weight * (kFreedom + 1) / (kFreedom + z * z) * x(i) * x(i);
    }
    const double before = rate;
    rate = std::clamp((all - sum) / all, 0.0, 0.5);
    if (!scaled && sum > 0) scale = std::max(least, std::sqrt(squares / sum));
    if (std::abs(rate - before) < 1e-9) break;
  }
}

struct Standardised {
  Vector x, uniform;
  Standardised(const Vector& residuals, const Vector& precision, double range)
      : x(residuals.array() * precision.array().sqrt()), uniform(1 / (range * precision.array().sqrt())) {}
};

}  // namespace

ResidualModel residual_model(const Vector& residuals, const Vector& precision, double range, double scale) {
  const Standardised s(residuals, precision, range);
  const Index n = residuals.size();
  // In units of x: what is too little to be looked for, and too much to tell right from wrong by.
  const double unit = range * precision.array().sqrt().mean(), least = kFine * unit;
  std::vector<double> sizes(s.x.begin(), s.x.end());
  for (double& size : sizes) size = std::abs(size);
  ResidualModel model{std::max(1.4826 * median(std::move(sizes)), least), 0.05, Vector::Ones(n)};
  if (scale > 0) model.scale = scale;
  model.least = least;
  fit_residuals(s.x, s.uniform, Vector::Ones(n), scale > 0, least, model.scale, model.rate, model.right);
  model.like_others = scale > 0;
  model.share = model.scale / unit;
  model.judges = model.share <= kCoarse;
  if (!model.judges) {
    model.rate = 0;
    model.right.setOnes();
    return model;
  }
  const double rate = std::max(model.rate, kLeastRate);
  for (Index i = 0; i < n; ++i) {
    const double right = (1 - rate) * density_of_t(s.x(i) / model.scale) / model.scale;
    model.right(i) = right / (right + rate * s.uniform(i));
  }
  return model;
}

Estimate estimate_rate(const Vector& residuals, const Vector& precision, double range,
                       const ResidualModel& model, Index draws, std::uint64_t seed) {
  if (!model.judges) return {0, 0, 1};
  const Standardised s(residuals, precision, range);
  draws = draws_for(residuals.size(), 1, draws);
  std::vector<double> sample(static_cast<std::size_t>(draws));
  parallel_for(draws, [&](Index b) {
    double scale = model.scale, rate = std::max(model.rate, 1e-3);
    Vector right;
    fit_residuals(s.x, s.uniform, drawn(s.x.size(), seed, b), model.like_others, model.least, scale, rate,
                  right);
    sample[static_cast<std::size_t>(b)] = rate;
  });
  Estimate rate = interval(model.rate, sample, 1);
  rate.high = std::max(rate.high, unseen(residuals.size()));
  return rate;
}

}  // namespace zeroloss::internal
