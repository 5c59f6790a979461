#pragma once
#include <filesystem>

/// What a power cut leaves: a file's bytes once the file is flushed, its name once its folder is.
namespace zeroloss::internal {

/// Names in `folder` ("": here) stay. Some file systems have no handle for folders: nothing to be done there.
void flush_folder(const std::filesystem::path& folder);

/// create_directories, with all their names flushed. Throws std::filesystem::filesystem_error.
void create_folders(const std::filesystem::path& folder);

}  // namespace zeroloss::internal
