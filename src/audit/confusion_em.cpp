#include "audit/confusion_em.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "audit/logit_calibration.hpp"

namespace zeroloss::internal {
namespace {

constexpr int kStepsOfATurn = 8;     // of each but the first
constexpr double kEndsTurns = 1e-6;  // change of the likelihood of a sample that ends them

/// As many wrong as of all, each equally likely.
Matrix alike(const Matrix& counts) {
  const Index c = counts.rows();
  const double rate = std::max(0.0, 1 - counts.trace() / counts.sum());
  Matrix prior = Matrix::Constant(c, c, rate / static_cast<double>(c - 1));
  prior.diagonal().setConstant(1 - rate);
  return prior;
}

/// Stirling's series, from 10 on to 1e-12: std::lgamma writes to a variable that threads share.
double log_gamma(double x) {
  double below = 1;
  for (; x < 10; x += 1) below *= x;
  const double r = 1 / (x * x);
  return (x - 0.5) * std::log(x) - x + std::log(2 * std::numbers::pi) / 2 +
         (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r / 1680))) / x - std::log(below);
}

/// sum_i log P(label_i), and in Q (P(class_j) before) P(class_j | label_i).
double weigh(const Matrix& T, const std::vector<Index>& labels, Matrix& Q) {
  double sum = 0;
  for (Index i = 0; i < Q.rows(); ++i) {
    Q.row(i).array() *= T.col(labels[static_cast<std::size_t>(i)]).transpose().array();
    const double p = std::max(Q.row(i).sum(), 1e-300);
    Q.row(i) /= p;
    sum += std::log(p);
  }
  return sum;
}

}  // namespace

Matrix tally(const Matrix& classes, const std::vector<Index>& labels) {
  Matrix counts = Matrix::Zero(classes.cols(), classes.cols());
  for (std::size_t i = 0; i < labels.size(); ++i)
    counts.col(labels[i]) += classes.row(static_cast<Index>(i)).transpose();
  return counts;
}

Matrix transitions(const Matrix& counts, double pseudo) {
  Matrix T = counts + pseudo * alike(counts);
  T.array().colwise() /= T.rowwise().sum().array().eval();
  for (Index j = 0; j < T.rows(); ++j)
    if (const double right = T(j, j); right < 0.5) {
      T.row(j) *= 0.5 / (1 - right);
      T(j, j) = 0.5;
    }
  return T;
}

double log_evidence(const Matrix& counts, double pseudo) {
  const Matrix prior = pseudo * alike(counts);
  double sum = 0;
  for (Index j = 0; j < counts.rows(); ++j) {
    sum -= log_gamma(pseudo + counts.row(j).sum()) - log_gamma(pseudo);
    for (Index k = 0; k < counts.cols(); ++k)
      if (counts(j, k) > 0 && prior(j, k) > 0)
        sum += log_gamma(prior(j, k) + counts(j, k)) - log_gamma(prior(j, k));
  }
  return sum;
}

Explaining::Explaining(const LogitCalibration& link, const std::vector<Index>& labels, double pseudo,
                       Matrix classes)
    : link_(&link),
      labels_(&labels),
      pseudo_(pseudo),
      before_(-std::numeric_limits<double>::infinity()),
      classes_(std::move(classes)),
      B_(Matrix::Zero(classes_.cols() + 1, classes_.cols())) {}

void Explaining::turn(int most, const Progress& progress) {
  for (int step = 0; step < most && !ended_ && !progress.cancelled(); ++step) {
    const bool first = T_.size() == 0;
    T_ = transitions(tally(classes_, *labels_), pseudo_);
    B_ = link_->fit(classes_, std::move(B_), first ? kMostLinkSteps : kStepsOfATurn, progress);
    classes_ = softmax(link_->logits(B_), 1);
    const double now = weigh(T_, *labels_, classes_);
    ended_ = std::abs(now - before_) < kEndsTurns * static_cast<double>(labels_->size());
    before_ = now;
  }
}

double Explaining::evidence(bool nearly, const Progress& progress) const {
  if (progress.cancelled() || T_.size() == 0) return 0;
  const Matrix counts = tally(classes_, *labels_);
  Matrix without = softmax(
      nearly ? link_->logits_nearly_without(classes_, B_) : link_->logits_without(classes_, B_, progress), 1);
  const double likeliest = (counts.array() * T_.array().max(1e-300).log()).sum();
  return weigh(T_, *labels_, without) + log_evidence(counts, pseudo_) - likeliest;
}

Explanation explain(const Matrix& F, const std::vector<Index>& labels, double sharpness, double precision,
                    double pseudo, Matrix classes, const Progress& progress) {
  const LogitCalibration link(F, sharpness, precision);
  Explaining one(link, labels, pseudo, std::move(classes));
  one.turn(kMostTurns, progress);
  return one.explanation(progress);
}

}  // namespace zeroloss::internal
