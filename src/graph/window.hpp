#pragma once
#include "graph/operators.hpp"

/// Windows that slide over the axes behind batch and channels: of convolutions and pooling.
namespace zeroloss::internal::graph {

struct Windows {
  Shape out;        ///< number of windows along each axis
  Index count = 1;  ///< of windows
  Index cells = 1;  ///< of a window
  /// cells x count: the place in a channel that a cell of a window sees, -1 where it is padding.
  std::vector<Index> places;
  double overlap = 1;  ///< windows that one place is in, at most
  std::vector<Index> within =
      {};  ///< of each window: cells on the tensor or its padding, not beyond (ceil_mode)
};

/// As kernel_shape (or `kernel` where it is given), strides, dilations, pads, auto_pad and ceil_mode say,
/// over `sizes`, the axes of a value behind the first two.
Windows windows_of(const Call& call, const Shape& sizes, Shape kernel);

}  // namespace zeroloss::internal::graph
