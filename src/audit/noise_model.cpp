#include "audit/noise_model.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "core/median.hpp"
#include "zeroloss/core/random.hpp"
#include "zeroloss/core/threads.hpp"

namespace zeroloss::internal {
namespace {

constexpr double kFewPseudo = 10;
constexpr double kFine = 0.02,
                 kCoarse = 0.15;     // of the targets' range: scales of residuals that say something
constexpr double kLeastRate = 0.01;  // that scores are made with
constexpr double kFloor = 0.1;       // of the logarithm
constexpr int kMostSteps = 300;
constexpr int kStepsOfADraw = 24;
constexpr double kFreedom = 5;

/// softmax(sharpness F), row by row.
Matrix softmax(const Matrix& F, double sharpness) {
  Matrix S = sharpness * F;
  S.colwise() -= S.rowwise().maxCoeff().eval();
  S = S.array().exp();
  S.array().colwise() /= S.rowwise().sum().array().eval();
  return S;
}

/// Expectation maximisation over weighted samples.
class Fit {
 public:
  Fit(const Matrix& F, const std::vector<Index>& labels, double pseudo)
      : F_(F), labels_(labels), pseudo_(pseudo) {}

  double sharpness = 8;
  Matrix T;  // c x c

  void begin() {
    const Index c = F_.cols();
    T = Matrix::Constant(c, c, 0.1 / static_cast<double>(c - 1));
    T.diagonal().setConstant(0.9);
  }

  /// Until the rate moves by less than 1e-7 and the sharpness by less than `least` of itself, `most` steps at
  /// most. `stride`: what the sharpness is changed by at first.
  void run(const Vector& weights, int most, double stride, double least) {
    Matrix S = softmax(F_, sharpness);
    double rate = -1;
    for (int step = 0; step < most; ++step) {
      const double now = transitions(S, weights);
      if (step % 3 == 0 && stride >= least) {
        sharpen(weights, stride);
        S = softmax(F_, sharpness);
      }
      if (std::abs(now - rate) < 1e-7 && stride < least) break;
      rate = now;
    }
  }

  /// n x c: P(class | x, label).
  Matrix classes() const {
    Matrix Q = softmax(F_, sharpness);
    for (Index i = 0; i < Q.rows(); ++i) {
      Q.row(i).array() *= T.col(label(i)).transpose().array();
      const double sum = Q.row(i).sum();
      if (sum > 0)
        Q.row(i) /= sum;
      else
        Q.row(i).setConstant(1 / static_cast<double>(Q.cols()));
    }
    return Q;
  }

 private:
  Index label(Index i) const { return labels_[static_cast<std::size_t>(i)]; }

  /// One step for T; returns the rate of wrong labels before it.
  double transitions(const Matrix& S, const Vector& weights) {
    const Index c = F_.cols();
    Matrix counts = Matrix::Zero(c, c);
    for (Index i = 0; i < S.rows(); ++i) {
      if (weights(i) == 0) continue;
      const Index k = label(i);
      const auto joint = S.row(i).transpose().cwiseProduct(T.col(k));
      const double sum = joint.sum();
      if (sum > 0) counts.col(k) += joint * (weights(i) / sum);
    }
    const double rate = 1 - counts.trace() / counts.sum();
    Matrix prior = Matrix::Constant(c, c, rate / static_cast<double>(c - 1));
    prior.diagonal().setConstant(1 - rate);
    counts += pseudo_ * prior;
    T = counts;
    T.array().colwise() /= counts.rowwise().sum().array();
    for (Index j = 0; j < c; ++j)
      if (const double right = T(j, j); right < 0.5) {  // else classes would be renamed
        T.row(j) *= 0.5 / (1 - right);
        T(j, j) = 0.5;
      }
    return rate;
  }

  double likelihood(const Vector& weights, double trial) const {
    double sum = 0;
    const Matrix S = softmax(F_, trial);
    for (Index i = 0; i < S.rows(); ++i)
      if (weights(i) > 0)
        sum += weights(i) * std::log(std::max(S.row(i).dot(T.col(label(i)).transpose()), 1e-300));
    return sum;
  }

