#pragma once
#include <string>
#include <vector>

#include "sources/bytes.hpp"

namespace zeroloss::internal {

struct ZipEntry {
  std::string name;
  Bytes bytes;
};

/// What a zip archive has in it, in its order. Throws DataError if it is none, or damaged.
std::vector<ZipEntry> entries_of(const std::string& path);

/// The one file of an archive, beside folders and what macOS adds. Throws DataError where there are others.
Bytes only_entry(const std::string& path);

}  // namespace zeroloss::internal
