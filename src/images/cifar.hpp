#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "zeroloss/base/matrix.hpp"

/// Folders of CIFAR files: https://www.cs.toronto.edu/~kriz/cifar.html
namespace zeroloss::internal {

/// The files of one split. A record is `label_bytes` labels, of which the last one counts, then the pixels:
/// 32 x 32 red ones, as many green ones, as many blue ones.
struct Cifar {
  std::vector<std::string> files{};
  std::vector<std::string> class_names{};  ///< of the names file; empty if there is none
  Index label_bytes = 1;
  int classes = 10;

  static constexpr Index kSide = 32, kPixels = 3 * kSide * kSide;
  Index record_bytes() const { return label_bytes + kPixels; }

  /// Records in a file of this many bytes. DataError unless they are whole, and at least one.
  Index records(const std::string& file, std::uint64_t bytes) const;
  /// The label of record i, of which `labels` are the first bytes. DataError if it is out of range.
  int label(const std::string& file, Index i, const unsigned char* labels) const;
};

/// CIFAR-10 or CIFAR-100 in `path` or in the folder that their archives unpack to; nothing if neither is
/// there. `split` is train or test. DataError for a wrong file of class names.
std::optional<Cifar> find_cifar(const std::string& path, const std::string& split);

/// One file of CIFAR-10, with the class names beside it.
Cifar cifar_batch(const std::string& file);

}  // namespace zeroloss::internal
