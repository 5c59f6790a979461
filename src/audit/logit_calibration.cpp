#include "audit/logit_calibration.hpp"

#include <algorithm>
#include <cmath>

#include "base/parallel_for.hpp"
#include "linalg/decompositions.hpp"
#include "linalg/lapack.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss::internal {
namespace {

constexpr double kSmall = 1e-4;       // change of B that ends them
constexpr double kLeastRest = 1e-12;  // of 1 - h w > 0, which rounding can take away

Matrix with_one(const Matrix& F) {
  Matrix X(F.rows(), F.cols() + 1);
  X << F, Vector::Ones(F.rows());
  return X;
}

// L^-1 B, or L^-T B.
Matrix solved(const Matrix& L, char transposed, Matrix B) {
  lapack::trsm('L', 'L', transposed, B.rows(), B.cols(), L.data(), L.rows(), B.data(), B.rows());
  return B;
}

}  // namespace

// Rows are columns of blocks that stay in a cache.
Matrix softmax(const Matrix& F, double scale) {
  constexpr Index kRows = 256;
  constexpr double kExponential = 20;  // multiply-adds
  Matrix S(F.rows(), F.cols());
  const Threads threads(kExponential * static_cast<double>(F.size()));
  parallel_for((F.rows() + kRows - 1) / kRows, [&](Index block) {
    const Index begin = block * kRows, rows = std::min(kRows, F.rows() - begin);
    auto part = S.middleRows(begin, rows).array();
    part = scale * F.middleRows(begin, rows).array();
    Eigen::ArrayXd most = part.col(0), sum = Eigen::ArrayXd::Zero(rows);
    for (Index j = 1; j < part.cols(); ++j) most = most.max(part.col(j));
    for (Index j = 0; j < part.cols(); ++j) {
      part.col(j) = (part.col(j) - most).exp();
      sum += part.col(j);
    }
    for (Index j = 0; j < part.cols(); ++j) part.col(j) /= sum;
  });
  return S;
}

LogitCalibration::LogitCalibration(const Matrix& F, double sharpness, double precision, bool compared)
    : X_(with_one(F)), scaled_(sharpness * F), precision_(precision) {
  Matrix bound = X_.transpose() * X_ / 2;
  if (compared) {
    const SymmetricEigen of = symmetric_eigen(2 * bound);
    values_ = of.values.cwiseMax(0);
    squared_ = (X_ * of.vectors).cwiseAbs2();
  }
  bound.diagonal().array() += precision;
  factor_ = cholesky(bound);
}

// The Hessian is nowhere above (1/2 X^T X + precision) of each class (Boehning 1992), so that its inverse
// times the gradient never goes too far; steps are accelerated (Nesterov), and start anew where they would go
// back.
Matrix LogitCalibration::fit(const Matrix& Q, Matrix B, int most, const Progress& progress) const {
  Matrix before = B;
  double momentum = 1;
  for (int step = 0; step < most && !progress.cancelled(); ++step) {
    const double next = (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
    const Matrix ahead = B + (momentum - 1) / next * (B - before);
    const Matrix gradient = X_.transpose() * (softmax(logits(ahead), 1) - Q) + precision_ * ahead;
    const Matrix moved = ahead - solved(factor_, 'T', solved(factor_, 'N', gradient));
    const bool back = (moved - B).cwiseProduct(gradient).sum() > 0;
    momentum = back ? 1 : next;
    before = B;
    B = moved;
    if ((B - before).cwiseAbs().maxCoeff() < kSmall) break;
  }
  return B;
}

Matrix LogitCalibration::logits(const Matrix& B) const { return scaled_ + X_ * B; }

// Without sample i the gradient of class j at B is -(S_ij - Q_ij) x_i, and the Hessian H_j - w_ij x_i x_i^T
// with w = S (1 - S); so with h = x_i^T H_j^-1 x_i the step moves x_i^T B_j by h (S_ij - Q_ij)/(1 - h w_ij).
Matrix LogitCalibration::logits_without(const Matrix& Q, const Matrix& B, const Progress& progress) const {
  Matrix without = logits(B);
  const Matrix S = softmax(without, 1);
  for (Index j = 0; j < S.cols() && !progress.cancelled(); ++j) {
    const Vector w = S.col(j).array() * (1 - S.col(j).array());
    Matrix H = X_.transpose() * w.asDiagonal() * X_;
    H.diagonal().array() += precision_;
    const Matrix Z = solved(cholesky(H), 'N', X_.transpose());
    const Vector h = Z.colwise().squaredNorm();
    without.col(j).array() +=
        h.array() * (S.col(j) - Q.col(j)).array() / (1 - h.array() * w.array()).max(kLeastRest);
  }
  return without;
}

Matrix LogitCalibration::logits_nearly_without(const Matrix& Q, const Matrix& B) const {
  Matrix without = logits(B);
  const Matrix S = softmax(without, 1);
  const Matrix W = S.array() * (1 - S.array());
  const Eigen::RowVectorXd mean = W.colwise().mean();
  // H_j is nearly mean_j X^T X + precision.
  const Matrix inverse = (((values_ * mean).array() + precision_).inverse()).matrix();
  const Matrix h = squared_ * inverse;
  without.array() += h.array() * (S - Q).array() / (1 - h.array() * W.array()).max(kLeastRest);
  return without;
}

Matrix linked(const Matrix& F, const Matrix& B, double sharpness) { return F + with_one(F) * B / sharpness; }

}  // namespace zeroloss::internal
