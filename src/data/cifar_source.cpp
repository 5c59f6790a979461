#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "data/cifar.hpp"
#include "data/formats.hpp"
#include "data/image_folder.hpp"
#include "data/records.hpp"
#include "zeroloss/core/digest.hpp"
#include "zeroloss/core/error.hpp"

/// Folders: of binary files, of images.
namespace zeroloss::internal {
namespace {

namespace fs = std::filesystem;

Source read_cifar(const Cifar& cifar) {
  Source source;
  source.d = Cifar::kPixels;
  std::vector<Block> blocks;
  for (const std::string& file : cifar.files) {
    Block block{.bytes = file_bytes(file), .d = Cifar::kPixels, .prefix = cifar.label_bytes};
    block.n = cifar.records(file, block.bytes.size());
    ByteReader reader = block.bytes.open();
    for (Index i = 0; i < block.n; ++i) {
      unsigned char labels[2] = {};
      reader.read(labels, static_cast<std::size_t>(cifar.label_bytes));
      reader.skip(Cifar::kPixels);
      const int label = cifar.label(file, i, labels);
      if (cifar.class_names.empty())
        source.numbers.push_back(label);
      else
        source.texts.push_back(cifar.class_names[static_cast<std::size_t>(label)]);
    }
    source.n += block.n;
    blocks.push_back(std::move(block));
  }
  source.task = Task::classification;
  source.target_name = cifar.classes == 100 ? "fine labels" : "labels";
  source.digest = digest_of(cifar.files);
  source.points = [blocks = std::move(blocks)](const std::vector<Index>& records) {
    return read_rows(blocks, records);
  };
  return source;
}

}  // namespace

Source read_folder(const std::string& path, const std::string& split) {
  if (const auto cifar = find_cifar(path, split)) return read_cifar(*cifar);
  const char* part = split == "train" ? "train" : "t10k";
  for (const char* dash : {"-", "."})
    for (const char* end : {".gz", ""})
      if (const fs::path images = fs::path(path) / fmt::format("{}-images{}idx3-ubyte{}", part, dash, end);
          fs::exists(images))
        return read_idx(images);
  if (is_image_folder(path)) return image_source(path, split);
  throw DataError(
      fmt::format("{}: no {} files known here; expected data_batch_1.bin (CIFAR-10), train.bin and test.bin "
                  "(CIFAR-100), {}-images-idx3-ubyte[.gz] (MNIST) or a folder of jpg, jpeg or png files for "
                  "each class",
                  path, split, part));
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

}  // namespace zeroloss::internal
