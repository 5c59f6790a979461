#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <utility>

#include "base/failure.hpp"
#include "base/flush.hpp"
#include "base/temporary.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/run.hpp"

namespace zeroloss {
using namespace internal;
namespace fs = std::filesystem;
namespace {

/// A descriptor that is written to and closed; its failures name `path`.
class Output {
 public:
  Output(const fs::path& path, int descriptor) : path_(path), descriptor_(descriptor) {}
  ~Output() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::span<const std::string_view> pieces) const {
    for (std::string_view rest : pieces)
      while (!rest.empty()) {
        const ssize_t count = ::write(descriptor_, rest.data(), rest.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail(path_, "writing");
        rest.remove_prefix(static_cast<std::size_t>(count));
      }
  }
  void flush() const {
    if (fsync(descriptor_) != 0) fail(path_, "flushing");
  }
  /// Some file systems tell of a full disk only here.
  void finish() {
    const int descriptor = descriptor_;
    descriptor_ = -1;
    if (close(descriptor) != 0) fail(path_, "closing");
  }
  /// Owner and permissions of the file that it is to replace. Only root may give files away.
  void take_after(const struct stat& file) const {
    if (fchown(descriptor_, file.st_uid, file.st_gid) != 0 && errno != EPERM)
      fail(path_, "keeping the owner");
    constexpr mode_t kBits = 07777;
    if (fchmod(descriptor_, file.st_mode & kBits) != 0) fail(path_, "keeping the permissions");
  }

 private:
  const fs::path& path_;
  int descriptor_;
};

/// The name that a chain of links leads to, whether or not something is there.
fs::path end_of_links(const fs::path& path) {
  constexpr int kMost = 40;  // Linux follows as many
  fs::path at = path;
  std::error_code error;
  for (int links = 0; links <= kMost; ++links) {
    const fs::path next = fs::read_symlink(at, error);
    if (error) return at;  // no link
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  errno = ELOOP;
  fail(path, "writing");
}

/// Whether a link leads to the file of this name: one of /proc may lead to a file that has lost its own.
/// Others may replace the file between two looks: it has lost its name where a second look sees the same two.
bool is_name_of(const fs::path& end, const fs::path& link) {
  constexpr int kLooks = 20;
  const auto look = [](const fs::path& path) {
    struct stat file {};
    return stat(path.c_str(), &file) == 0 ? std::pair(file.st_dev, file.st_ino) : std::pair<dev_t, ino_t>();
  };
  auto led = look(link), named = look(end);
  for (int k = 0; k < kLooks && led != named; ++k) {
    const auto led_before = std::exchange(led, look(link)), named_before = std::exchange(named, look(end));
    if (led != named && led == led_before && named == named_before) return false;
  }
  return true;
}

/// A device, a pipe: what it is, it stays.
void write_through(const fs::path& path, std::span<const std::string_view> pieces) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) fail(path, "opening");
  Output out(path, descriptor);
  out.write(pieces);
  out.finish();
}

/// Removes a file unless it has been given its own name.
struct Temporary {
  fs::path path;
  bool renamed = false;
  ~Temporary() {
    if (!renamed) unlink(path.c_str());
  }
};

/// `before` is the file of this name, null if there is none.
void replace(const fs::path& path, const struct stat* before, std::span<const std::string_view> pieces) {
  const auto [name, descriptor] = create_temporary(path);
  if (descriptor < 0) fail(path, "creating");
  Temporary temporary{name};
  Output out(path, descriptor);
  if (before != nullptr) out.take_after(*before);
  out.write(pieces);
  out.flush();
  out.finish();
  if (rename(name.c_str(), path.c_str()) != 0) fail(path, "renaming");
  temporary.renamed = true;
  flush_folder(path.parent_path());
}

}  // namespace

void write_file(const fs::path& path, std::string_view content) { write_file(path, std::span(&content, 1)); }

void write_file(const fs::path& path, std::span<const std::string_view> pieces) {
  struct stat there {};
  const bool exists = stat(path.c_str(), &there) == 0;
  if (exists && S_ISDIR(there.st_mode))
    throw ResourceError(fmt::format("{}: is a folder; expected the name of a file", path.string()));
  if (exists && !S_ISREG(there.st_mode)) return write_through(path, pieces);
  const fs::path end = end_of_links(path);
  if (exists && end != path && !is_name_of(end, path)) return write_through(path, pieces);
  replace(end, exists ? &there : nullptr, pieces);
}

}  // namespace zeroloss
