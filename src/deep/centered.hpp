#pragma once
#include "zeroloss/data/dataset.hpp"
#include "zeroloss/deep/network.hpp"

namespace zeroloss::internal {

/// Has `network` subtract from points, before they are multiplied by powers of two (`scale`; empty: by 1),
/// what `center` is once they are: the whole mean over the scale, which is exact.
inline void subtract_center(DeepNetwork& network, const Center& center, const Vector& scale, Index features) {
  if (center.empty()) return;
  network.shift = center.high.head(features);
  if ((center.low.array() != 0).any()) network.shift_low = center.low.head(features);
  if (scale.size() == 0) return;
  network.shift.array() /= scale.array();
  if (network.shift_low.size() > 0) network.shift_low.array() /= scale.array();
}

}  // namespace zeroloss::internal
