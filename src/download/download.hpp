#pragma once
#include <filesystem>

#include "zeroloss/download/fetch.hpp"

namespace zeroloss::internal {

/// Downloads one file to `path`, through path.part; size and SHA-256 are verified. Throws as fetch does.
void download(const KnownFile& file, const std::filesystem::path& path, Progress& progress,
              const FetchOptions& options);

/// Puts the folder `kept` of the tar.gz `archive` beside it, whole or not at all. DataError if an entry would
/// land outside the folder or is a link.
void unpack(const std::filesystem::path& archive, const std::string& kept, Progress& progress);

}  // namespace zeroloss::internal
