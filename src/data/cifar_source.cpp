#include "data/cifar.hpp"
#include "data/records.hpp"
#include "data/source_kind.hpp"

/// CIFAR's images as points.
namespace zeroloss::internal {
namespace {

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

SourceKind cifar() {
  return {SourceKind::Is::folder, "CIFAR", "data_batch_1.bin (CIFAR-10), train.bin and test.bin (CIFAR-100)",
          [](const Asked& asked) { return find_cifar(asked.text, asked.split).has_value(); },
          [](const std::string& path, const ReadOptions& options) {
            return read_cifar(*find_cifar(path, options.split));
          }};
}

}  // namespace zeroloss::internal
