#include "download/known.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/json.hpp"
#include "download/embedded.hpp"
#include "zeroloss/base/error.hpp"

/// What there is to know about public data sets without a network.
namespace zeroloss {
using namespace internal;

namespace fs = std::filesystem;

bool internal::is_there(const KnownFile& file, const fs::path& folder) {
  if (!file.unpacks_to.empty()) return fs::is_directory(folder / file.unpacks_to);
  const fs::path path = folder / file.name;
  return fs::is_regular_file(path) && fs::file_size(path) == file.bytes;
}

std::vector<KnownSet> known_sets(std::string_view text) {
  try {
    std::vector<KnownSet> sets;
    const auto word = [](const Json& of, const char* key) { return of.at(key).as<std::string>(); };
    const auto size = [](const Json& of, const char* key) { return of.at(key).as<Index>(); };
    const Json table = Json::parse(text);
    for (const Json& entry : table.at("sets").items()) {
      KnownSet set{.name = word(entry, "name"),
                   .description = word(entry, "description"),
                   .n = size(entry, "n"),
                   .n_test = size(entry, "n_test"),
                   .d = size(entry, "d"),
                   .classes = size(entry, "classes"),
                   .files = {},
                   .licence = word(entry, "licence"),
                   .citation = word(entry, "citation")};
      for (const Json& item : entry.at("files").items()) {
        KnownFile file{.name = word(item, "name"),
                       .urls = {},
                       .sha256 = word(item, "sha256"),
                       .bytes = item.at("bytes").as<std::uint64_t>(),
                       .unpacks_to = item.find("unpacks_to") != nullptr ? word(item, "unpacks_to") : ""};
        for (const std::string& mirror : entry.at("mirrors").list<std::string>())
          file.urls.push_back(mirror + file.name);
        set.files.push_back(std::move(file));
      }
      sets.push_back(std::move(set));
    }
    return sets;
  } catch (const JsonError& error) {
    throw DataError(fmt::format("table of known data sets: {}", error.what()));
  }
}

const std::vector<KnownSet>& known_sets() {
  static const std::vector<KnownSet> sets = known_sets(embedded::sources_json);
  return sets;
}

bool is_cached(const KnownSet& set, const std::string& cache) {
  const fs::path folder = fs::path(cache) / set.name;
  return std::ranges::all_of(set.files, [&](const KnownFile& file) { return is_there(file, folder); });
}

std::string internal::cached_folder(const KnownSet& set, const std::string& cache,
                                    const std::string& function) {
  if (cache.empty())
    throw std::invalid_argument(fmt::format("{}: {} needs a cache folder", function, set.name));
  if (!is_cached(set, cache))
    throw DataError(fmt::format("{}: is not in {}; get it with: `fetch({})`", set.name, cache, set.name));
  return fs::path(cache) / set.name;
}

}  // namespace zeroloss
