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

/// Rank of the antipodal pairs' points: relu's lambda_min is 0 when it is below the number of pairs, since
/// each pair contributes the constant function w -> x. Column-pivoted QR with Eigen's default threshold; not
/// computed (d returned) when there are more pairs than features.
Index antipodal_rank(const RowMatrix& X, const std::vector<std::pair<Index, Index>>& antipodal);

}  // namespace zeroloss
