#include "zeroloss/base/run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/ascii.hpp"
#include "base/failure.hpp"
#include "base/flush.hpp"
#include "base/json.hpp"
#include "base/temporary.hpp"
#include "zeroloss/base/blas.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/memory.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/threads.hpp"

namespace zeroloss {
using namespace internal;
namespace fs = std::filesystem;
namespace {

fs::path without_slash(fs::path path) { return path.has_filename() ? std::move(path) : path.parent_path(); }

void unlock(int& lock) {
  if (lock >= 0) close(lock);
  lock = -1;
}

/// Who holds a lock of this file: "process 123", as the system's list has it.
std::string writer_of(int descriptor) {
  struct stat file {};
  fstat(descriptor, &file);
  const std::string inode = fmt::format(":{}", file.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    // 1: FLOCK  ADVISORY  WRITE 123 08:01:4711 0 EOF
    const auto words = words_of(line);
    if (words.size() < 6 || words[1] != "FLOCK" || !words[5].ends_with(inode)) continue;
    if (const int process = leading_integer(words[4]); process > 0) return fmt::format("process {}", process);
  }
  return "another process";
}

std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

}  // namespace

RunFolder::RunFolder(fs::path path, bool resume, Writers writers, Rest rest)
    : path_(without_slash(std::move(path))),
      partial_(partial_of(path_)),
      rest_(rest),
      alone_(writers == Writers::one) {
  if (path_.empty()) throw std::invalid_argument("`path`: the run folder needs a name");
  std::error_code error;
  const auto check_absent = [&] {
    const bool link = fs::is_symlink(path_, error);
    if (!fs::exists(path_, error) && !link) return;
    if (link && !fs::exists(path_, error))
      throw std::invalid_argument(
          fmt::format("{} is a link to nowhere; choose another `path` or remove it", path_.string()));
    throw std::invalid_argument(
        fmt::format("{} exists already; choose another `path` or remove it", path_.string()));
  };
  check_absent();
  make();
  lock(writers);
  try {
    check_absent();  // another process may have finished it since, and the partial one is new
    const bool empty = fs::is_empty(partial_, error);
    if (!resume && !error && !empty)
      throw std::invalid_argument(
          fmt::format("{} holds an unfinished run; {}remove it, or choose another name", partial_.string(),
                      rest_ == Rest::kept ? "resume it, " : ""));
    if (access(partial_.c_str(), W_OK) != 0) {
      const int reason = errno;
      check_absent();  // or has finished it only now
      errno = reason;
      fail(partial_, "writing into it");
    }
  } catch (...) {
    clear();
    unlock(lock_);
    throw;
  }
}

RunFolder::~RunFolder() {
  if (!finished_) clear();
  unlock(lock_);
}

fs::path RunFolder::partial_of(const fs::path& path) {
  fs::path partial = without_slash(path);
  partial += ".partial";
  return partial;
}

void RunFolder::make() {
  try {
    if (partial_.has_parent_path()) create_folders(partial_.parent_path());
    made_ = mkdir(partial_.c_str(), 0777) == 0;
    if (made_) return flush_folder(partial_.parent_path());
    if (errno != EEXIST) throw fs::filesystem_error("", {errno, std::generic_category()});
  } catch (const fs::filesystem_error& failed) {
    throw ResourceError(fmt::format("{}: cannot be created: {}", partial_.string(), failed.code().message()));
  }
  std::error_code error;
  if (!fs::is_directory(partial_, error))
    throw std::invalid_argument(
        fmt::format("{} is no folder, but this run would be written there until it is whole; choose another "
                    "`path` or move it",
                    partial_.string()));
}

// What others have put there stays, and so does the folder then.
void RunFolder::clear() {
  std::error_code ignored;
  if (rest_ == Rest::removed)
    for (const std::string& name : written_) fs::remove(partial_ / name, ignored);
  if (made_) rmdir(partial_.c_str());
}

// Of the folder: it is renamed with it and leaves nothing behind. Not every file system can.
void RunFolder::lock(Writers writers) {
  lock_ = open(partial_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) return;
  const int kind = writers == Writers::several ? LOCK_SH : LOCK_EX;
  // One of several holds it alone for the moment of renaming it; who comes then waits.
  const auto patience = std::chrono::seconds(writers == Writers::several ? 3 : 0);
  for (const auto begin = std::chrono::steady_clock::now();;) {
    if (flock(lock_, kind | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    if (std::chrono::steady_clock::now() - begin >= patience) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const std::string writer = writer_of(lock_);
  unlock(lock_);
  throw std::invalid_argument(
      fmt::format("{}: {} is writing it; choose another `path` or let it finish", path_.string(), writer));
}

fs::path RunFolder::file(const std::string& name) {
  written_.insert(name);
  return partial_ / name;
}

void RunFolder::write(const std::string& name, std::string_view content) { write_file(file(name), content); }

void RunFolder::remove(const std::string& name) {
  std::error_code ignored;
  fs::remove(partial_ / name, ignored);
}

void RunFolder::finish() {
  std::error_code ignored;
  // Halves of files that a killed run left. Of several writers the others are done once the lock can be ours.
  if (alone_ || (lock_ >= 0 && flock(lock_, LOCK_EX | LOCK_NB) == 0))
    for (const auto& entry : fs::directory_iterator(partial_, ignored))
      if (is_temporary(entry.path())) fs::remove(entry.path(), ignored);
  flush_folder(partial_);
  if (rename(partial_.c_str(), path_.c_str()) != 0) fail(path_, "renaming the finished run");
  finished_ = true;
  flush_folder(path_.parent_path());
}

std::optional<FinishedRun> finished_run(const fs::path& path) {
  std::ifstream in(path / "result.json", std::ios::binary);
  FinishedRun run;
  run.result.assign(std::istreambuf_iterator<char>(in), {});
  try {
    const auto result = internal::Json::parse(run.result);
    run.status = result.at("status").as<std::string>();
    run.steps = result.at("steps").as<std::int64_t>();
  } catch (const internal::JsonError&) {
    return {};
  }
  return run;
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
