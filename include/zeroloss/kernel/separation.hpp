#pragma once
#include <utility>
#include <vector>

#include "zeroloss/base/matrix.hpp"
#include "zeroloss/linalg/unit_rows.hpp"

/// Points that coincide once they are divided by their lengths, decided exactly, and what that does to
/// lambda_min (theory 2).
namespace zeroloss {

/// Two points and their distance, ||x_i - x_j||, or ||x_i + x_j|| for an antipodal pair.
struct Pair {
  Index i = 0, j = 0;  ///< rows of X, i > j
  double distance = 0;
  bool antipodal = false;  ///< x_i is near -x_j
};

/// Rows x_i - c and x_j - c are equal points if one is a positive multiple of the other in exact arithmetic,
/// antipodal if it is a negative one.
struct Coincidences {
  std::vector<std::vector<Index>> groups;          ///< two or more equal rows each; rows and groups ascending
  std::vector<std::pair<Index, Index>> antipodal;  ///< pairs of distinct rows, i < j, ascending
  std::vector<Index> distinct;  ///< the first of every group and every row that stands alone, ascending
  /// Different points closer than 1e-6 up to sign, nearest first; of a crowd of them not every pair.
  std::vector<Pair> near;
};

/// `unit` holds the rows of `points` less the center as normalize_rows leaves them: there candidates are
/// found, by sorting a random projection. What is equal is then decided by integers: O(n d + n log n), and
/// some microseconds a number for rows that nearly coincide without having the same numbers.
Coincidences coincidences(const RowMatrix& unit, const RowMatrix& points, const Center& center = {});

/// By how many the antipodal pairs exceed the rank of their points, a lower bound: where there are more pairs
/// than features the difference at least; otherwise exact for up to 40 pairs, and 0 for more. Where phi' is a
/// constant plus an odd function, each pair contributes the constant function w -> x, so lambda_min is 0 if
/// this is positive.
Index dependent_pairs(const RowMatrix& points, const Center& center,
                      const std::vector<std::pair<Index, Index>>& antipodal);

}  // namespace zeroloss
