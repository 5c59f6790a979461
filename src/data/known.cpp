#include "data/known.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "data/embedded.hpp"
#include "zeroloss/core/error.hpp"

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
    const auto table = nlohmann::json::parse(text);
    for (const auto& entry : table.at("sets")) {
      KnownSet set{.name = entry.at("name"),
                   .description = entry.at("description"),
                   .n = entry.at("n"),
                   .n_test = entry.at("n_test"),
                   .d = entry.at("d"),
                   .classes = entry.at("classes"),
                   .files = {},
                   .licence = entry.at("licence"),
                   .citation = entry.at("citation")};
      for (const auto& item : entry.at("files")) {
        KnownFile file{.name = item.at("name"),
                       .urls = {},
                       .sha256 = item.at("sha256"),
                       .bytes = item.at("bytes"),
                       .unpacks_to = item.value("unpacks_to", "")};
        for (const auto& mirror : entry.at("mirrors"))
          file.urls.push_back(mirror.get<std::string>() + file.name);
        set.files.push_back(std::move(file));
      }
      sets.push_back(std::move(set));
    }
    return sets;
  } catch (const nlohmann::json::exception& error) {
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

std::string internal::cached_folder(const KnownSet& set, const std::string& cache, const std::string& function) {
  if (cache.empty())
    throw std::invalid_argument(fmt::format("{}: {} needs a cache folder", function, set.name));
  if (!is_cached(set, cache))
    throw DataError(
        fmt::format("{}: is not in {}; get it with: zeroloss data get {}", set.name, cache, set.name));
  return fs::path(cache) / set.name;
}

}  // namespace zeroloss
