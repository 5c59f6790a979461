#pragma once
#include <vector>

#include "zeroloss/linalg/center.hpp"

/// Rows with 64 bits of mantissa.
namespace zeroloss::internal {

/// Row i of X less the center: each number within 3.1 2^-64 of itself, and 0 only if it is 0.
void centered_row(const RowMatrix& X, Index i, const Center& center, std::vector<long double>& row);

/// Its Euclidean length, within (128 + d/128) 2^-64 of itself, d its numbers.
long double length_of(const std::vector<long double>& row);

}  // namespace zeroloss::internal
