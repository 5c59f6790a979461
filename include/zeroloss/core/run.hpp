#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

/// Run folders: whole or absent.
namespace zeroloss {

/// A result on disk. While work goes on it is PATH.partial; finish() renames it to PATH, so a PATH that
/// exists is complete.
class RunFolder {
 public:
  /// Creates PATH.partial. Throws std::invalid_argument if PATH exists, or PATH.partial with something in it
  /// (an empty one is nobody's work and is taken over) unless `resume`; ResourceError if it cannot be
  /// created.
  explicit RunFolder(std::filesystem::path path, bool resume = false);

  /// Removes PATH.partial if nothing was written into it; otherwise leaves it.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& partial() const { return partial_; }

  /// Writes a file of the folder atomically: to a temporary name, flushed to disk, renamed. Throws
  /// ResourceError with the system's reason (disk full, ..); a file of that name from before is then intact.
  void write(const std::string& name, std::string_view content);

  /// Removes a file of the folder, if it is there.
  void remove(const std::string& name);

  /// Flushes and renames PATH.partial to PATH. Throws ResourceError if that fails; nothing is lost then.
  void finish();

 private:
  std::filesystem::path path_, partial_;
};

/// One file written whole or not at all, as RunFolder::write does.
void write_file(const std::filesystem::path& path, std::string_view content);

/// The same for pieces that follow one another, without putting them together first.
void write_file(const std::filesystem::path& path, std::span<const std::string_view> pieces);

/// What manifest.json says about where a run happened: host processor, memory, threads, BLAS, versions; one
/// JSON object.
std::string machine_json();

}  // namespace zeroloss
