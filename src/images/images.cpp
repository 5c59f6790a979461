#include "zeroloss/images/images.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>

#include "data/choose.hpp"
#include "download/known.hpp"
#include "images/cifar.hpp"
#include "images/image_folder.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss {
using namespace internal;
namespace {

namespace fs = std::filesystem;

std::ifstream open_set_file(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) throw DataError(path + ": is a folder; expected a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw DataError(path + (fs::exists(path, error) ? ": cannot be opened" : ": no such file"));
  return in;
}

/// Records of one file as they are: one after the other, through `use(i, bytes)`.
template <class Use>
Index for_each_record(const Cifar& cifar, const std::string& file, Use use) {
  std::ifstream in = open_set_file(file);
  const Index n = cifar.records(file, fs::file_size(file));
  std::vector<unsigned char> record(static_cast<std::size_t>(cifar.record_bytes()));
  for (Index i = 0; i < n; ++i) {
    if (!in.read(reinterpret_cast<char*>(record.data()), static_cast<std::streamsize>(record.size())))
      throw DataError(file + ": truncated: it became shorter while read");
    use(i, record);
  }
  return n;
}

void interleave(const unsigned char* planes, std::uint8_t* pixels) {
  constexpr Index kPlane = Cifar::kSide * Cifar::kSide;
  for (Index k = 0; k < kPlane; ++k)
    for (Index c = 0; c < 3; ++c) pixels[3 * k + c] = planes[c * kPlane + k];
}

ImageSet read_cifar(const std::string& name, const Cifar& cifar, const ImageOptions& options,
                    Progress& progress) {
  ImageSet set{.name = name,
               .digest = {},
               .class_names = cifar.class_names,
               .height = Cifar::kSide,
               .width = Cifar::kSide};
  for (int k = 0; set.classes() < cifar.classes; ++k) set.class_names.push_back(fmt::to_string(k));
  Sha256 digest;
  std::vector<Index> sizes;
  sizes.reserve(cifar.files.size());
  progress.stage("labels");
  for (const std::string& file : cifar.files)
    sizes.push_back(for_each_record(cifar, file, [&](Index i, const std::vector<unsigned char>& record) {
      digest.update(record.data(), record.size());
      set.labels.push_back(cifar.label(file, i, record.data()));
      progress.advance(1);
    }));
  set.digest = digest.hex();
  const auto n_source = set.labels.size();
  choose_images(set, options, /*sorted=*/false);
  require_memory(static_cast<double>(set.n() * Cifar::kPixels),
                 fmt::format("{}: {} images of {} bytes", name, set.n(), Cifar::kPixels),
                 "keep fewer images with n");
  set.pixels.resize(static_cast<std::size_t>(set.n() * Cifar::kPixels));
  std::vector<Index> place(n_source, -1);
  for (std::size_t i = 0; i < set.records.size(); ++i)
    place[static_cast<std::size_t>(set.records[i])] = static_cast<Index>(i);
  progress.stage("images", static_cast<double>(n_source));
  Index offset = 0;
  for (std::size_t k = 0; k < cifar.files.size(); offset += sizes[k++]) {
    const Index found =
        for_each_record(cifar, cifar.files[k], [&](Index i, const std::vector<unsigned char>& record) {
          progress.advance(1);
          if (i >= sizes[k]) return;
          const Index to = place[static_cast<std::size_t>(offset + i)];
          if (to >= 0) interleave(record.data() + cifar.label_bytes, set.pixels.data() + to * Cifar::kPixels);
        });
    if (found != sizes[k]) throw DataError(cifar.files[k] + ": its size changed while it was read");
  }
  progress.finish();
  return set;
}

void check_options(const ImageOptions& options) {
  check_choice("read_images", options.n, options.labels, options.seed);
  const auto one_of = [](const char* option, const std::string& value, const char* a, const char* b) {
    if (value != a && value != b)
      throw std::invalid_argument(
          fmt::format("read_images: {} must be {} or {}; got '{}'", option, a, b, excerpt(value)));
  };
  one_of("split", options.split, "train", "test");
  one_of("corrupt", options.corrupt, "refuse", "skip");
}

/// The first of each class, then the second of each, ..; `of` is the class of every record.
void take_turns(std::vector<Index>& records, const std::vector<Index>& of, Index classes) {
  std::vector<Index> turn(of.size()), taken(static_cast<std::size_t>(classes));
  for (const Index record : records) {
    const auto i = static_cast<std::size_t>(record);
    turn[i] = taken[static_cast<std::size_t>(of[i])]++;
  }
  std::ranges::stable_sort(records, {}, [&](Index record) { return turn[static_cast<std::size_t>(record)]; });
}

/// The folder that a source is or a name stands for.
std::string folder_of(const std::string& source, const ImageOptions& options) {
  for (const char* name : {"cifar10", "cifar100"})
    if (source == name)
      for (const KnownSet& known : known_sets())
        if (known.name == name) return cached_folder(known, options.cache, "read_images");
  if (!fs::is_directory(source))
    throw DataError(
        fmt::format("'{}': no such folder, and not a known name; known are cifar10, cifar100", source));
  return source;
}

}  // namespace

