#pragma once
#include "zeroloss/images/images.hpp"

/// Folders ROOT/CLASS/*.jpg, see read_images.
namespace zeroloss::internal {

/// Whether there is an image where read_images looks for the train split.
bool is_image_folder(const std::string& path);

ImageSet read_image_folder(const std::string& path, const ImageOptions& options, Progress& progress);

/// Applies classes, n, shuffle and labels of the options to a set whose `class_names` are those of the source
/// and whose `labels` are those of all its records; fills in `records` and `label_treatment`. `sorted`:
/// records lie class by class, so that the first n are taken from the classes in turn.
void choose_images(ImageSet& set, const ImageOptions& options, bool sorted);

}  // namespace zeroloss::internal
