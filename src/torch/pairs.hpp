#pragma once
#include <torch/types.h>

#include <vector>

namespace zeroloss::internal {

/// An entry of a tile: its place in row-major order, and |rho|.
struct Found {
  std::int64_t place;
  double size;
};

/// Of the sizes in a contiguous tile: all from `all` on, and of those from `least` on whatever may be among
/// the 16 largest when each is off by `error`; ascending places. Sizes below 0 never.
std::vector<Found> largest_pairs(const torch::Tensor& size, double least, double error, double all);

}  // namespace zeroloss::internal
