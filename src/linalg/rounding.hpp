#pragma once
#include "zeroloss/base/ieee.hpp"

/// What the error analyses of proven bounds share, for IEEE doubles rounded to nearest: never -ffast-math.
namespace zeroloss::internal {

constexpr double u = 0x1p-53;  ///< unit roundoff

/// (1 + u)^k <= 1 + gamma_of(k): the relative error of k roundings.
constexpr double gamma_of(double k) { return k * u / (1 - k * u); }

/// Cover the roundings of a sum of k terms of one sign while k u < 2^-31, in place of directed rounding, and
/// of the few operations around it.
constexpr double kUp = 1 + 0x1p-30, kDown = 1 - 0x1p-30;

constexpr double kTiny = 0x1p-1022;  ///< lost at most where a result is flushed to zero

/// The smaller of two; NaN if one is. std::min(a, b) is a where b is NaN.
constexpr double smaller(double a, double b) { return a < b || a != a ? a : b; }

}  // namespace zeroloss::internal
