#pragma once
#include <vector>

#include "zeroloss/linalg/center.hpp"

/// Points divided by their lengths, which is what kernels and theorems are about.
namespace zeroloss {

/// Replaces every row x of X by (x - c)/||x - c|| rounded to double: within unit_row_error(d) of the exact
/// quotient, in Euclidean length. c, of d numbers, is subtracted with 64-bit mantissas from x as it is, so
/// nothing is lost where the two are close. Returns the rows that are c, ascending; if there are any, X stays
/// as it was.
std::vector<Index> unit_rows(RowMatrix& X, const Center& center = {});

/// A bound of what unit_rows changes in a row of d numbers by rounding, in Euclidean length.
double unit_row_error(Index d);

}  // namespace zeroloss
