#include "images/cifar.hpp"
#include "sources/records.hpp"
#include "sources/source_kind.hpp"

/// CIFAR's images as points.
namespace zeroloss::internal {
namespace {

Source read_cifar(const Cifar& cifar) {
  Source source;
  source.d = Cifar::kPixels;
  source.picture = {Cifar::kSide, Cifar::kSide, 3};
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

/// CIFAR-10's test file alone is all there is, whatever the split.
std::optional<Cifar> found(const std::string& path, const std::string& split) {
  auto cifar = find_cifar(path, split);
  return cifar ? cifar : find_cifar(path, "test");
}

}  // namespace

SourceKind cifar_batch() {
  return {SourceKind::Is::file, "", "",
          [](const Asked& asked) {
            return asked.start == nullptr &&
                   asked.ends_in(
                       "data_batch_1.bin data_batch_2.bin data_batch_3.bin data_batch_4.bin "
                       "data_batch_5.bin test_batch.bin");
          },
          [](const std::string& path, const ReadOptions&) { return read_cifar(cifar_batch(path)); }};
}

SourceKind cifar() {
  return {SourceKind::Is::folder, "CIFAR",
          "data_batch_1.bin or test_batch.bin (CIFAR-10), train.bin and test.bin (CIFAR-100)",
          [](const Asked& asked) { return found(asked.text, asked.split).has_value(); },
          [](const std::string& path, const ReadOptions& options) {
            return read_cifar(*found(path, options.split));
          }};
}

}  // namespace zeroloss::internal
