#pragma once
#include <memory>
#include <mutex>

#include "proof/evaluate.hpp"

namespace zeroloss::internal {

/// The points of equations, and what every certificate needs to know of them alone: computed when the first
/// asks, and then there for those of other weights and other targets. Safe to share between threads.
class CertifiedPoints {
 public:
  /// X (n x d), counts and row_error as in Equations; X and counts have to outlive it.
  /// `engine`: who has the Gram matrices of Jacobians; null: this process.
  CertifiedPoints(const RowMatrix& X, const Vector& counts, double row_error,
                  const TangentEngine* engine = nullptr);
  CertifiedPoints(const RowMatrix&, Vector&&, double, const TangentEngine* = nullptr) = delete;

  /// What a network has to satisfy there; y has to outlive it.
  Equations equations(const Vector& y) const { return {points_, y, counts_, points_error_}; }

  const RowMatrix& X() const { return points_; }
  const Vector& counts() const { return counts_; }  ///< empty = once
  const TangentEngine* engine() const { return engine_; }

  struct Size {
    double longest = 0;  ///< of the exact rows, rounded up
    double norm = 0;     ///< of C^1/2 X, rounded up
  };
  /// At the first call n^2 d/2 multiply-adds for n <= d, else n d^2/2, and a Cholesky factorisation of side
  /// min(n, d). Throws Interrupted.
  const Size& size(Progress& progress) const;

  /// Once size() is known: C^1/2 X as stored, C = diag(counts). The exact rows are within row_error() of its,
  /// relative to their lengths.
  const RowMatrix& weighted() const { return counts_.size() > 0 ? weighted_ : points_; }
  double row_error() const { return row_error_; }

  /// Once size() is known: K = (S S^T) o (C^1/2 X X^T C^1/2), the Gram matrix J J^T of the Jacobian with S =
  /// D diag(v), n x m (signs of v do not matter). n^2 m/2 multiply-adds, and n^2 d/2 where size() did not
  /// keep the second factor.
  std::unique_ptr<TangentMatrix> tangent_matrix(const Matrix& S) const;
  /// Once size() is known: X X^T (lower triangle), which size() kept, or `scratch`, which receives it.
  const Matrix& gram_without_counts(Matrix& scratch) const;

  /// What size() will take: C^1/2 X, and X X^T where it is no larger than X and so as dear to compute as to
  /// factor, which it keeps unless an engine makes its own. 0 once it has.
  double bytes_to_keep() const;

 private:
  bool keeps_gram() const { return engine_ == nullptr && points_.rows() <= points_.cols(); }

  const RowMatrix& points_;
  const Vector& counts_;
  const double points_error_;
  const double row_error_;
  const TangentEngine* const engine_;
  mutable std::mutex mutex_;    // of what follows
  mutable RowMatrix weighted_;  // empty without counts
  mutable bool sized_ = false;
  mutable Size size_;
  mutable Matrix gram_;  // empty where it is not kept
};

}  // namespace zeroloss::internal
