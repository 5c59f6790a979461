#include "audit/noise_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "audit/bootstrap.hpp"
#include "audit/confusion_em.hpp"
#include "audit/logit_calibration.hpp"
#include "base/parallel_for.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss::internal {
namespace {

constexpr double kFewPseudo = 10;
constexpr std::array kPseudo = {0.0, 10.0, 1.0};      // of readings; 0: as many as samples are shown
constexpr double kFloor = 0.1;                        // of the logarithm
constexpr std::array kPrecisions = {0.1, 1.0, 10.0};  // of the link's entries
constexpr Index kMostShown = 10'000;                  // samples that the fits see
constexpr double kLeastWeight = 1e-3;
constexpr Index kManyClasses = 30;  // of which not every way is gone to its end
constexpr int kMostSteps = 300;
constexpr int kStepsOfADraw = 24;

/// n x c: P(class | x, label).
Matrix classes_of(const Matrix& L, const std::vector<Index>& labels, double sharpness, const Matrix& T) {
  Matrix Q = softmax(L, sharpness);
  for (Index i = 0; i < Q.rows(); ++i) {
    Q.row(i).array() *= T.col(labels[static_cast<std::size_t>(i)]).transpose().array();
    const double sum = Q.row(i).sum();
    if (sum > 0)
      Q.row(i) /= sum;
    else
      Q.row(i).setConstant(1 / static_cast<double>(Q.cols()));
  }
  return Q;
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
  void run(const Vector& weights, int most, double stride, double least, const Progress& progress) {
    Matrix S = softmax(F_, sharpness);
    double rate = -1;
    for (int step = 0; step < most && !progress.cancelled(); ++step) {
      const double now = improve(S, weights);
      if (step % 3 == 0 && stride >= least) {
        sharpen(weights, stride);
        S = softmax(F_, sharpness);
      }
      if (std::abs(now - rate) < 1e-7 && stride < least) break;
      rate = now;
    }
  }

 private:
  Index label(Index i) const { return labels_[static_cast<std::size_t>(i)]; }

  /// One step for T; returns the rate of wrong labels before it.
  double improve(const Matrix& S, const Vector& weights) {
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
    T = transitions(counts, pseudo_);
    return rate;
  }

  /// The better of a stride up, a stride down and staying, which halves the stride.
  void sharpen(const Vector& weights, double& stride) {
    const double here = log_likelihood(F_, labels_, weights, sharpness, T);
    for (double sign : {1.0, -1.0}) {
      const double trial = std::clamp(sharpness * std::exp(sign * stride), 0.01, 1000.0);
      if (log_likelihood(F_, labels_, weights, trial, T) > here + 1e-9 * std::abs(here)) {
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

constexpr int kFits = 3, kReadingFits = 2;

/// L of a fit, and its pseudo-samples.
Matrix of_fit(const Matrix& F, int k) { return k == 1 ? logarithm_of(F) : F; }
double pseudo_of(Index n, double pseudo) {
  return pseudo > 0 ? pseudo : static_cast<double>(std::min(n, kMostShown));
}
double pseudo_of_fit(Index n, int k) { return pseudo_of(n, k == 2 ? kFewPseudo : 0); }

}  // namespace

Matrix logarithm_of(const Matrix& F) { return (F.array().max(0.0) + kFloor).log(); }

ShownSamples shown_samples(const std::vector<Index>& labels) {
  const Index n = std::ssize(labels), m = std::min(n, kMostShown);
  std::vector<Index> order(labels.size());
  std::iota(order.begin(), order.end(), Index{0});
  if (m < n)
    std::ranges::stable_sort(order, {}, [&](Index i) { return labels[static_cast<std::size_t>(i)]; });
  ShownSamples some;
  for (Index i = 0; i < m; ++i) {
    some.rows.push_back(order[static_cast<std::size_t>(i * n / m)]);
    some.labels.push_back(labels[static_cast<std::size_t>(some.rows.back())]);
  }
  return some;
}

double log_likelihood(const Matrix& L, const std::vector<Index>& labels, const Vector& weights, double scale,
                      const Matrix& T) {
  double sum = 0;
  const Matrix S = softmax(L, scale);
  for (Index i = 0; i < S.rows(); ++i)
    if (weights(i) > 0) {
      const auto its = T.col(labels[static_cast<std::size_t>(i)]).transpose();
      sum += weights(i) * std::log(std::max(S.row(i).dot(its), 1e-300));
    }
  return sum;
}

NoiseFit fit_noise(const Matrix& L, const std::vector<Index>& labels, double pseudo, double sharpness,
                   const Progress& progress) {
  const ShownSamples some = shown_samples(labels);
  const bool all = std::ssize(some.rows) == L.rows();
  const Matrix shown = all ? Matrix() : Matrix(L(some.rows, Eigen::all));
  Fit fit(all ? L : shown, some.labels, pseudo);
  fit.begin();
  if (sharpness > 0) fit.sharpness = sharpness;
  fit.run(Vector::Ones(std::ssize(some.rows)), kMostSteps, sharpness > 0 ? 0 : 0.4, 1e-3, progress);
  return {fit.sharpness, fit.T, classes_of(L, labels, fit.sharpness, fit.T),
          softmax(L, fit.sharpness) * fit.T};
}

namespace {

/// A way to explain the labels, and where it was begun.
struct Attempt {
  Explaining explaining;
  double precision, pseudo, evidence = 0;
  Matrix link = {};
};

/// Of each precision and kind of noise the best explanation, begun at the fits that have no link; weights are
/// their probabilities, of labels that are not shown to them.
std::vector<Reading> readings_of(const Matrix& F, const std::vector<Index>& labels,
                                 const std::vector<NoiseFit>& fits, Progress& progress) {
  const auto [rows, some] = shown_samples(labels);
  const Index m = std::ssize(rows);
  const Matrix shown = F(rows, Eigen::all), plain = fits[0].classes(rows, Eigen::all),
               few = fits[2].classes(rows, Eigen::all);
  std::vector<LogitCalibration> links;
  const bool many = F.cols() > kManyClasses;
  links.reserve(kPrecisions.size());
  std::vector<Attempt> attempts;
  const Threads threads(static_cast<double>(m * F.cols() * F.cols()) * 1000);
  const SerialBlas serial;
  for (const double precision : kPrecisions) {
    links.emplace_back(shown, fits[0].sharpness, precision, many);
    for (const double pseudo : kPseudo)
      for (const Matrix* classes : {&plain, &few})
        if (pseudo > 0 || classes == &plain)
          attempts.push_back(
              {Explaining(links.back(), some, pseudo_of(m, pseudo), *classes), precision, pseudo});
  }
  const auto each = [&](const char* stage, const auto& f) {
    progress.stage(stage, static_cast<double>(attempts.size()));
    parallel_for(std::ssize(attempts), progress, [&](Index a) { f(attempts[static_cast<std::size_t>(a)]); });
  };
  if (many)  // the worse half goes twice
    for (const int turns : {2, 4}) {
      each("labels: first ways to explain them", [&](Attempt& one) {
        one.explaining.turn(turns, progress);
        one.evidence = one.explaining.evidence(/*nearly=*/true, progress);
      });
      progress.check();
      std::ranges::stable_sort(attempts, std::greater{}, &Attempt::evidence);
      attempts.erase(attempts.begin() + (std::ssize(attempts) + 1) / 2, attempts.end());
    }
  each("labels: ways to explain them", [&](Attempt& one) {
    one.explaining.turn(kMostTurns, progress);
    Explanation best = one.explaining.explanation(progress);
    one.link = std::move(best.link);
    one.evidence = best.evidence;
  });
  progress.check();
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const Attempt& one : attempts) most = std::max(most, one.evidence);
  std::vector<Reading> readings;
  for (const double precision : kPrecisions)
    for (const double pseudo : kPseudo) {
      Attempt* best = nullptr;  // of the starts
      for (Attempt& one : attempts)
        if (one.precision == precision && one.pseudo == pseudo && (!best || one.evidence > best->evidence))
          best = &one;
      const double weight = best ? std::exp(best->evidence - most) : 0;
      if (!(weight >= kLeastWeight)) continue;
      sum += weight;
      readings.push_back({std::move(best->link), precision, pseudo, weight, {}});
    }
  if (readings.empty()) return {{Matrix::Zero(F.cols() + 1, F.cols()), 0, 0, 1, {}}};
  for (Reading& reading : readings) reading.weight /= sum;
  return readings;
}

}  // namespace

double noise_bytes(Index n, Index c, Index draws) {
  const double tables = static_cast<double>(n) * static_cast<double>(c),
               counts = static_cast<double>(c) * static_cast<double>(c),
               readings = static_cast<double>(kPrecisions.size() * kPseudo.size());
  return 8 * (static_cast<double>(n) * 4 * readings +  // of integrate_noise()
              tables * (2 * kFits + 2 * kReadingFits * readings + 6 + 3 * thread_count()) +
              counts * (kFits + (kReadingFits + 1) * readings +
                        kFits * (draws_for(std::min(n, kMostShown), c, draws) + 1) + 3 +
                        9 * std::min<double>(thread_count(), readings)));
}

NoiseModel noise_model(const Matrix& F, const std::vector<Index>& labels, const NoiseModel* like,
                       Progress& progress) {
  const Index n = F.rows();
  NoiseModel model;
  model.like_others = like != nullptr;
  progress.stage("labels", kFits);
  for (int k = 0; k < kFits; ++k) {
    model.fits.push_back(fit_noise(of_fit(F, k), labels, pseudo_of_fit(n, k),
                                   like ? like->fits[static_cast<std::size_t>(k)].sharpness : 0, progress));
    progress.advance(1);
  }
  model.readings = like ? like->readings : readings_of(F, labels, model.fits, progress);
  model.sharpness = like ? like->sharpness : model.fits[0].sharpness;
  model.labels = Matrix::Zero(n, F.cols());
  progress.stage("labels: noise", static_cast<double>(kReadingFits * model.readings.size()));
  for (Reading& reading : model.readings) {
    const Matrix made = linked(F, reading.link, model.sharpness);
    for (int k = 0; k < kReadingFits; ++k) {
      const Matrix L = of_fit(made, k);
      NoiseFit fit = fit_noise(L, labels, pseudo_of(n, reading.pseudo),
                               like ? reading.fits[static_cast<std::size_t>(k)].sharpness : 0, progress);
      progress.advance(1);
      model.labels += reading.weight / kReadingFits * fit.labels;
      if (!like) reading.fits.push_back(std::move(fit));
    }
  }
  return model;
}

std::vector<Estimate> estimate_confusions(const Matrix& F, const std::vector<Index>& labels,
                                          const NoiseModel& model, Index draws, std::uint64_t seed,
                                          Progress& progress) {
  const Index n = F.rows(), c = F.cols();
  const auto tally = [&](const Matrix& Q, const std::vector<Index>& its, const Vector& weights) {
    Matrix counts = Matrix::Zero(c, c);  // class x label
    for (Index i = 0; i < Q.rows(); ++i)
      counts.col(its[static_cast<std::size_t>(i)]) += weights(i) * Q.row(i).transpose();
    return counts;
  };
  const ShownSamples some = shown_samples(labels);
  const Index m = std::ssize(some.rows);
  const Matrix shown = F(some.rows, Eigen::all);
  const double each = static_cast<double>(n) / static_cast<double>(m);  // samples that one stands for
  draws = draws_for(m, c, draws);
  std::vector<Matrix> whole;
  std::vector<std::vector<Matrix>> again(kFits, std::vector<Matrix>(static_cast<std::size_t>(draws)));
  const Threads threads(static_cast<double>(draws * m * c) * 1000);
  progress.stage("labels: intervals", kFits);
  for (int k = 0; k < kFits; ++k) {
    const auto q = static_cast<std::size_t>(k);
    const Matrix L = of_fit(shown, k);
    whole.push_back(tally(model.fits[q].classes, labels, Vector::Ones(n)));
    parallel_for(draws, [&](Index b) {
      if (progress.cancelled()) return;
      const Vector weights = drawn(m, seed, b);
      Fit fit(L, some.labels, pseudo_of_fit(n, k));
      fit.sharpness = model.fits[q].sharpness;
      fit.T = model.fits[q].transition;
      fit.run(weights, kStepsOfADraw, model.like_others ? 0 : 0.1, 0.02, progress);
      again[q][static_cast<std::size_t>(b)] =
          each * tally(classes_of(L, some.labels, fit.sharpness, fit.T), some.labels, weights);
    });
    progress.advance(1);
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
  std::vector<Estimate> samples;
  for (Index j = 0; j < c; ++j)
    for (Index k = 0; k < c; ++k)
      samples.push_back(j == k ? Estimate{}
                               : of([&](const Matrix& m) { return m(j, k); }, static_cast<double>(n)));
  return samples;
}

}  // namespace zeroloss::internal
