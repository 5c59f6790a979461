#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "zeroloss/base/progress.hpp"

/// What reading the files of an image folder told, kept from one start of a program to the next: decoding a
/// million photos takes hours.
namespace zeroloss::internal {

/// What one file holds. A digest alone is known of one that was not decoded.
struct FileFacts {
  std::string digest{};       ///< SHA-256 (hex) of its bytes
  bool decoded = false;       ///< whether decoding was tried
  std::string damage{};       ///< what is wrong with it, without its name; empty if nothing, or not decoded
  std::uint64_t bytes = 0;    ///< size then
  std::int64_t modified = 0;  ///< ns since 1970, then
};

/// The facts of one folder, in CACHE/images. Held by one process at a time: others wait, and then need not do
/// the work again. A file is known while its size and time of change are what they were. Without a cache
/// folder, or where it cannot be written, nothing is remembered.
class ImageIndex {
 public:
  /// Waits for a process that holds the index. Throws Interrupted.
  ImageIndex(const std::string& cache, const std::filesystem::path& folder, Progress& progress);
  ~ImageIndex();  ///< keeps what was added
  ImageIndex(const ImageIndex&) = delete;
  ImageIndex& operator=(const ImageIndex&) = delete;

  /// Null if nothing is known of the file as it is now. The pointer lives until add() of the same file.
  const FileFacts* find(const std::string& file) const;
  /// `facts` with the size and time that look() told before the file was read.
  void add(const std::string& file, FileFacts facts);

  /// Size and time of change alone. 0 where the file cannot be seen, or changed within the last two seconds:
  /// another change might leave the same time.
  static FileFacts look(const std::string& file);

 private:
  void load();
  void save() const;

  std::filesystem::path folder_, path_;  // path_ is empty where nothing is remembered
  int lock_ = -1;
  bool changed_ = false;
  std::map<std::string, FileFacts> facts_;  // by the path below folder_
};

}  // namespace zeroloss::internal
