#include "audit/link.hpp"

#include <Eigen/Cholesky>
#include <cmath>

namespace zeroloss::internal {
namespace {

constexpr int kMostLinkSteps = 200;
constexpr double kSmall = 1e-4;  // change of B that ends them

Matrix with_one(const Matrix& F) {
  Matrix X(F.rows(), F.cols() + 1);
  X << F, Vector::Ones(F.rows());
  return X;
}

}  // namespace

Matrix softmax(const Matrix& F, double scale) {
  Matrix S = scale * F;
  S.colwise() -= S.rowwise().maxCoeff().eval();
  S = S.array().exp();
  S.array().colwise() /= S.rowwise().sum().array().eval();
  return S;
}

// The Hessian is nowhere above (1/2 X^T X + precision) of each class (Boehning 1992), so that its inverse
// times the gradient never goes too far; steps are accelerated (Nesterov), and start anew where they would go
// back.
Matrix fit_link(const Matrix& F, const Matrix& Q, double sharpness, double precision) {
  const Matrix X = with_one(F);
  Matrix bound = X.transpose() * X / 2;
  bound.diagonal().array() += precision;
  const Eigen::LLT<Matrix> inverse(bound);
  Matrix B = Matrix::Zero(X.cols(), F.cols()), before = B;
  double momentum = 1;
  for (int step = 0; step < kMostLinkSteps; ++step) {
    const double next = (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
    const Matrix ahead = B + (momentum - 1) / next * (B - before);
    const Matrix S = softmax(sharpness * F + X * ahead, 1);
    const Matrix gradient = X.transpose() * (S - Q) + precision * ahead;
    const Matrix moved = ahead - inverse.solve(gradient);
    const bool back = (moved - B).cwiseProduct(gradient).sum() > 0;
    momentum = back ? 1 : next;
    before = B;
    B = moved;
    if ((B - before).cwiseAbs().maxCoeff() < kSmall) break;
  }
  return B;
}

Matrix linked(const Matrix& F, const Matrix& B, double sharpness) { return F + with_one(F) * B / sharpness; }

}  // namespace zeroloss::internal
