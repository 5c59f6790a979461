#pragma once
#include "kernel/closest.hpp"

namespace zeroloss::internal {

/// What the tail does about products in single precision of pairs that may be among the closest, or so close
/// that the error of a product matters: it measures them on the rows.
class PairMeasure {
 public:
  /// `error`: of a product of rows of d numbers (float_product_error)
  PairMeasure(Index d, float error);

  /// Smaller products than this in size are left as they are.
  double least(const Closest& closest) const;
  double refined() const { return refined_; }  ///< |rho| from which on products are measured in double
  float error() const { return error_; }

  /// A pair of rows i > j, and the product of both.
  void measure(float& product, const double* x, const double* y, Index i, Index j, Closest& closest) const;

 private:
  Index d_;
  float error_;
  double refined_;
};

}  // namespace zeroloss::internal
