#pragma once
#include <filesystem>
#include <string>

#include "zeroloss/download/fetch.hpp"

namespace zeroloss::internal {

/// Whether the file lies in the folder with its full size, an archive unpacked.
bool is_there(const KnownFile& file, const std::filesystem::path& folder);

/// Where the files of the set lie. std::invalid_argument (it begins with the name of the `function`) without
/// a cache, DataError if the set is not in it.
std::string cached_folder(const KnownSet& set, const std::string& cache, const std::string& function);

}  // namespace zeroloss::internal
