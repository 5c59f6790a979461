#pragma once
#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

#include "zeroloss/base/matrix.hpp"

namespace zeroloss::internal {

/// Weights of n points are none or n numbers > 0. Throws std::invalid_argument, which begins with `who`.
inline void check_weights(std::string_view who, const Vector& weights, Index n) {
  if (weights.size() != 0 && weights.size() != n)
    throw std::invalid_argument(fmt::format("{}: {} points, {} weights", who, n, weights.size()));
  if (!weights.allFinite() || !(weights.array() > 0).all())
    throw std::invalid_argument(fmt::format("{}: weights must be positive and finite", who));
}

}  // namespace zeroloss::internal
