#include "audit/noise_rate.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "audit/logit_calibration.hpp"
#include "base/parallel_for.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss::internal {
namespace {

constexpr std::array kRates = {.003, .01, .02, .035, .05, .075, .1, .13, .17, .22, .3, .4};
constexpr std::size_t kNodes = kRates.size();
constexpr double kFewest = .002, kMost = .45;         // rates that are thought of
constexpr Index kFineRates = 70;                      // rates between them
constexpr std::array kPowers = {1.0, 1.4, 2.0, 0.0};  // of shapes; 0: the logarithm

constexpr double kCounts = 0.02;   // weight of a reading that is looked at
constexpr double kTempered = 0.5;  // of the likelihood: samples are not independent, nor is a shape right

constexpr double kNegligible = 1e-4;  // weight of a rate
constexpr double kWorth = 100;        // samples that others are worth

double logit(double q) { return std::log(q / (1 - q)); }

// Outputs whose softmax classes are: how far each is below the largest, to a power, or their logarithm.
Matrix shaped(const Matrix& Z, double power) {
  if (power == 0) return logarithm_of(Z);
  Matrix below = -Z;
  below.colwise() += Z.rowwise().maxCoeff().eval();
  return power == 1 ? Matrix(-below) : Matrix(-below.array().max(0.0).pow(power));
}

// P(label | class) with this rate of wrong labels: alike, or as the reading mixes classes up.
Matrix transition_of(const Matrix& like, double rate, bool alike) {
  const Index c = like.rows();
  Matrix T = like;
  T.diagonal().setZero();
  const double its = T.rowwise().sum().mean();
  if (alike || its < 1e-4) {
    T.setConstant(rate / static_cast<double>(c - 1));
    T.diagonal().setConstant(1 - rate);
    return T;
  }
  T *= rate / its;
  for (Index j = 0; j < c; ++j) {
    const double wrong = T.row(j).sum();
    if (wrong > 0.5) T.row(j) *= 0.5 / wrong;
    T(j, j) = 1 - std::min(wrong, 0.5);
  }
  return T;
}

class Likelihood {
 public:
  Likelihood(const Matrix& L, const std::vector<Index>& labels)
      : L_(L), labels_(labels), weights_(Vector::Ones(L.rows())) {}

  double operator()(double scale, const Matrix& T) const {
    return log_likelihood(L_, labels_, weights_, scale, T);
  }

  // The likeliest scale near this one, by strides that are halved.
  double best(double scale, const Matrix& T, double stride) const {
    double here = (*this)(scale, T);
    while (stride > 0.03) {
      bool moved = false;
      for (const double sign : {1.0, -1.0}) {
        const double trial = std::clamp(scale * std::exp(sign * stride), 0.01, 1000.0);
        const double there = (*this)(trial, T);
        if (!(there > here)) continue;
        scale = trial, here = there, moved = true;
        break;
      }
      if (!moved) stride /= 2;
    }
    return scale;
  }

 private:
  const Matrix& L_;
  const std::vector<Index>& labels_;
  Vector weights_;
};

// The natural cubic spline through these points, x ascending, at z; beyond them its end pieces.
class Spline {
 public:
  Spline(std::array<double, kNodes> x, std::array<double, kNodes> y) : x_(x), y_(y) {
    std::array<double, kNodes> upper{}, right{};  // of the tridiagonal system for second derivatives
    for (std::size_t k = 1; k + 1 < kNodes; ++k) {
      const double before = x[k] - x[k - 1], behind = x[k + 1] - x[k];
      const double pivot = 2 * (before + behind) - before * upper[k - 1];
      upper[k] = behind / pivot;
      right[k] =
          (6 * ((y[k + 1] - y[k]) / behind - (y[k] - y[k - 1]) / before) - before * right[k - 1]) / pivot;
    }
    for (std::size_t k = kNodes - 1; k-- > 1;) bend_[k] = right[k] - upper[k] * bend_[k + 1];
  }

  double operator()(double z) const {
    std::size_t k = 0;
    while (k + 2 < kNodes && z > x_[k + 1]) ++k;
    const double h = x_[k + 1] - x_[k], a = (x_[k + 1] - z) / h, b = (z - x_[k]) / h;
    return a * y_[k] + b * y_[k + 1] +
           ((a * a * a - a) * bend_[k] + (b * b * b - b) * bend_[k + 1]) * h * h / 6;
  }

