#include "download/download.hpp"

#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <vector>

#include "base/flush.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss::internal {
namespace {

namespace fs = std::filesystem;

/// The .part file, locked against a second download of the same file where the file system has locks.
class Part {
 public:
  explicit Part(const fs::path& path) : path_(path) {
    do {
      descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
      if (descriptor_ < 0)
        throw ResourceError(fmt::format("{}: cannot be written: {}", path_.string(), std::strerror(errno)));
      if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(descriptor_);
        throw BackendError(path_.string() + ": another process is downloading it; wait for it to end");
      }
    } while (renamed_meanwhile());
  }
  ~Part() { close(descriptor_); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  std::uint64_t size() const { return static_cast<std::uint64_t>(lseek(descriptor_, 0, SEEK_END)); }
  void clear() {
    if (ftruncate(descriptor_, 0) != 0)
      throw ResourceError(fmt::format("{}: cannot be emptied: {}", path_.string(), std::strerror(errno)));
  }
  void append(const char* bytes, std::size_t count) {
    lseek(descriptor_, 0, SEEK_END);
    while (count > 0) {
      const ssize_t written = write(descriptor_, bytes, count);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0)
        throw ResourceError(fmt::format("{}: writing failed: {}; free some space and run again to continue",
                                        path_.string(), std::strerror(errno)));
      bytes += written;
      count -= static_cast<std::size_t>(written);
    }
  }
  /// As a whole and for good: after a power cut there is all of it or nothing.
  void become(const fs::path& name) const {
    if (fsync(descriptor_) != 0 || rename(path_.c_str(), name.c_str()) != 0)
      throw ResourceError(fmt::format("{}: keeping it failed: {}; run again to continue", path_.string(),
                                      std::strerror(errno)));
    flush_folder(name.parent_path());
  }
  const fs::path& path() const { return path_; }

 private:
  // Between the opening and the lock another download may have ended: what is open is its finished file then.
  bool renamed_meanwhile() {
    struct stat opened {
    }, named{};
    if (fstat(descriptor_, &opened) == 0 && stat(path_.c_str(), &named) == 0 &&
        opened.st_ino == named.st_ino && opened.st_dev == named.st_dev)
      return false;
    close(descriptor_);
    return true;
  }

  fs::path path_;
  int descriptor_ = -1;
};

/// One transfer as libcurl's callbacks see it. Exceptions must not pass through libcurl: they wait in
/// `failure`.
struct Transfer {
  CURL* curl;
  const KnownFile& file;
  Part& part;
  Progress& progress;
  std::uint64_t offset;  ///< where the answer is asked to begin
  bool begun = false;
  bool too_long = false;
  std::exception_ptr failure{};

  void receive(const char* bytes, std::size_t count) {
    if (!begun) {
      begun = true;
      long status = 0;
      curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
      if (offset > 0 && status != 206) {  // the server sends everything again
        part.clear();
        offset = 0;
        progress.stage("downloading " + file.name, static_cast<double>(file.bytes));
      }
    }
    too_long = part.size() + count > file.bytes;
    if (too_long) return;
    part.append(bytes, count);
    progress.advance(static_cast<double>(count));
  }
};

std::size_t on_bytes(char* bytes, std::size_t, std::size_t count, void* data) {
  auto& transfer = *static_cast<Transfer*>(data);
  try {
    transfer.receive(bytes, count);
  } catch (...) {
    transfer.failure = std::current_exception();
  }
  return transfer.failure || transfer.too_long ? 0 : count;
}

int on_tick(void* data, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<Transfer*>(data)->progress.cancelled() ? 1 : 0;
}

/// The certificates of those whom https trusts; "" for where libcurl looks, which is where the system that it
/// was built on has them: in a wheel that may be another.
std::string authorities() {
  for (const char* name : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"})
    if (const char* path = std::getenv(name); path != nullptr && *path != '\0') return path;
  for (const char* path : {"/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch, Alpine
                           "/etc/pki/tls/certs/ca-bundle.crt",    // Fedora, Red Hat and its kin
                           "/etc/ssl/ca-bundle.pem"})             // openSUSE
    if (fs::exists(path)) return path;
  return {};
}

/// Continues the part from one URL; returns "" or what went wrong.
std::string attempt(const std::string& url, const KnownFile& file, Part& part, Progress& progress,
                    const FetchOptions& options) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), curl_easy_cleanup);
  if (started != CURLE_OK || !curl) throw BackendError("libcurl cannot start: curl_easy_init failed");
  if (part.size() >= file.bytes) part.clear();
  Transfer transfer{curl.get(), file, part, progress, part.size()};
  progress.stage("downloading " + file.name, static_cast<double>(file.bytes));
  progress.advance(static_cast<double>(transfer.offset));
  char message[CURL_ERROR_SIZE] = {};
  const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(curl.get(), option, value); };
  set(CURLOPT_URL, url.c_str());
  if (const std::string path = authorities(); !path.empty()) set(CURLOPT_CAINFO, path.c_str());
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FAILONERROR, 1L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT, static_cast<long>(options.connect_timeout_s));
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall_timeout_s));
  set(CURLOPT_ERRORBUFFER, message);
  set(CURLOPT_WRITEFUNCTION, on_bytes);
  set(CURLOPT_WRITEDATA, &transfer);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, on_tick);
  set(CURLOPT_XFERINFODATA, &transfer);
  const std::string range = fmt::format("{}-", transfer.offset);
  if (transfer.offset > 0) set(CURLOPT_RANGE, range.c_str());
  const CURLcode code = curl_easy_perform(curl.get());
  if (transfer.failure) std::rethrow_exception(transfer.failure);
  progress.check();
  if (transfer.too_long) {
    part.clear();
    return fmt::format("{}: more than the expected {} bytes", url, file.bytes);
  }
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status == 416) part.clear();  // the part is no beginning of that file
  if (code == CURLE_HTTP_RETURNED_ERROR) return fmt::format("{}: HTTP status {}", url, status);
  if (code != CURLE_OK)
    return fmt::format("{}: {} (libcurl status {})", url, *message ? message : curl_easy_strerror(code),
                       static_cast<int>(code));
  if (part.size() != file.bytes)
    return fmt::format("{}: found {} bytes, expected {}", url, part.size(), file.bytes);
  return {};
}

}  // namespace

void download(const KnownFile& file, const fs::path& path, Progress& progress, const FetchOptions& options) {
  std::vector<std::string> urls = file.urls;
  if (!options.mirror.empty())
    urls.insert(urls.begin(), options.mirror + (options.mirror.ends_with('/') ? "" : "/") + file.name);
  Part part(path.string() + ".part");
  std::vector<std::string> failures;
  bool wrong_content = false;
  for (const std::string& url : urls) {
    const std::string failure = attempt(url, file, part, progress, options);
    if (!failure.empty()) {
      failures.push_back(failure);
      continue;
    }
    const std::string found = sha256_file(part.path());
    if (found == file.sha256) return part.become(path);
    part.clear();
    wrong_content = true;
    failures.push_back(fmt::format("{}: SHA-256 is {}, expected {}", url, found, file.sha256));
  }
  if (part.size() == 0) fs::remove(part.path());
  const std::string all = fmt::format("{}: {}", file.name, fmt::join(failures, "; "));
  if (wrong_content) throw DataError(all + "; what was received has been removed");
  throw BackendError(all + "; check the network and run again: it continues where it stopped");
}

}  // namespace zeroloss::internal
