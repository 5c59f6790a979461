#pragma once
#include <string>
#include <vector>

#include "zeroloss/base/run.hpp"
#include "zeroloss/data/dataset.hpp"

/// Points that are images, for people who look at an answer.
namespace zeroloss::internal {

/// {"height", "width", "channels", "samples": {"record": pixels}} for those of `records` that `data` has,
/// each record once. Pixels are two hexadecimal digits each, scaled so that the largest value of the data is
/// ff; row by row, colours of a pixel side by side. Empty if the points are no images: these have 8 x 8 (as
/// digits), 28 x 28 (MNIST) or 3 planes of 32 x 32 values (CIFAR), all of them in [0, 1] or whole numbers up
/// to 255.
std::string pictures_json(const Dataset& data, const std::vector<Index>& records);

/// pictures.json of these, if the points are images.
void write_pictures(RunFolder& folder, const Dataset& data, const std::vector<Index>& records);

}  // namespace zeroloss::internal
