#pragma once
#include <utility>
#include <vector>

#include "zeroloss/core/matrix.hpp"

/// Points that coincide, and what that does to lambda_min (theory 2).
namespace zeroloss {

/// Rows of unit length are equal when ||x_i - x_j|| <= 8 u, antipodal when ||x_i + x_j|| <= 8 u (u = 2^-53).
struct Coincidences {
  std::vector<std::vector<Index>> groups;          ///< two or more equal rows each; rows and groups ascending
  std::vector<std::pair<Index, Index>> antipodal;  ///< pairs of distinct rows, i < j, ascending
  std::vector<Index> distinct;  ///< the first of every group and every row that stands alone, ascending
};

/// Finds them by sorting a random projection: O(n d + n log n) unless many rows coincide.
Coincidences coincidences(const RowMatrix& X);

/// By how many the antipodal pairs (a point counted in one pair only) exceed the rank of their points: at
/// least that where there are more pairs than features. Where phi' is a constant plus an odd function, each
/// pair contributes the constant function w -> x, so lambda_min is 0 if this is positive. Column-pivoted QR
/// with Eigen's default threshold.
Index dependent_pairs(const RowMatrix& X, const std::vector<std::pair<Index, Index>>& antipodal);

}  // namespace zeroloss
