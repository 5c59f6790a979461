#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

/// Run folders: whole or absent.
namespace zeroloss {

/// A result on disk. While work goes on it is PATH.partial; finish() renames it to PATH, so a PATH that
/// exists is complete. Who writes it holds a lock, which the system releases when the process ends in
/// whatever way; where a file system has no locks there is none.
class RunFolder {
 public:
  enum class Writers { one, several };  ///< several: processes that all say so share the folder
  /// What a run leaves in PATH.partial that did not finish: all that it has written, to be resumed, or
  /// nothing.
  enum class Rest { kept, removed };

  /// Creates PATH.partial. Throws std::invalid_argument if PATH exists, if another process is writing it, or
  /// if PATH.partial is a file, or has something in it (an empty one is nobody's work and is taken over)
  /// unless `resume`; ResourceError if it cannot be created. A link to nowhere is refused like a PATH that
  /// exists.
  explicit RunFolder(std::filesystem::path path, bool resume = false, Writers writers = Writers::one,
                     Rest rest = Rest::kept);

  /// Removes the files that were written if nothing is to be left, and PATH.partial if it was made here and
  /// is empty. Nothing else is removed.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& partial() const { return partial_; }
  /// PATH.partial, also of a PATH with a slash at its end.
  static std::filesystem::path partial_of(const std::filesystem::path& path);

  /// Whether points of any size are copied into it, for another program to read.
  void copy_points(bool all) { copies_points_ = all; }
  bool copies_points() const { return copies_points_; }

  /// Where to write a file of the folder.
  std::filesystem::path file(const std::string& name);

  /// Writes a file of the folder atomically: to a temporary name, flushed to disk, renamed. Throws
  /// ResourceError with the system's reason (disk full, ..); a file of that name from before is then intact.
  void write(const std::string& name, std::string_view content);

  /// Removes a file of the folder, if it is there.
  void remove(const std::string& name);

  /// Flushes and renames PATH.partial to PATH. Throws ResourceError if that fails; nothing is lost then.
  void finish();

 private:
  void make();
  void lock(Writers writers);
  void clear();

  std::filesystem::path path_, partial_;
  std::set<std::string> written_;
  Rest rest_;
  bool made_ = false, finished_ = false, alone_ = false, copies_points_ = false;
  int lock_ = -1;  ///< a descriptor of the folder itself, so that no file of the lock can stay behind
};

/// What result.json says of a run that has finished.
struct FinishedRun {
  std::string status;
  std::int64_t steps = 0;
  std::string result;  ///< the file
};

/// Nothing where PATH is no folder, or no run with a status and steps.
std::optional<FinishedRun> finished_run(const std::filesystem::path& path);

/// One file written whole or not at all, as RunFolder::write does. A link is followed: the file that it names
/// is replaced, or made. A file that is replaced keeps its permissions. Devices and pipes stay what they are
/// and are written to. Throws ResourceError with the system's reason, also for a folder.
void write_file(const std::filesystem::path& path, std::string_view content);

/// The same for pieces that follow one another, without putting them together first.
void write_file(const std::filesystem::path& path, std::span<const std::string_view> pieces);

/// What manifest.json says about where a run happened: host processor, memory, threads, BLAS, versions; one
/// JSON object.
std::string machine_json();

}  // namespace zeroloss