void internal::choose_images(ImageSet& set, const ImageOptions& options, bool sorted) {
  std::vector<Index> of(set.labels.begin(), set.labels.end());
  set.records.resize(of.size());
  std::iota(set.records.begin(), set.records.end(), Index{0});
  if (!options.classes.empty()) {
    set.records = records_of_classes(set.name, of, set.class_names, options.classes, set.records);
    std::vector<Index> number(set.class_names.size(), -1);
    std::vector<std::string> names;
    for (std::size_t c = 0; c < number.size(); ++c) {
      if (std::ranges::find(options.classes, set.class_names[c]) == options.classes.end()) continue;
      number[c] = static_cast<Index>(names.size());
      names.push_back(set.class_names[c]);
    }
    for (Index& label : of) label = number[static_cast<std::size_t>(label)];
    set.class_names = std::move(names);
  }
  if (set.classes() < 2)
    throw DataError(fmt::format(
        "{}: its only class is '{}'; classification needs two{}", set.name, excerpt(set.class_names),
        set.remarks.empty() ? "" : fmt::format(" ({})", fmt::join(set.remarks, "; "))));
  const bool turns = sorted && options.n > 0 && !options.shuffle;
  if (turns) take_turns(set.records, of, set.classes());
  keep(set.records, set.name, options.n, options.shuffle, options.seed, options.classes);
  if (turns) std::ranges::sort(set.records);
  Vector y(static_cast<Index>(set.records.size()));
  for (Index i = 0; i < y.size(); ++i)
    y(i) = static_cast<double>(of[static_cast<std::size_t>(set.records[static_cast<std::size_t>(i)])]);
  treat_labels(y, set.classes(), options.labels, options.seed);
  set.labels.assign(y.begin(), y.end());
  set.label_treatment = options.labels;
  if (set.n() == 0) throw DataError(set.name + ": no image of the classes asked for");
}

ImageView ImageSet::view(Index i) const { return {pixels.data() + 3 * i * height * width, height, width}; }

Image ImageSet::image(Index i) const {
  if (!in_memory()) return decode_image(files[static_cast<std::size_t>(i)]);
  const ImageView at = view(i);
  return {height, width, {at.pixels, at.pixels + 3 * height * width}};
}

ImageSet read_images(const std::string& source, const ImageOptions& options, Progress& progress) {
  check_options(options);
  const std::string folder = folder_of(source, options);
  if (const auto cifar = find_cifar(folder, options.split))
    return read_cifar(source, *cifar, options, progress);
  return read_image_folder(source, options, progress);
}

ImageSet read_images(const std::string& source, const ImageOptions& options) {
  Progress silent;
  return read_images(source, options, silent);
}

}  // namespace zeroloss
