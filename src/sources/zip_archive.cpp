#include "sources/zip_archive.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/ascii.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

using Archive = std::shared_ptr<zip_t>;

Archive open_archive(const std::string& path) {
  file_bytes(path);  // says what is wrong if it cannot be read
  int status = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &status), [](zip_t* z) {
    if (z != nullptr) zip_discard(z);
  });
  if (archive) return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, status);
  const std::string reason = zip_error_strerror(&error);
  zip_error_fini(&error);
  throw DataError(fmt::format("{}: not an npz or zip archive, or a truncated one: {}", path, reason));
}

/// `name` of the entry, for messages.
Bytes entry_bytes(const Archive& archive, zip_uint64_t index, const std::string& name) {
  const auto open = [archive, name, index] {
    const std::shared_ptr<zip_file_t> file(zip_fopen_index(archive.get(), index, 0), [](zip_file_t* f) {
      if (f != nullptr) zip_fclose(f);
    });
    if (!file) throw DataError(fmt::format("{}: {}", name, zip_strerror(archive.get())));
    return ByteReader([file, name](void* to, std::size_t count) {
      const zip_int64_t got = zip_fread(file.get(), to, count);
      if (got < 0) throw DataError(fmt::format("{}: damaged: {}", name, zip_file_strerror(file.get())));
      return static_cast<std::size_t>(got);
    });
  };
  return {name, open, std::nullopt};
}

}  // namespace

std::vector<ZipEntry> entries_of(const std::string& path) {
  const Archive archive = open_archive(path);
  std::vector<ZipEntry> entries;
  const auto count =
      static_cast<zip_uint64_t>(std::max<zip_int64_t>(zip_get_num_entries(archive.get(), 0), 0));
  for (zip_uint64_t i = 0; i < count; ++i) {
    const char* name = zip_get_name(archive.get(), i, 0);
    if (name == nullptr) throw DataError(fmt::format("{}: {}", path, zip_strerror(archive.get())));
    entries.push_back({name, entry_bytes(archive, i, fmt::format("{}: '{}'", path, excerpt(name)))});
  }
  return entries;
}

Bytes only_entry(const std::string& path) {
  std::vector<ZipEntry> entries = entries_of(path);
  std::erase_if(entries, [](const ZipEntry& entry) {
    return entry.name.ends_with('/') || entry.name.starts_with("__MACOSX/") ||
           entry.name.ends_with(".DS_Store");
  });
  const auto is_table = [](const ZipEntry& entry) {
    const std::string name = lowered(entry.name);
    return std::ranges::any_of(std::array{".csv", ".tsv", ".data", ".arff", ".ts", ".svm", ".libsvm"},
                               [&](const char* ending) { return name.ends_with(ending); });
  };
  if (entries.size() > 1 && std::ranges::count_if(entries, is_table) == 1)
    return std::ranges::find_if(entries, is_table)->bytes;
  if (entries.size() == 1) return entries.front().bytes;
  std::vector<std::string> names;
  for (const ZipEntry& entry : entries) names.push_back(entry.name);
  throw DataError(fmt::format("{}: holds {}; expected one table, unpack it and name a file{}", path,
                              count(std::ssize(entries), "file", "files"),
                              names.empty() ? "" : ": " + excerpt(names)));
}

}  // namespace zeroloss::internal