 private:
  std::array<double, kNodes> x_, y_, bend_{};
};

// Rates between the least and the most, even in their log odds, and how many each stands for.
struct FineRates {
  Vector at, share;
  FineRates() : at(kFineRates), share(kFineRates) {
    for (Index k = 0; k < kFineRates; ++k) {
      const double z =
          logit(kFewest) + (logit(kMost) - logit(kFewest)) * static_cast<double>(k) / (kFineRates - 1);
      at(k) = 1 / (1 + std::exp(-z));
    }
    share(0) = at(1) - at(0);
    share(kFineRates - 1) = at(kFineRates - 1) - at(kFineRates - 2);
    for (Index k = 1; k + 1 < kFineRates; ++k) share(k) = (at(k + 1) - at(k - 1)) / 2;
  }
};

// Of a reading and a shape: the posterior of rates, and what it says of labels.
struct Job {
  const Reading* reading = nullptr;
  double power = 0, weight = 0;
  std::array<double, kNodes> scales{}, likelihoods{};
  Vector posterior, right;
};

Vector posterior_of(const std::array<double, kNodes>& likelihoods, const FineRates& fine) {
  std::array<double, kNodes> at{};
  std::ranges::transform(kRates, at.begin(), logit);
  const Spline spline(at, likelihoods);
  Vector weights(kFineRates);
  for (Index k = 0; k < kFineRates; ++k)
    weights(k) = kTempered * spline(logit(fine.at(k))) + std::log(fine.share(k));
  weights = (weights.array() - weights.maxCoeff()).exp();
  return weights / weights.sum();
}

// Weights of the grid's rates, between which log odds are linear in those of the rate.
std::array<double, kNodes> at_nodes(const Vector& posterior, const FineRates& fine) {
  std::array<double, kNodes> nodes{};
  for (Index k = 0; k < kFineRates; ++k) {
    const double z = logit(fine.at(k));
    std::size_t below = 0;
    while (below + 2 < kNodes && z > logit(kRates[below + 1])) ++below;
    const double low = logit(kRates[below]), high = logit(kRates[below + 1]);
    const double part = std::clamp((z - low) / (high - low), 0.0, 1.0);
    nodes[below] += posterior(k) * (1 - part);
    nodes[below + 1] += posterior(k) * part;
  }
  return nodes;
}

void add_right(const Matrix& L, const std::vector<Index>& labels, double scale, const Matrix& T,
               double weight, Vector& right) {
  const Matrix S = softmax(L, scale);
  for (Index i = 0; i < S.rows(); ++i) {
    const Index k = labels[static_cast<std::size_t>(i)];
    const double all = S.row(i).dot(T.col(k).transpose()), its = S(i, k) * T(k, k);
    right(i) += weight * (all > 0 ? its / all : 0);
  }
}

Estimate estimate_of(const Vector& posterior, const FineRates& fine) {
  Estimate rate{posterior.dot(fine.at), 0, kMost};
  const auto quantile = [&](double of) {
    double sum = 0, last = 0;  // up to the middle of what a rate stands for
    for (Index k = 0; k < kFineRates; ++k) {
      const double middle = sum + posterior(k) / 2;
      if (middle >= of)
        return k == 0 ? fine.at(0)
                      : fine.at(k - 1) + (fine.at(k) - fine.at(k - 1)) * (of - last) / (middle - last);
      last = middle;
      sum += posterior(k);
    }
    return kMost;
  };
  rate.low = quantile(0.025);
  if (rate.low < kRates[0]) rate.low = 0;  // rates below the least are not told from it
  rate.high = quantile(0.975);
  if (rate.high > kRates.back()) rate.high = 1;  // nor those above the largest
  rate.low = std::min(rate.low, rate.value), rate.high = std::max(rate.high, rate.value);
  return rate;
}

}  // namespace

IntegratedNoise integrate_noise(const Matrix& F, const std::vector<Index>& labels, const NoiseModel& model,
                                const IntegratedNoise* like, Progress& progress) {
  const Index n = F.rows();
  const ShownSamples some = shown_samples(labels);
  std::vector<Job> jobs;
  double all = 0;
  const auto most = std::ranges::max_element(model.readings, {}, &Reading::weight);
  for (const Reading& reading : model.readings)
    if (reading.weight >= kCounts || &reading == &*most) {
      for (const double power : kPowers) jobs.push_back({&reading, power, reading.weight, {}, {}, {}, {}});
      all += reading.weight * static_cast<double>(kPowers.size());
    }
  const FineRates fine;
  {
    const Threads threads(static_cast<double>(n * F.cols()) * 1000);
    const SerialBlas serial;
    progress.stage("labels: rates", static_cast<double>(jobs.size()));
    parallel_for(std::ssize(jobs), progress, [&](Index j) {
      Job& job = jobs[static_cast<std::size_t>(j)];
      const Matrix L = shaped(linked(F, job.reading->link, model.sharpness), job.power),
                   shown = L(some.rows, Eigen::all);
      const Likelihood likelihood(shown, some.labels);
      const Matrix& its = job.reading->fits.front().transition;
      std::array<double, kNodes> together{};
      double scale = 8;
      for (std::size_t t = 0; t < kNodes && !progress.cancelled(); ++t) {
        const Matrix T = transition_of(its, kRates[t], job.reading->pseudo == 0);
        scale = like != nullptr ? like->scales[static_cast<std::size_t>(j) * kNodes + t]
                                : likelihood.best(scale, T, t == 0 ? 0.4 : 0.15);
        job.scales[t] = scale;
        together[t] = job.likelihoods[t] = likelihood(scale, T);
        if (like != nullptr)
          together[t] += std::min(1.0, kWorth / static_cast<double>(like->shown)) *
                         like->likelihoods[static_cast<std::size_t>(j) * kNodes + t];
      }
      if (progress.cancelled()) return;
      job.posterior = posterior_of(together, fine);
      job.right = Vector::Zero(n);
      std::array<double, kNodes> nodes = at_nodes(job.posterior, fine);
      double kept = 0;
      for (double& node : nodes) kept += node = node > kNegligible ? node : 0;
      for (std::size_t t = 0; t < kNodes; ++t)
        if (nodes[t] > 0)
          add_right(L, labels, job.scales[t], transition_of(its, kRates[t], job.reading->pseudo == 0),
                    nodes[t] / kept, job.right);
    });
  }
  progress.check();
  IntegratedNoise noise{Vector::Zero(n), {}, {}, {}, std::ssize(some.rows)};
  Vector posterior = Vector::Zero(kFineRates);
  for (const Job& job : jobs) {
    noise.right += job.weight / all * job.right;
    posterior += job.weight / all * job.posterior;
    noise.scales.insert(noise.scales.end(), job.scales.begin(), job.scales.end());
    noise.likelihoods.insert(noise.likelihoods.end(), job.likelihoods.begin(), job.likelihoods.end());
  }
  noise.rate = estimate_of(posterior, fine);
  return noise;
}

}  // namespace zeroloss::internal
