#include <fmt/format.h>

#include <filesystem>

#include "sources/records.hpp"
#include "sources/source_kind.hpp"
#include "zeroloss/base/error.hpp"

/// The idx format of MNIST: http://yann.lecun.com/exdb/mnist/
namespace zeroloss::internal {
namespace {

struct Idx {
  Block block;
  int dimensions = 0;
  std::vector<Index> sizes{};  // of a record
};

Idx open_idx(const std::string& path) {
  Idx idx{{.bytes = file_bytes(path)}};
  ByteReader reader = idx.block.bytes.open();
  unsigned char magic[4] = {};
  const std::size_t got = reader.read(magic, sizeof magic);
  using Kind = Element::Kind;
  switch (magic[2]) {
    case 0x08:
      idx.block.element = {Kind::unsigned_integer, 1, true};
      break;
    case 0x09:
      idx.block.element = {Kind::signed_integer, 1, true};
      break;
    case 0x0B:
      idx.block.element = {Kind::signed_integer, 2, true};
      break;
    case 0x0C:
      idx.block.element = {Kind::signed_integer, 4, true};
      break;
    case 0x0D:
      idx.block.element = {Kind::real, 4, true};
      break;
    case 0x0E:
      idx.block.element = {Kind::real, 8, true};
      break;
    default:
      magic[0] = 1;
  }
  if (got < sizeof magic && magic[0] == 0 && magic[1] == 0)
    throw DataError(fmt::format("{}: truncated: found {} bytes, expected an idx header", path, got));
  if (got < sizeof magic || magic[0] != 0 || magic[1] != 0 || magic[3] == 0)
    throw DataError(fmt::format(
        "{}: not an idx file: expected it to begin with 0, 0, a type (8, 9, 11 to 14) and a number "
        "of dimensions",
        path));
  idx.dimensions = magic[3];
  std::vector<std::int64_t> sizes;
  for (int k = 0; k < idx.dimensions; ++k) {
    unsigned char word[4] = {};
    if (reader.read(word, sizeof word) != sizeof word)
      throw DataError(path + ": truncated: it ends inside the idx header");
    sizes.push_back(std::int64_t{word[0]} << 24 | word[1] << 16 | word[2] << 8 | word[3]);
  }
  idx.block.header = 4 + 4 * sizes.size();
  idx.block.n = sizes[0];
  idx.sizes.assign(sizes.begin() + 1, sizes.end());
  idx.block.d = size_product({sizes.begin() + 1, sizes.end()}, path);
  idx.block.check_size();
  return idx;
}

/// "train-images-idx3-ubyte.gz" -> "train-labels-idx1-ubyte.gz", with or without .gz; "" if there is no such
/// file.
std::string labels_path(const std::filesystem::path& images) {
  std::string name = images.filename();
  const std::size_t word = name.find("images");
  if (word == std::string::npos) return {};
  name.replace(word, 6, "labels");
  if (const std::size_t idx = name.find("idx3"); idx != std::string::npos) name.replace(idx, 4, "idx1");
  const std::string other = name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name + ".gz";
  for (const std::string& candidate : {name, other})
    if (const auto path = images.parent_path() / candidate; std::filesystem::exists(path)) return path;
  return {};
}

Source read_idx(const std::string& path) {
  const Idx images = open_idx(path);
  if (images.dimensions < 2)
    throw DataError(
        path +
        ": has one dimension, so it holds labels; give the images file, its labels are found beside it");
  Source source;
  source.n = images.block.n;
  source.d = images.block.d;
  source.picture = picture_of_sizes(images.sizes);
  source.points = [block = images.block](const std::vector<Index>& records) {
    return read_rows({block}, records);
  };
  const std::string beside = labels_path(path);
  if (beside.empty()) {
    source.digest = digest_of({path});
    return source;
  }
  const Idx labels = open_idx(beside);
  if (labels.dimensions != 1)
    throw DataError(
        fmt::format("{}: has {} dimensions; expected 1, a label for each image", beside, labels.dimensions));
  if (labels.block.n != source.n)
    throw DataError(
        fmt::format("{}: {} labels, but {} has {} images", beside, labels.block.n, path, source.n));
  source.numbers = read_all(labels.block);
  source.task = Task::classification;
  source.target_name = "labels file " + std::filesystem::path(beside).filename().string();
  source.digest = digest_of({path, beside});
  return source;
}

/// In a folder of MNIST; empty if there is none.
std::string images_path(const std::string& folder, const std::string& split) {
  for (const char* dash : {"-", "."})
    for (const char* end : {".gz", ""})
      if (const auto path =
              std::filesystem::path(folder) /
              fmt::format("{}-images{}idx3-ubyte{}", split == "train" ? "train" : "t10k", dash, end);
          std::filesystem::exists(path))
        return path;
  return {};
}

}  // namespace

SourceKind idx() {
  return {SourceKind::Is::file, "idx, idx.gz", "",
          [](const Asked& asked) {
            if (asked.start == nullptr) return asked.ends_in(".idx .idx.gz -ubyte -ubyte.gz");
            const std::string& start = *asked.start;
            return start.size() >= 4 && start[0] == 0 && start[1] == 0 && start[2] >= 8 && start[2] <= 14;
          },
          [](const std::string& path, const ReadOptions&) { return read_idx(path); }};
}

SourceKind mnist() {
  return {SourceKind::Is::folder, "MNIST", "{}-images-idx3-ubyte[.gz] (MNIST)",
          [](const Asked& asked) { return !images_path(asked.text, asked.split).empty(); },
          [](const std::string& path, const ReadOptions& options) {
            return read_idx(images_path(path, options.split));
          }};
}

}  // namespace zeroloss::internal
