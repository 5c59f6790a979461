#pragma once
#include <algorithm>
#include <vector>

namespace zeroloss::internal {

/// The middle one, of an even number the upper of two; at least one value.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace zeroloss::internal
