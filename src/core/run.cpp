#include "zeroloss/core/run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "core/json.hpp"
#include "zeroloss/core/blas.hpp"
#include "zeroloss/core/error.hpp"
#include "zeroloss/core/memory.hpp"

namespace zeroloss {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail(const fs::path& path, const char* action) {
  throw ResourceError(fmt::format("{}: {} failed: {}", path.string(), action, std::strerror(errno)));
}

void flush_folder(const fs::path& folder) {
  const int descriptor = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (descriptor < 0)
    return;  // some file systems have no handle for folders; the files themselves are flushed
  fsync(descriptor);
  close(descriptor);
}

std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

}  // namespace

void write_file(const fs::path& path, std::string_view content) { write_file(path, std::span(&content, 1)); }

void write_file(const fs::path& path, std::span<const std::string_view> pieces) {
  fs::path temporary = path;
  temporary += ".tmp";
  const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) fail(temporary, "creating");
  const auto give_up = [&](const char* action) {
    const int reason = errno;
    close(descriptor);
    unlink(temporary.c_str());
    errno = reason;
    fail(path, action);
  };
  for (std::string_view rest : pieces)
    while (!rest.empty()) {
      const ssize_t count = ::write(descriptor, rest.data(), rest.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) give_up("writing");
      rest.remove_prefix(static_cast<std::size_t>(count));
    }
  if (fsync(descriptor) != 0) give_up("flushing");
  if (rename(temporary.c_str(), path.c_str()) != 0) give_up("renaming");
  close(descriptor);
}

RunFolder::RunFolder(fs::path path, bool resume) : path_(std::move(path)), partial_(path_) {
  if (path_.filename().empty()) partial_ = path_ = path_.parent_path();  // a trailing slash
  if (path_.empty()) throw std::invalid_argument("`path`: the run folder needs a name");
  partial_ += ".partial";
  std::error_code error;
  const auto check_absent = [&] {
    if (!fs::exists(path_, error)) return;
    fs::remove(partial_, error);  // if it is empty
    throw std::invalid_argument(
        fmt::format("{} exists already; choose another `path` or remove it", path_.string()));
  };
  check_absent();
  if (!resume && fs::exists(partial_, error) && !fs::is_empty(partial_, error))
    throw std::invalid_argument(fmt::format(
        "{} holds an unfinished run; resume it, remove it, or choose another name", partial_.string()));
  fs::create_directories(partial_, error);
  if (error)
    throw ResourceError(fmt::format("{}: cannot be created: {}", partial_.string(), error.message()));
  check_absent();  // another process may have finished it since, and the partial one is new
  if (access(partial_.c_str(), W_OK) != 0) fail(partial_, "writing into it");
}

RunFolder::~RunFolder() {
  std::error_code ignored;
  if (fs::is_empty(partial_, ignored)) fs::remove(partial_, ignored);
}

void RunFolder::write(const std::string& name, std::string_view content) {
  write_file(partial_ / name, content);
}

void RunFolder::remove(const std::string& name) {
  std::error_code ignored;
  fs::remove(partial_ / name, ignored);
}

void RunFolder::finish() {
  flush_folder(partial_);
  if (rename(partial_.c_str(), path_.c_str()) != 0) fail(path_, "renaming the finished run");
  flush_folder(path_.parent_path());
}

std::string machine_json() {
  const auto blas = blas_info();
  return internal::Json{{"processor", processor()},
                        {"threads", thread_count()},
                        {"simd", simd_target()},
                        {"blas", blas.library},
                        {"blas_kernel", blas.kernel},
                        {"blas_threading", blas.threading},
                        {"memory_available_bytes", available_memory_bytes()},
                        {"compiler", __VERSION__}}
      .dump();
}

}  // namespace zeroloss
