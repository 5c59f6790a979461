#include "audit/given_probabilities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

constexpr double kLeast = 1e-3;  // added to probabilities
constexpr double kMost = 1000;   // of either factor
constexpr int kSteps = 100;

/// Softmax of rows; the sum of the logarithms of what labels get, if there are any.
double softmax_rows(Matrix& logits, const std::vector<Index>& labels) {
  double sum = 0;
  for (Index i = 0; i < logits.rows(); ++i) {
    auto row = logits.row(i);
    row.array() -= row.maxCoeff();
    const double its = labels.empty() ? 0 : row(labels[static_cast<std::size_t>(i)]);
    row = row.array().exp();
    const double all = row.sum();
    sum += its - std::log(all);
    row /= all;
  }
  return sum;
}

}  // namespace

void check_probabilities(const Dataset& data, const char* who) {
  const RowMatrix& P = data.probabilities;
  if (P.size() == 0) return;
  if (data.task == Task::regression)
    throw DataError(
        fmt::format("{}: `probabilities` are of classes; the targets of {} are numbers", who, data.name));
  if (P.rows() != data.n() || (data.task == Task::classification && P.cols() != data.classes()))
    throw DataError(
        fmt::format("{}: `probabilities` are {} x {}; {} has {} samples of {} classes, in the order {}", who,
                    P.rows(), P.cols(), data.name, data.n(), data.classes(), excerpt(data.class_names)));
  for (Index i = 0; i < P.rows(); ++i)
    if (!(P.row(i).minCoeff() >= 0) || !(std::abs(P.row(i).sum() - 1) <= 0.01))
      throw DataError(
          fmt::format("{}: row {} of `probabilities` is not made of probabilities: their sum is {:.6g}, the "
                      "least is {:.6g}",
                      who, i, P.row(i).sum(), P.row(i).minCoeff()));
}

Matrix Blend::operator()(const Matrix& F, const RowMatrix& P) const {
  Matrix logits = own * F + given * (P.array() + kLeast).log().matrix();
  softmax_rows(logits, {});
  return logits;
}

Blend fit_blend(const Matrix& F, const RowMatrix& P, const std::vector<Index>& labels,
                const Progress& progress) {
  const Matrix G = (P.array() + kLeast).log().matrix();
  const auto value_at = [&](const Blend& b, Matrix& S) {
    S = b.own * F + b.given * G;
    return softmax_rows(S, labels);
  };
  Blend best{4, 0};
  Matrix S, other;
  double here = value_at(best, S);
  for (int step = 0; step < kSteps; ++step) {  // Newton's, of a concave function of two numbers
    progress.check();
    Eigen::Vector2d slope = Eigen::Vector2d::Zero();
    Eigen::Matrix2d bend = 1e-9 * Eigen::Matrix2d::Identity();
    for (Index i = 0; i < F.rows(); ++i) {
      const Index k = labels[static_cast<std::size_t>(i)];
      const Eigen::RowVectorXd p = S.row(i), f = F.row(i), g = G.row(i);
      const double mean_f = p.dot(f), mean_g = p.dot(g);
      slope += Eigen::Vector2d(f(k) - mean_f, g(k) - mean_g);
      bend(0, 0) += p.dot(f.cwiseAbs2()) - mean_f * mean_f;
      bend(1, 1) += p.dot(g.cwiseAbs2()) - mean_g * mean_g;
      bend(0, 1) += p.dot(f.cwiseProduct(g)) - mean_f * mean_g;
    }
    // What is at its bound, and would leave it, stays.
    const auto held = [](double x, double its_slope) {
      return (x <= 0 && its_slope < 0) || (x >= kMost && its_slope > 0);
    };
    if (held(best.own, slope(0))) slope(0) = bend(0, 1) = 0;
    if (held(best.given, slope(1))) slope(1) = bend(0, 1) = 0;
    const double determinant = bend(0, 0) * bend(1, 1) - bend(0, 1) * bend(0, 1);
    const Eigen::Vector2d move((bend(1, 1) * slope(0) - bend(0, 1) * slope(1)) / determinant,
                               (bend(0, 0) * slope(1) - bend(0, 1) * slope(0)) / determinant);
    double stride = 1;
    bool moved = false;
    for (; stride > 1e-4; stride /= 2) {
      const Blend next{std::clamp(best.own + stride * move(0), 0.0, kMost),
                       std::clamp(best.given + stride * move(1), 0.0, kMost)};
      if (const double there = value_at(next, other); there > here) {
        moved = there > here + 1e-9 * std::abs(here);
        best = next, here = there;
        std::swap(S, other);
        break;
      }
    }
    if (!moved) break;
  }
  return best;
}

}  // namespace zeroloss::internal
