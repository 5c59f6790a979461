#include "zeroloss/data/readers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "data/embedded.hpp"
#include "data/formats.hpp"
#include "data/known.hpp"
#include "zeroloss/core/digest.hpp"
#include "zeroloss/core/error.hpp"
#include "zeroloss/data/synthetic.hpp"

namespace zeroloss {
using namespace internal;
namespace {

namespace fs = std::filesystem;

enum class Format { csv, npy, npz, idx };

/// By the name; by the first bytes if the name says nothing.
Format format_of(const std::string& path) {
  std::string name = fs::path(path).filename();
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name.ends_with(".npy")) return Format::npy;
  if (name.ends_with(".npz")) return Format::npz;
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  if (name.ends_with(".csv") || name.ends_with(".tsv")) return Format::csv;
  if (name.ends_with(".idx") || name.ends_with("-ubyte")) return Format::idx;
  char start[512] = {};
  const std::size_t count = file_bytes(path).open().read(start, sizeof start);
  if (std::memcmp(start, "\x93NUMPY", 6) == 0) return Format::npy;
  if (std::memcmp(start, "PK\x03\x04", 4) == 0) return Format::npz;
  if (count >= 4 && start[0] == 0 && start[1] == 0 && start[2] >= 8 && start[2] <= 14) return Format::idx;
  if (std::find(start, start + count, '\0') == start + count) return Format::csv;
  throw DataError(path +
                  ": its format is not known; expected csv, csv.gz, npy, npz, idx, idx.gz or a folder of "
                  "CIFAR, MNIST or image files");
}

void check_no_column(const std::string& source, const ReadOptions& options) {
  if (options.target.empty() || options.target == "none") return;
  throw std::invalid_argument(fmt::format(
      "read_dataset: target '{}' names a csv column, but {} is not a csv file", options.target, source));
}

Source open_file(const std::string& path, const ReadOptions& options) {
  const Format format = format_of(path);
  if (format != Format::csv) check_no_column(path, options);
  if (options.split == "test")
    throw DataError(path + ": has no test split; only folders and named sets have");
  Source source;
  switch (format) {
    case Format::csv:
      source = read_csv(file_bytes(path), options.target);
      break;
    case Format::npy:
      source = read_npy(file_bytes(path));
      break;
    case Format::npz:
      source = read_npz(path);
      break;
    case Format::idx:
      source = read_idx(path);
      break;
  }
  if (source.digest.empty()) source.digest = sha256_file(path);
  return source;
}

Source open_digits(const ReadOptions& options) {
  if (options.split == "test") throw DataError("digits: has no test split");
  const std::string target =
      options.target == "none" ? "" : options.target;  // without targets, not with one feature more
  Source source = read_csv(gzip_bytes("digits", embedded::digits_csv_gz), target);
  source.digest = sha256(embedded::digits_csv_gz);
  return source;
}

Source open_generated(const std::string& text, const ReadOptions& options) {
  if (options.split == "test") throw DataError(text + ": has no test split; use another seed");
  return generate(text, options.seed);
}

Source open(const std::string& source, const ReadOptions& options) {
  if (source == "digits") return open_digits(options);
  if (fs::is_regular_file(source)) return open_file(source, options);
  check_no_column(source, options);
  if (source.starts_with("sphere:")) return open_generated(source, options);
  for (const KnownSet& set : known_sets())
    if (source == set.name)
      return read_folder(cached_folder(set, options.cache, "read_dataset"), options.split);
  if (fs::is_directory(source)) return read_folder(source, options.split);
  throw DataError(fmt::format("'{}': no such file or folder, and not a known name; known are {}", source,
                              fmt::join(known_names(), ", ")));
}

}  // namespace

std::vector<std::string> known_names() {
  std::vector<std::string> names{"digits"};
  for (const KnownSet& set : known_sets()) names.push_back(set.name);
  names.emplace_back("sphere:n=..,d=..");
  return names;
}

Source open_source(const std::string& name, const ReadOptions& options) {
  if (options.split != "train" && options.split != "test")
    throw std::invalid_argument(
        fmt::format("read_dataset: split must be train or test; got '{}'", options.split));
  Source source = open(name, options);
  source.name = name;
  if (options.target == "none") {
    source.numbers.clear();
    source.texts.clear();
    source.target_name.clear();
  }
  return source;
}

Dataset read_dataset(const std::string& name, const ReadOptions& options) {
  return select(open_source(name, options), options);
}

}  // namespace zeroloss
