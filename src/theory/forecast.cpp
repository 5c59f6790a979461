#include "zeroloss/theory/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel_for.hpp"
#include "zeroloss/base/random.hpp"

namespace zeroloss {
using namespace internal;
namespace {

constexpr Index kProbeWidth = 64;

// (1 - eta lambda)^(2k) without losing the small eigenvalues' digits.
double contraction(double eta, double lambda, double k) {
  const double factor = std::abs(1 - eta * lambda);
  if (k == 0) return 1;
  if (factor == 0) return 0;
  const double log_factor = eta * lambda < 0.5 ? std::log1p(-eta * lambda) : std::log(factor);
  return std::exp(2 * k * log_factor);
}

struct Misfit {
  double squared;         // estimate of the numerator
  double standard_error;  // of it
};

// tr(P Sigma~ P) is a ratio estimate: the probes' mean of ||P u||^2 over their mean of ||u||^2, times tr
// Sigma~. It is exact at the start.
Misfit misfit_after(double k, const SpectralMeasure& measure, double eta, double classes,
                    double trace_features) {
  const Index probes = measure.outputs.cols();
  double labels = 0;
  Vector outputs = Vector::Zero(probes);
  for (Index i = 0; i < measure.values.size(); ++i) {
    const double shrink = contraction(eta, measure.values(i), k);
    if (measure.labels(i) > 0) labels += measure.labels(i) * shrink;  // 0 weights: shrink may be infinite
    for (Index p = 0; p < probes; ++p)
      if (measure.outputs(i, p) > 0) outputs(p) += measure.outputs(i, p) * shrink;
  }
  const Vector start = measure.outputs.colwise().sum().transpose();
  const double ratio = start.sum() > 0 ? outputs.sum() / start.sum() : 0;
  const double spread = (outputs - ratio * start).squaredNorm();
  const auto count = static_cast<double>(probes);
  const double error = probes > 1 ? std::sqrt(spread * count / (count - 1)) / start.sum() : 0;
  return {labels + classes * trace_features * ratio, classes * trace_features * error};
}

}  // namespace

SpectralMeasure spectral_measure(const Packed<double>& H, const Packed<double>& features, const Matrix& Y) {
  const auto system = eigensystem(H);
  const Matrix spread = product(features, system.vectors);
  return {system.values, (system.vectors.transpose() * Y).cwiseAbs2().rowwise().sum(),
          system.vectors.cwiseProduct(spread).colwise().sum().transpose().cwiseMax(0.0)};
}

SpectralMeasure spectral_measure(const BlockLanczos& lanczos, Index label_columns) {
  return {lanczos.values, lanczos.weights.leftCols(label_columns).rowwise().sum(),
          lanczos.weights.rightCols(lanczos.weights.cols() - label_columns)};
}

Matrix output_probes(const RowMatrix& X, const Activation& activation, Index count, std::uint64_t seed) {
  const Index n = X.rows(), d = X.cols();
  Matrix outputs(n, count);
  for (Index p = 0; p < count; ++p) {
    Random random(seed, Stream::probes, static_cast<std::uint64_t>(p) + 1);
    Matrix W(d, kProbeWidth);
    random.fill_normal(W);
    Vector v(kProbeWidth);
    for (Index j = 0; j < kProbeWidth; ++j) v(j) = random.below(2) == 0 ? 0.125 : -0.125;  // +-1/sqrt(64)
    Matrix Z = X * W;
    parallel_for(kProbeWidth, [&](Index j) {
      for (Index i = 0; i < n; ++i) Z(i, j) = activation.phi(Z(i, j));
    });
    outputs.col(p) = Z * v;
  }
  return outputs;
}

Forecast forecast(const SpectralMeasure& early, const SpectralMeasure& late, Index classes,
                  double trace_features, double step, double accuracy) {
  const double lambda_max = early.values.maxCoeff();
  const double lambda_min = std::max(late.values.minCoeff(), 1e-300);
  Forecast result;
  result.stable_step = 2 / lambda_max;
  result.step = step > 0 ? step : 1.5 / lambda_max;
  result.accuracy = accuracy;
  const double turn = 1 / (result.step * std::sqrt(lambda_min * lambda_max));
  const double labels = early.labels.sum();
  const double start = labels + static_cast<double>(classes) * trace_features;
  result.start_misfit = labels > 0 ? std::sqrt(start / labels) : std::numeric_limits<double>::infinity();

  const auto at = [&](double k) {
    auto misfit =
        misfit_after(k, k < turn ? early : late, result.step, static_cast<double>(classes), trace_features);
    const double relative = std::sqrt(misfit.squared / start);
    return Misfit{relative, relative > 0 ? misfit.standard_error / (2 * start * relative) : 0};
  };
  constexpr double kForever = 1e15;
  double after = at(0).squared > accuracy ? 1 : 0;
  while (after > 0 && after < kForever && at(after).squared > accuracy) after *= 2;
  for (double before = std::floor(after / 2); after - before > 1 && after < kForever;) {
    const double middle = std::floor((before + after) / 2);
    (at(middle).squared > accuracy ? before : after) = middle;
  }
  result.steps_to_accuracy = after < kForever ? after : std::numeric_limits<double>::infinity();

  const auto record = [&](double k) {
    const auto misfit = at(k);
    result.at_step.push_back(k);
    result.misfit.push_back(misfit.squared);
    result.standard_error.push_back(misfit.standard_error);
  };
  record(0);
  const double last = std::min(kForever, 10 * std::max(1.0, result.steps_to_accuracy));
  double before = 0;
  for (int tenth = 0; before < last; ++tenth) {
    const double k = std::min(last, std::round(std::pow(10.0, tenth / 10.0)));
    if (k > before) record(k);
    before = std::max(before, k);
  }
  return result;
}

Vector complexity(const Matrix& Y, const Matrix& inverse_Y) {
  const auto n = static_cast<double>(Y.rows());
  return (2 / n * Y.cwiseProduct(inverse_Y).colwise().sum().transpose()).cwiseMax(0.0).cwiseSqrt();
}

Matrix leave_one_out(const Matrix& Y, const Matrix& inverse_Y, const Vector& inverse_diagonal) {
  return Y - inverse_diagonal.cwiseInverse().asDiagonal() * inverse_Y;
}

}  // namespace zeroloss
