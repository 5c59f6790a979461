#pragma once
#include "kernel/power_series.hpp"
#include "zeroloss/kernel/deep.hpp"

/// The tangent kernel of many layers as a power series in rho (theory 15).
namespace zeroloss::internal {

constexpr int kDeepPower = 2048;  ///< coefficients kept

/// deep_tangent(activation, depth) = sum over r of k_r rho^r: c_r <= k_r, rounded down, of which none is far
/// below where a double can hold it, and the bounds of the sum of all further k_r. Throws
/// std::invalid_argument for a user's activation and for a depth out of range. Cost: some 10 ms a layer,
/// three times as much for smooth ones.
PowerSeries deep_series(const Activation& activation, const Depth& depth);

}  // namespace zeroloss::internal
