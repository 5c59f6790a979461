#pragma once
#include "zeroloss/conv/train.hpp"
#include "zeroloss/storage/tensors.hpp"

/// ConvOptions, checked and worked out.
namespace zeroloss::internal {

/// Throws std::invalid_argument naming an option that is out of its range.
void check(const ConvOptions& options);

/// Steps of the whole schedule for n images.
Index total_steps(const ConvOptions& options, Index n);

/// How training images are prepared.
Augment augment_of(const ConvOptions& options, Index image_size);

/// What a run's weights depend on, by name: a checkpoint goes on with the run of the same identity only.
Metadata identity(const ConvOptions& options, const ImageSet& images, Index steps);

}  // namespace zeroloss::internal
