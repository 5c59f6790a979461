#pragma once
#include <vector>

#include "zeroloss/base/matrix.hpp"

/// Sums that floats hold exactly, whatever their order: all terms are multiples of one power of two, and no
/// partial sum needs more than 24 bits (theory 11).
namespace zeroloss::internal {

constexpr double kFloatIntegers = 0x1p24;  ///< floats hold all integers up to here

/// What the columns of points have in common, the points rounded to floats.
struct Columns {
  Vector largest;  ///< d, largest |x_j|
  Vector quantum;  ///< d, a power of two of which every x_j is a multiple; 0 = more than 24 bits are needed
};
Columns columns_of(const RowMatrix& X);

/// Whether sum_j w_j x_j + b is exact in float32 in any order for all points.
bool is_exact_sum(const Columns& columns, const Eigen::Ref<const Vector>& weights, double b);

/// Integers m_j, not all 0, drawn at random, so that sum_j m_j s_j x_j stays exact with room for a shift as
/// large as itself, for s_j powers of two: as many columns as can be had, and |m_j| as large.
struct ExactWeights {
  std::vector<Index> columns;  ///< that take part, none if no layer of use can be had
  std::size_t chosen = 0;      ///< of these in each row
  double largest = 0;          ///< of |m_j|
};
ExactWeights exact_weights(const Columns& columns, const Vector& scale);

}  // namespace zeroloss::internal
