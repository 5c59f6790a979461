#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>

#include "base/flush.hpp"
#include "download/download.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

namespace fs = std::filesystem;

/// Removed with its content when it goes out of scope.
struct TemporaryFolder {
  fs::path path;
  /// BESIDE.unpacking.XXXXXX, with letters that nobody else has.
  explicit TemporaryFolder(const fs::path& beside) {
    std::string name = beside.string() + ".unpacking.XXXXXX";
    if (mkdtemp(name.data()) == nullptr)
      throw ResourceError(fmt::format("{}: cannot be created: {}", name, std::strerror(errno)));
    path = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
};

/// Why an entry must not be unpacked; "" if it may.
std::string danger(archive_entry* entry, const fs::path& name) {
  if (archive_entry_hardlink(entry) != nullptr || archive_entry_filetype(entry) == AE_IFLNK)
    return "is a link";
  if (archive_entry_filetype(entry) != AE_IFREG && archive_entry_filetype(entry) != AE_IFDIR)
    return "is neither file nor folder";
  if (name.empty() || name.is_absolute()) return "has an absolute path or none";
  if (std::ranges::find(name, "..") != name.end()) return "leads out of its folder";
  return {};
}

/// Whether it was the machine that failed, not the archive: its disk, its memory.
bool machine_failed(archive* reader) {
  constexpr int kReasons[] = {ENOSPC, EDQUOT, EFBIG, EIO, ENOMEM};
  return std::ranges::find(kReasons, archive_errno(reader)) != std::end(kReasons);
}

ResourceError failed(archive* reader, const fs::path& path) {
  return ResourceError(fmt::format("{}: {}", path.string(), std::strerror(archive_errno(reader))));
}

void write_file(archive* reader, const fs::path& path, Progress& progress) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0)
    throw ResourceError(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno)));
  const int status = archive_read_data_into_fd(reader, descriptor);
  const bool flushed = status != ARCHIVE_OK || fsync(descriptor) == 0;
  const bool closed = close(descriptor) == 0;
  if (status != ARCHIVE_OK && machine_failed(reader)) throw failed(reader, path);
  if (status != ARCHIVE_OK)
    throw DataError(fmt::format("{}: damaged archive: {}", path.string(), archive_error_string(reader)));
  if (!flushed || !closed)
    throw ResourceError(fmt::format("{}: writing failed: {}", path.string(), std::strerror(errno)));
  progress.advance(static_cast<double>(fs::file_size(path)));
}

}  // namespace

void unpack(const fs::path& path, const std::string& kept, Progress& progress) {
  const TemporaryFolder folder(path);
  progress.stage("unpacking " + path.filename().string());
  const std::unique_ptr<archive, decltype(&archive_read_free)> reader(archive_read_new(), archive_read_free);
  archive_read_support_format_tar(reader.get());
  archive_read_support_filter_gzip(reader.get());
  const auto refuse = [&](const std::string& what) {
    return DataError(fmt::format("{}: {}", path.string(), what));
  };
  const auto check = [&](bool good, const char* what) {
    if (!good && machine_failed(reader.get())) throw failed(reader.get(), path);
    if (!good) throw refuse(fmt::format("{}: {}", what, archive_error_string(reader.get())));
  };
  check(archive_read_open_filename(reader.get(), path.c_str(), 1 << 16) == ARCHIVE_OK,
        "not a tar.gz archive");
  archive_entry* entry = nullptr;
  int status = ARCHIVE_OK;
  while ((status = archive_read_next_header(reader.get(), &entry)) == ARCHIVE_OK) {
    const char* text = archive_entry_pathname(entry);
    const fs::path name = text == nullptr ? "" : text;
    if (const std::string reason = danger(entry, name); !reason.empty())
      throw refuse(fmt::format("entry '{}' {}", excerpt(name.string()), reason));
    const fs::path target = folder.path / name;
    if (archive_entry_filetype(entry) == AE_IFDIR) {
      fs::create_directories(target);
      continue;
    }
    fs::create_directories(target.parent_path());
    write_file(reader.get(), target, progress);
  }
  check(status == ARCHIVE_EOF, "damaged archive");
  if (!fs::is_directory(folder.path / kept)) throw refuse(fmt::format("holds no folder '{}'", kept));
  for (const auto& item : fs::recursive_directory_iterator(folder.path / kept))
    if (item.is_directory()) flush_folder(item.path());
  flush_folder(folder.path / kept);
  fs::rename(folder.path / kept, path.parent_path() / kept);
  flush_folder(path.parent_path());
}

}  // namespace zeroloss::internal
