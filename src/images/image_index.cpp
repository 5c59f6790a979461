#include "images/image_index.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/parse.hpp"
#include "zeroloss/base/run.hpp"

namespace zeroloss::internal {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHeader = "zeroloss images 1";

/// Names may hold anything but zero bytes: these end the fields.
class Fields {
 public:
  explicit Fields(std::string_view text) : rest_(text) {}
  bool empty() const { return rest_.empty(); }

  std::optional<std::string_view> text() {
    const std::size_t end = rest_.find('\0');
    if (end == std::string_view::npos) return {};
    const std::string_view field = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return field;
  }

  template <class Number>
  std::optional<Number> number() {
    const auto field = text();
    return field ? parsed_integer<Number>(*field) : std::nullopt;
  }

 private:
  std::string_view rest_;
};

std::int64_t now() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

/// The lock's descriptor; -1 where there are no locks.
int hold(const fs::path& path, Progress& progress) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return -1;
  bool told = false;
  while (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    if (!told) progress.stage("another process examines these images");
    told = true;
    if (progress.cancelled()) close(descriptor);
    progress.check();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  if (told) progress.finish();
  return descriptor;
}

}  // namespace

FileFacts ImageIndex::look(const std::string& file) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  struct stat found {};
  if (stat(file.c_str(), &found) != 0) return {};
  const std::int64_t modified = kSecond * found.st_mtim.tv_sec + found.st_mtim.tv_nsec;
  if (modified > now() - 2 * kSecond) return {};
  return {.bytes = static_cast<std::uint64_t>(found.st_size), .modified = modified};
}

ImageIndex::ImageIndex(const std::string& cache, const fs::path& folder, Progress& progress)
    : folder_(folder) {
  std::error_code error;
  const fs::path known = cache.empty() ? fs::path() : fs::path(cache) / "images";
  const fs::path real = fs::canonical(folder, error);
  if (known.empty() || error) return;
  fs::create_directories(known, error);
  if (error || access(known.c_str(), W_OK) != 0) return;
  path_ = known / (sha256(real.string()).substr(0, 16) + ".index");
  fs::path lock = path_;
  lock += ".lock";
  lock_ = hold(lock, progress);
  load();
}

ImageIndex::~ImageIndex() {
  try {
    if (changed_) save();
  } catch (const std::exception&) {  // a full disk, say: the work is done again next time
  }
  if (lock_ >= 0) close(lock_);
}

void ImageIndex::load() {
  std::ifstream in(path_, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  Fields fields(text);
  if (fields.text() != kHeader) return;
  while (!fields.empty()) {
    const auto name = fields.text(), digest = fields.text();
    const auto decoded = fields.number<int>();
    const auto damage = fields.text();
    const auto bytes = fields.number<std::uint64_t>();
    const auto modified = fields.number<std::int64_t>();
    if (!name || !digest || !decoded || !damage || !bytes || !modified || digest->size() != 64)
      return facts_.clear();  // not ours: anew
    facts_[std::string(*name)] = {std::string(*digest), *decoded != 0, std::string(*damage), *bytes,
                                  *modified};
  }
}

void ImageIndex::save() const {
  std::string text(kHeader);
  const auto field = [&](std::string_view content) { text.append(1, '\0').append(content); };
  for (const auto& [name, facts] : facts_) {
    field(name);
    field(facts.digest);
    field(facts.decoded ? "1" : "0");
    field(facts.damage);
    field(fmt::to_string(facts.bytes));
    field(fmt::to_string(facts.modified));
  }
  write_file(path_, text.append(1, '\0'));
}

const FileFacts* ImageIndex::find(const std::string& file) const {
  const auto found = facts_.find(fs::path(file).lexically_relative(folder_));
  if (found == facts_.end()) return nullptr;
  const FileFacts is = look(file);
  return is.bytes == found->second.bytes && is.modified == found->second.modified ? &found->second : nullptr;
}

void ImageIndex::add(const std::string& file, FileFacts facts) {
  if (path_.empty() || facts.modified == 0) return;
  facts_.insert_or_assign(fs::path(file).lexically_relative(folder_).string(), std::move(facts));
  changed_ = true;
}

}  // namespace zeroloss::internal
