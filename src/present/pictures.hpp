#pragma once
#include <string>
#include <vector>

#include "zeroloss/base/run.hpp"
#include "zeroloss/data/dataset.hpp"

/// Points that are images, for people who look at an answer.
namespace zeroloss::internal {

/// {"height", "width", "channels", "samples": {"record": pixels}} for those of `records` that `data` has,
/// each record once. Pixels are two hexadecimal digits each, scaled so that the largest value of the data,
/// less the least if that is negative, is ff; row by row, colours of a pixel side by side. Pictures of more
/// than 256 pixels each way are shrunk. Empty if the points are no pictures, as picture_of says.
std::string pictures_json(const Dataset& data, const std::vector<Index>& records);

/// pictures.json of these, if the points are images.
void write_pictures(RunFolder& folder, const Dataset& data, const std::vector<Index>& records);

}  // namespace zeroloss::internal