  /// The better of a stride up, a stride down and staying, which halves the stride.
  void sharpen(const Vector& weights, double& stride) {
    const double here = likelihood(weights, sharpness);
    for (double sign : {1.0, -1.0}) {
      const double trial = std::clamp(sharpness * std::exp(sign * stride), 0.01, 1000.0);
      if (likelihood(weights, trial) > here + 1e-9 * std::abs(here)) {
        sharpness = trial;
        return;
      }
    }
    stride /= 2;
  }

  const Matrix& F_;
  const std::vector<Index>& labels_;
  double pseudo_;
};

/// How often each of n samples is drawn in n draws.
Vector drawn(Index n, std::uint64_t seed, Index index) {
  Random random(seed, Stream::probes, static_cast<std::uint64_t>(index));
  Vector weights = Vector::Zero(n);
  for (Index k = 0; k < n; ++k) weights(static_cast<Index>(random.below(static_cast<std::uint64_t>(n)))) += 1;
  return weights;
}

/// Fewer for many samples, whose intervals are narrow anyway.
Index draws_for(Index n, Index c, Index asked) {
  return std::min(asked, std::max<Index>(20, 4'000'000 / (n * c)));
}

Estimate interval(double value, const std::vector<double>& sample, double most) {
  const auto size = static_cast<double>(sample.size());
  const double mean = std::accumulate(sample.begin(), sample.end(), 0.0) / size;
  double squares = 0;
  for (double s : sample) squares += (s - mean) * (s - mean);
  const double half = 1.96 * std::sqrt(squares / (size - 1));
  return {value, std::max(0.0, value - half), std::min(most, value + half)};
}

/// The rate that n samples without a wrong label leave possible, with 95 %.
double unseen(Index n) { return -std::expm1(std::log(0.05) / static_cast<double>(n)); }

constexpr int kFits = 3;

/// L of a fit, and its pseudo-samples.
Matrix of_fit(const Matrix& F, int k) { return k == 1 ? Matrix((F.array().max(0.0) + kFloor).log()) : F; }
double pseudo_of_fit(Index n, int k) { return k == 2 ? kFewPseudo : static_cast<double>(n); }

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
  for (int step = 0; step < kMostSteps; ++step) {
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

NoiseFit fit_noise(const Matrix& L, const std::vector<Index>& labels, double pseudo, double sharpness) {
  Fit fit(L, labels, pseudo);
  fit.begin();
  if (sharpness > 0) fit.sharpness = sharpness;
  fit.run(Vector::Ones(L.rows()), kMostSteps, sharpness > 0 ? 0 : 0.4, 1e-3);
  return {fit.sharpness, fit.T, fit.classes(), softmax(L, fit.sharpness) * fit.T};
}

namespace {

/// Logarithm of the odds that each label is right, if at least kLeastRate of all are wrong.
Vector odds_of(const NoiseFit& fit, const Matrix& L, const std::vector<Index>& labels) {
  const Index n = L.rows(), c = L.cols();
  double right = 0;
  for (Index i = 0; i < n; ++i) right += fit.classes(i, labels[static_cast<std::size_t>(i)]);
  Matrix T = fit.transition;
  if (1 - right / static_cast<double>(n) < kLeastRate) {
    T.setConstant(kLeastRate / static_cast<double>(c - 1));
    T.diagonal().setConstant(1 - kLeastRate);
  }
  const Matrix S = softmax(L, fit.sharpness);
  Vector odds(n);
  for (Index i = 0; i < n; ++i) {
    const Index k = labels[static_cast<std::size_t>(i)];
    double others = 0;
    for (Index j = 0; j < c; ++j)
      if (j != k) others += S(i, j) * T(j, k);
    odds(i) = std::log(std::max(S(i, k) * T(k, k), 1e-300)) - std::log(std::max(others, 1e-300));
  }
  return odds;
}

}  // namespace

NoiseModel noise_model(const Matrix& F, const std::vector<Index>& labels, const NoiseModel* like) {
  NoiseModel model;
  model.like_others = like != nullptr;
  Vector odds = Vector::Zero(F.rows());
  for (int k = 0; k < kFits; ++k) {
    const Matrix L = of_fit(F, k);
    model.fits.push_back(fit_noise(L, labels, pseudo_of_fit(F.rows(), k),
                                   like ? like->fits[static_cast<std::size_t>(k)].sharpness : 0));
    if (k < 2) odds += odds_of(model.fits.back(), L, labels) / 2;
  }
  model.right = 1 / (1 + (-odds.array()).exp());
  model.labels = (model.fits[0].labels + model.fits[1].labels) / 2;
  return model;
}

NoiseEstimates estimate_noise(const Matrix& F, const std::vector<Index>& labels, const NoiseModel& model,
                              Index draws, std::uint64_t seed) {
  const Index n = F.rows(), c = F.cols();
  const auto tally = [&](const Matrix& Q, const Vector& weights) {  // class x label
    Matrix counts = Matrix::Zero(c, c);
    for (Index i = 0; i < n; ++i)
      counts.col(labels[static_cast<std::size_t>(i)]) += weights(i) * Q.row(i).transpose();
    return counts;
  };
  draws = draws_for(n, c, draws);
  std::vector<Matrix> whole;
  std::vector<std::vector<Matrix>> again(kFits, std::vector<Matrix>(static_cast<std::size_t>(draws)));
  const Threads threads(static_cast<double>(draws * n * c) * 1000);
  for (int k = 0; k < kFits; ++k) {
    const auto q = static_cast<std::size_t>(k);
    const Matrix L = of_fit(F, k);
    whole.push_back(tally(model.fits[q].classes, Vector::Ones(n)));
#pragma omp parallel for schedule(dynamic)
    for (Index b = 0; b < draws; ++b) {
      const Vector weights = drawn(n, seed, b);
      Fit fit(L, labels, pseudo_of_fit(n, k));
      fit.sharpness = model.fits[q].sharpness;
      fit.T = model.fits[q].transition;
      fit.run(weights, kStepsOfADraw, model.like_others ? 0 : 0.1, 0.02);
      again[q][static_cast<std::size_t>(b)] = tally(fit.classes(), weights);
    }
  }
  const auto of = [&](const auto& value, double most) {
    Estimate all{0, most, 0};
    for (std::size_t k = 0; k < whole.size(); ++k) {
      std::vector<double> sample;
      sample.reserve(again[k].size());
      for (const Matrix& m : again[k]) sample.push_back(value(m));
      const Estimate one = interval(value(whole[k]), sample, most);
      if (k < 2) all.value += one.value / 2;
      all.low = std::min(all.low, one.low);
      all.high = std::max(all.high, one.high);
    }
    return all;
  };
  NoiseEstimates estimates;
  estimates.rate =
      of([&](const Matrix& m) { return std::max(0.0, 1 - m.trace() / static_cast<double>(n)); }, 1);
  estimates.rate.high = std::max(estimates.rate.high, unseen(n));
  for (Index j = 0; j < c; ++j)
    for (Index k = 0; k < c; ++k)
      estimates.samples.push_back(
          j == k ? Estimate{} : of([&](const Matrix& m) { return m(j, k); }, static_cast<double>(n)));
  return estimates;
}

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
#pragma omp parallel for schedule(dynamic)
  for (Index b = 0; b < draws; ++b) {
    double scale = model.scale, rate = std::max(model.rate, 1e-3);
    Vector right;
    fit_residuals(s.x, s.uniform, drawn(s.x.size(), seed, b), model.like_others, model.least, scale, rate,
                  right);
    sample[static_cast<std::size_t>(b)] = rate;
  }
  Estimate rate = interval(model.rate, sample, 1);
  rate.high = std::max(rate.high, unseen(residuals.size()));
  return rate;
}

}  // namespace zeroloss::internal
