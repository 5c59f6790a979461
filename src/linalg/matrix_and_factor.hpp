#pragma once
#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/progress.hpp"

namespace zeroloss::internal {

/// A symmetric matrix K and the Cholesky factor of a shifted one, each a triangle of one n x (n + 1) array: 8
/// n (n + 1) bytes for both. Bits do not depend on threads.
class MatrixAndFactor {
 public:
  /// `lower`: n x (n + 1), with K on and below the diagonal; the rest is not read.
  explicit MatrixAndFactor(Matrix lower);

  Index n() const { return table_.rows(); }
  Vector diagonal() const;
  Matrix product(const Matrix& V) const;  ///< K V

  /// Cholesky of fl(sign (K - s I)); false, and then there is no factor, if a pivot is not positive and
  /// finite.
  bool factor(double sign, double s, Progress& progress);
  Matrix solve(Matrix B) const;  ///< by the last factor

 private:
  Matrix table_;  // the factor on and below the diagonal, K_ij with i >= j at (j, i + 1)
};

}  // namespace zeroloss::internal
