#pragma once
#include <filesystem>

/// Files that are there until they are whole and get their own name.
namespace zeroloss::internal {

struct TemporaryFile {
  std::filesystem::path path;
  int descriptor = -1;  ///< open for writing; -1 where it could not be made, with the reason in errno
};

/// PATH.XXXXXX.tmp with letters that nobody else has: no thread, no process, no other machine that writes
/// into the same folder. What is there already is never touched.
TemporaryFile create_temporary(const std::filesystem::path& path);

/// Whether a file is called as create_temporary calls them.
bool is_temporary(const std::filesystem::path& path);

}  // namespace zeroloss::internal
