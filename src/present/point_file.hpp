#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "zeroloss/data/dataset.hpp"

/// Points that another program reads where they are.
namespace zeroloss::internal {

/// The file that points were read from, as an array of claims: its path, type, shape and digest. `rows`:
/// which of its rows the points are; empty where they are all of them, in order.
struct PointFile {
  Json array;
  std::vector<Index> rows;
};

/// Nothing unless the source is an .npy file of two dimensions, of float64, float32 or uint8, which has the
/// numbers of these points, bit for bit.
std::optional<PointFile> point_file(const Dataset& data);

}  // namespace zeroloss::internal
