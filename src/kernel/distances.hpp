#pragma once
#include <cmath>

#include "zeroloss/base/matrix.hpp"

namespace zeroloss::internal {

constexpr double kNear = 1e-6;  ///< 1 - |rho| of a near pair, whose angle is measured on the vectors

struct Distances {
  double apart, across;  ///< ||x - y||, ||x + y||
};

/// Of two points of d numbers. Summed in long double: relative error below 4 u for any d up to 2^9, growing
/// as d 2^-64.
template <class T>
Distances distances(const T* x, const T* y, Index d) {
  long double apart = 0, across = 0;
  for (Index k = 0; k < d; ++k) {
    const long double a = x[k], b = y[k];
    apart += (a - b) * (a - b);
    across += (a + b) * (a + b);
  }
  return {static_cast<double>(std::sqrt(apart)), static_cast<double>(std::sqrt(across))};
}

}  // namespace zeroloss::internal
