#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "zeroloss/base/matrix.hpp"
#include "zeroloss/base/progress.hpp"

/// Public data sets: which are known, and how they get into the cache.
namespace zeroloss {

/// One file to download.
struct KnownFile {
  std::string name;               ///< in the cache folder of its set
  std::vector<std::string> urls;  ///< mirrors, tried in order
  std::string sha256;             ///< 64 lower-case hexadecimal digits
  std::uint64_t bytes = 0;
  /// A tar.gz: the folder inside it that is kept instead of the archive; "" otherwise.
  std::string unpacks_to{};
};

/// One entry of data/sources.json.
struct KnownSet {
  std::string name;
  std::string description{};
  Index n = 0, n_test = 0, d = 0, classes = 0;  ///< n: points of the train split
  std::vector<KnownFile> files;
  std::string licence{}, citation{};
};

/// The sets in a table written like data/sources.json. Throws DataError if it is not.
std::vector<KnownSet> known_sets(std::string_view json);

/// The sets in data/sources.json, which is part of the library.
const std::vector<KnownSet>& known_sets();

struct FetchOptions {
  std::string mirror{};  ///< a URL tried first: MIRROR/FILE; "" = none
  int connect_timeout_s = 30;
  int stall_timeout_s = 60;  ///< a transfer with nothing received for this long has failed
};

/// Whether every file of the set is in cache/NAME with its full size, every archive unpacked.
bool is_cached(const KnownSet& set, const std::string& cache);

/// Downloads what is missing into cache/NAME. A download is FILE.part until its size and SHA-256 are
/// verified, then it is renamed: a FILE is whole or absent. An interrupted download is continued. Files
/// already there are verified, not downloaded. Throws Interrupted once cancelled (FILE.part stays),
/// BackendError naming each URL and its status if no mirror delivers, ResourceError if the disk does not
/// suffice, DataError for a wrong checksum or an unsafe archive (what this call downloaded is removed; what
/// was there before stays).
void fetch(const KnownSet& set, const std::string& cache, Progress& progress,
           const FetchOptions& options = {});

}  // namespace zeroloss
