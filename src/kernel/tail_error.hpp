#pragma once
#include "kernel/power_sums.hpp"

/// The errors and weights of tail bounds (theory 3).
namespace zeroloss::internal {

/// Bound of |fl32(<x, y>) - exact| for rows of d <= 2^20 numbers rounded to float32, the exact product being
/// that of the unit vectors: any order of summation. 2^-23 more, so that |fl32| + this, rounded, is still >=
/// |exact|. Rounded up.
float float_product_error(Index d);

/// a_k >= 0 with sum over r >= N of c_r x^r <= sum over k of a_k x^(e_k) for x in [0, 1], and room for the
/// roundings of the computed sums of x^(e_k): r ln x is linear in r, so that x^r is at most what the chord
/// between the powers beside r says. A power 1 that the grid lacks is left out.
Vector tail_weights(const PowerGrid& grid, const PowerSeries& series, int N);

/// Bound of what a computed sum of g lacks, for weights of sum 1: rho is off by `error`, and rounding.
double first_sum_error(const PowerGrid& grid, double error);

}  // namespace zeroloss::internal
