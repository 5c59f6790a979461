#pragma once
#include <cstddef>

#include "zeroloss/kernel/gram.hpp"

/// The kernel's entries from inner products, vectorised for the processor at hand.
namespace zeroloss::internal {

constexpr Index kTile = 512;        ///< rows and columns of a tile: 2 MB of doubles, about one L2 cache
constexpr Index kTilesAtOnce = 64;  ///< between two progress reports

/// Multiply-adds of n m entries, more or less: an inner product and k of it.
inline double kernel_work(Index n, Index m, Index d) {
  return static_cast<double>(n) * static_cast<double>(m) * static_cast<double>(d + 50);
}

}  // namespace zeroloss::internal

namespace zeroloss::internal::entries {

/// max |values[i]|, 0 for none. NaN is not expected.
template <class T>
T largest(const T* values, std::size_t count);

/// Replaces every rho by k(rho), rho clamped to [-1, 1]. Within kernel.error() of the exact value for double;
/// of a kernel of many layers where 1 - |rho| >= 2^-20.
template <class T>
void map(const Kernel& kernel, T* values, std::size_t count);

/// sum of 1/(1 - rho^2), what relu's entry error is made of; entries with 1 - |rho| <= cut count as 0.
double singular_sum(const double* values, std::size_t count, double cut);

}  // namespace zeroloss::internal::entries
