#include <fmt/format.h>

#include <filesystem>

#include "images/decode.hpp"
#include "images/image_folder.hpp"
#include "sources/source_kind.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/images/images.hpp"

namespace zeroloss::internal {
namespace {

/// Planar, as the points of CIFAR are.
void copy_planes(const DeepImage& image, double* row) {
  const Index plane = image.height * image.width;
  for (Index k = 0; k < plane; ++k)
    for (Index c = 0; c < 3; ++c) row[c * plane + k] = image.pixels[static_cast<std::size_t>(3 * k + c)];
}

/// Their paths in the folder: "cat/7.png".
std::vector<std::string> names_of(const std::string& folder, const std::vector<std::string>& files) {
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const std::string& file : files)
    names.push_back(std::filesystem::path(file).lexically_relative(folder).string());
  return names;
}

DeepImage resized(const std::string& file, Index pixels) {
  const Image image = resize(zeroloss::decode_image(file), pixels, pixels);
  return {image.height, image.width, {image.pixels.begin(), image.pixels.end()}};
}

/// Points of height x width x 3 numbers 0..255, from images of one size, or that are brought to one.
Source image_source(const std::string& path, const ReadOptions& options) {
  ImageSet set = read_images(path, {.split = options.split});
  const auto decoded = [pixels = options.resize](const std::string& file) {
    return pixels > 0 ? resized(file, pixels) : decode_deep(file);
  };
  const DeepImage first = decoded(set.files[0]);
  const auto check = [height = first.height, width = first.width, name = set.files[0]](
                         const DeepImage& image, const std::string& file) {
    if (image.height == height && image.width == width) return;
    throw DataError(fmt::format(
        "{} is {} x {} and {} is {} x {}; points need images of one size: say `resize=64`, or another number "
        "of pixels",
        name, height, width, file, image.height, image.width));
  };
  Source source;
  source.n = set.n();
  source.d = 3 * first.height * first.width;
  source.ids = names_of(path, set.files);
  source.picture = {first.height, first.width, 3};
  source.resized = options.resize > 0;
  for (const std::int64_t label : set.labels)
    source.texts.push_back(set.class_names[static_cast<std::size_t>(label)]);
  source.task = Task::classification;
  source.target_name = "class folders";
  source.digest = set.digest;
  source.remarks = set.remarks;
  source.points = [set = std::move(set), check, decoded, d = source.d](const std::vector<Index>& records) {
    RowMatrix X(static_cast<Index>(records.size()), d);
    for (Index i = 0; i < X.rows(); ++i) {
      const Index record = records[static_cast<std::size_t>(i)];
      const std::string& file = set.files[static_cast<std::size_t>(record)];
      const DeepImage image = decoded(file);
      check(image, file);
      copy_planes(image, X.row(i).data());
    }
    return X;
  };
  return source;
}

}  // namespace

SourceKind image_folder() {
  return {SourceKind::Is::folder, "image", "a folder of jpg, jpeg or png files for each class",
          [](const Asked& asked) { return is_image_folder(asked.text); }, image_source};
}

}  // namespace zeroloss::internal
