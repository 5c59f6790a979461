#include "images/cifar.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "zeroloss/base/error.hpp"

namespace zeroloss::internal {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

Index Cifar::records(const std::string& file, std::uint64_t bytes) const {
  const auto record = static_cast<std::uint64_t>(record_bytes());
  if (bytes % record != 0 || bytes == 0)
    throw DataError(
        fmt::format("{}: truncated: found {} bytes, expected a multiple of {} (label and pixels of a record)",
                    file, bytes, record));
  return static_cast<Index>(bytes / record);
}

int Cifar::label(const std::string& file, Index i, const unsigned char* labels) const {
  const int label = labels[label_bytes - 1];
  if (label >= classes)
    throw DataError(fmt::format("{}: record {}: label {}; expected 0 to {}", file, i, label, classes - 1));
  return label;
}

std::optional<Cifar> find_cifar(const std::string& path, const std::string& split) {
  for (const fs::path& folder : {fs::path(path), fs::path(path) / "cifar-10-batches-bin"}) {
    const bool test = split == "test";
    if (!fs::exists(folder / "data_batch_1.bin") && !(test && fs::exists(folder / "test_batch.bin")))
      continue;
    Cifar cifar;
    if (test) {
      cifar.files = {folder / "test_batch.bin"};
    } else {
      cifar.files = {folder / "data_batch_1.bin"};
      for (int k = 2; k <= 5; ++k)
        if (const fs::path next = folder / fmt::format("data_batch_{}.bin", k); fs::exists(next))
          cifar.files.push_back(next);
    }
    cifar.class_names = class_names(folder / "batches.meta.txt", cifar.classes);
    return cifar;
  }
  for (const fs::path& folder : {fs::path(path), fs::path(path) / "cifar-100-binary"})
    if (fs::exists(folder / "train.bin") && fs::exists(folder / "test.bin"))
      return Cifar{{folder / (split + ".bin")}, class_names(folder / "fine_label_names.txt", 100), 2, 100};
  return std::nullopt;
}

Cifar cifar_batch(const std::string& file) {
  Cifar cifar{.files = {file}};
  cifar.class_names = class_names(fs::path(file).parent_path() / "batches.meta.txt", cifar.classes);
  return cifar;
}

}  // namespace zeroloss::internal
