#pragma once

#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/progress.hpp"

/// From a predictor's outputs to probabilities of classes: which classes overlap is learned.
namespace zeroloss::internal {

/// Rows of softmax(scale F).
Matrix softmax(const Matrix& F, double scale);

constexpr int kMostLinkSteps = 200;

/// B, (c + 1) x c, that maximises sum_ij Q_ij log softmax_j(sharpness F_i + (F_i, 1) B) - precision/2
/// ||B||^2: softmax regression of the classes on the outputs, drawn to the outputs themselves. F, Q: n x c,
/// rows of Q sum to 1. 2 n c^2 multiply-adds a step. Cancelled, both searches end early, with what they have.
class LogitCalibration {
 public:
  /// `compared`: logits_nearly_without() will be asked for, which takes the eigenvalues of (c + 1) x (c + 1)
  /// numbers.
  LogitCalibration(const Matrix& F, double sharpness, double precision, bool compared = false);

  /// From B on, until no entry changes by 1e-4, `most` steps at most.
  Matrix fit(const Matrix& Q, Matrix B, int most = kMostLinkSteps, const Progress& progress = {}) const;
  /// n x c: sharpness F + (F, 1) B.
  Matrix logits(const Matrix& B) const;
  /// Those of each sample by the link without it: one Newton step from B, class by class, of the others'
  /// objective; n c^3 multiply-adds.
  Matrix logits_without(const Matrix& Q, const Matrix& B, const Progress& progress = {}) const;
  /// The same with the mean weight of a class in place of each sample's: n c^2 multiply-adds, to compare
  /// links.
  Matrix logits_nearly_without(const Matrix& Q, const Matrix& B) const;

 private:
  Matrix X_, scaled_;
  double precision_;
  Matrix factor_;   // L L^T is a bound of the Hessian
  Vector values_;   // eigenvalues of X^T X
  Matrix squared_;  // of the samples' coordinates in its eigenvectors
};

/// n x c outputs that need no B: F + (F, 1) B / sharpness.
Matrix linked(const Matrix& F, const Matrix& B, double sharpness);

}  // namespace zeroloss::internal
