#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "data/formats.hpp"
#include "data/records.hpp"
#include "zeroloss/core/digest.hpp"
#include "zeroloss/core/error.hpp"

/// Folders of binary files. CIFAR: https://www.cs.toronto.edu/~kriz/cifar.html
namespace zeroloss {
namespace {

namespace fs = std::filesystem;

/// A record is `label_bytes` labels, of which the last one counts, then 3072 pixels.
struct Cifar {
  std::vector<std::string> files;
  std::string names_file;
  Index label_bytes = 1;
  int classes = 10;
};

constexpr Index kPixels = 3 * 32 * 32;

/// Lines of the names file; the numbers 0..classes-1 if there is none.
std::vector<std::string> class_names(const fs::path& path, int classes) {
  std::vector<std::string> names;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) names.push_back(line);
  }
  const bool distinct = std::set(names.begin(), names.end()).size() == names.size();
  if (!names.empty() && (names.size() != static_cast<std::size_t>(classes) || !distinct))
    throw DataError(fmt::format("{}: found {} class names{}; expected {} different ones", path.string(),
                                names.size(), distinct ? "" : ", some of them twice", classes));
  return names;
}

Source read_cifar(const fs::path& folder, const Cifar& cifar) {
  const std::vector<std::string> names = class_names(folder / cifar.names_file, cifar.classes);
  Source source;
  source.d = kPixels;
  std::vector<Block> blocks;
  std::vector<std::string> paths;
  for (const std::string& file : cifar.files) {
    const std::string path = folder / file;
    Block block{.bytes = file_bytes(path), .d = kPixels, .prefix = cifar.label_bytes};
    const Index record = cifar.label_bytes + kPixels;
    const std::uint64_t size = block.bytes.size();
    block.n = static_cast<Index>(size / static_cast<std::uint64_t>(record));
    if (size % static_cast<std::uint64_t>(record) != 0 || size == 0)
      throw DataError(fmt::format(
          "{}: truncated: found {} bytes, expected a multiple of {} (label and pixels of a record)", path,
          size, record));
    ByteReader reader = block.bytes.open();
    for (Index i = 0; i < block.n; ++i) {
      unsigned char labels[2] = {};
      reader.read(labels, static_cast<std::size_t>(cifar.label_bytes));
      reader.skip(kPixels);
      const int label = labels[cifar.label_bytes - 1];
      if (label >= cifar.classes)
        throw DataError(
            fmt::format("{}: record {}: label {}; expected 0 to {}", path, i, label, cifar.classes - 1));
      if (names.empty())
        source.numbers.push_back(label);
      else
        source.texts.push_back(names[static_cast<std::size_t>(label)]);
    }
    source.n += block.n;
    blocks.push_back(std::move(block));
    paths.push_back(path);
  }
  source.task = Task::classification;
  source.target_name = cifar.classes == 100 ? "fine labels" : "labels";
  source.digest = digest_of(paths);
  source.points = [blocks = std::move(blocks)](const std::vector<Index>& records) {
    return read_rows(blocks, records);
  };
  return source;
}

}  // namespace

Source read_folder(const std::string& path, const std::string& split) {
  const bool train = split == "train";
  for (const fs::path& folder : {fs::path(path), fs::path(path) / "cifar-10-batches-bin"}) {
    if (!fs::exists(folder / "data_batch_1.bin")) continue;
    Cifar cifar{.files = {"test_batch.bin"}, .names_file = "batches.meta.txt"};
    if (train) {
      cifar.files = {"data_batch_1.bin"};
      for (int k = 2; k <= 5; ++k)
        if (const std::string next = fmt::format("data_batch_{}.bin", k); fs::exists(folder / next))
          cifar.files.push_back(next);
    }
    return read_cifar(folder, cifar);
  }
  for (const fs::path& folder : {fs::path(path), fs::path(path) / "cifar-100-binary"})
    if (fs::exists(folder / "train.bin") && fs::exists(folder / "test.bin"))
      return read_cifar(folder, {{split + ".bin"}, "fine_label_names.txt", 2, 100});
  for (const char* dash : {"-", "."})
    for (const char* end : {".gz", ""}) {
      const auto images = [&](const char* part) {
        return fs::path(path) / fmt::format("{}-images{}idx3-ubyte{}", part, dash, end);
      };
      if (fs::exists(images(train ? "train" : "t10k"))) return read_idx(images(train ? "train" : "t10k"));
    }
  throw DataError(
      fmt::format("{}: no {} files known here; expected data_batch_1.bin (CIFAR-10), train.bin and test.bin "
                  "(CIFAR-100) or {}-images-idx3-ubyte[.gz] (MNIST)",
                  path, split, train ? "train" : "t10k"));
}

std::string digest_of(const std::vector<std::string>& paths) {
  if (paths.size() == 1) return sha256_file(paths.front());
  Sha256 digest;
  std::vector<char> buffer(1 << 16);
  for (const std::string& path : paths) {
    std::ifstream in(path, std::ios::binary);
    while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0)
      digest.update(buffer.data(), static_cast<std::size_t>(in.gcount()));
    if (in.bad() || !in.eof()) throw DataError(path + ": reading failed");
  }
  return digest.hex();
}

}  // namespace zeroloss
