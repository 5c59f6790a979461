#include "zeroloss/download/fetch.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

#include "base/flush.hpp"
#include "download/download.hpp"
#include "download/known.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {
using namespace internal;
namespace {

namespace fs = std::filesystem;

void check_space(const KnownFile& file, const fs::path& folder) {
  const std::uint64_t needed = file.unpacks_to.empty() ? file.bytes : 3 * file.bytes;  // archive and content
  const std::uint64_t free = fs::space(folder).available;
  if (free < needed)
    throw ResourceError(
        fmt::format("{}: needs {:.1f} MB, {} has {:.1f} MB free; choose another folder with `cache`",
                    file.name, needed / 1e6, folder.string(), free / 1e6));
}

/// What lies there may be of somebody else, and stays.
void check_digest(const KnownFile& file, const fs::path& path) {
  const std::string found = sha256_file(path);
  if (found == file.sha256) return;
  throw DataError(fmt::format("{}: SHA-256 is {}, expected {}; move it or choose another folder with `cache`",
                              path.string(), found, file.sha256));
}

}  // namespace

void fetch(const KnownSet& set, const std::string& cache, Progress& progress, const FetchOptions& options) {
  if (cache.empty()) throw std::invalid_argument("fetch: cache must name a folder; got ''");
  const fs::path folder = fs::path(cache) / set.name;
  try {
    create_folders(folder);
  } catch (const fs::filesystem_error& failed) {
    throw ResourceError(fmt::format("{}: cannot be created: {}; choose another folder with `cache`",
                                    folder.string(), failed.code().message()));
  }
  for (const KnownFile& file : set.files) {
    const fs::path path = folder / file.name;
    if (is_there(file, folder)) {
      if (file.unpacks_to.empty()) check_digest(file, path);
      continue;
    }
    check_space(file, folder);
    const bool ours = !fs::exists(path);
    if (ours)
      download(file, path, progress, options);  // and checks what has come
    else
      check_digest(file, path);
    if (file.unpacks_to.empty()) continue;
    try {
      unpack(path, file.unpacks_to, progress);
    } catch (const DataError&) {
      if (ours) fs::remove(path);
      throw;
    }
    if (ours) fs::remove(path);
  }
  progress.finish();
}

}  // namespace zeroloss
