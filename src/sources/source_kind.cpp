#include "sources/source_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ranges>
#include <stdexcept>

#include "base/ascii.hpp"
#include "base/choices.hpp"
#include "sources/bytes.hpp"
#include "sources/recipe.hpp"
#include "sources/unsupported_formats.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"
#include "zeroloss/download/fetch.hpp"

namespace zeroloss {
namespace internal {

SourceKind digits(), sphere(), stream(), csv(), zipped(), unread(), npy(), npz(), idx(), cifar_batch(),
    cifar(), mnist(), image_folder();
SourceKind downloaded(const KnownSet& set);

}  // namespace internal
using namespace internal;
namespace {

namespace fs = std::filesystem;
using Is = SourceKind::Is;

/// Of files whose name says nothing, csv takes any text: it is asked last.
const std::vector<SourceKind>& kinds() {
  static const std::vector<SourceKind> all = [] {
    std::vector<SourceKind> rows{digits(), sphere(), stream(),      csv(),   zipped(), unread(),      npy(),
                                 npz(),    idx(),    cifar_batch(), cifar(), mnist(),  image_folder()};
    for (const KnownSet& set : known_sets()) rows.push_back(downloaded(set));
    return rows;
  }();
  return all;
}

auto all(Is is) {
  return kinds() | std::views::filter([is](const SourceKind& kind) { return kind.is == is; });
}

const SourceKind* find(std::initializer_list<Is> wanted, const Asked& asked) {
  for (const SourceKind& kind : kinds())
    if (std::ranges::find(wanted, kind.is) != wanted.end() && kind.recognise(asked)) return &kind;
  return nullptr;
}

const SourceKind* named(const std::string& text) {
  static const std::string train = "train";
  return find({Is::name, Is::generator}, {text, train});
}

/// What the rows of a kind say, with `last` before the last one.
std::string listed(Is is, std::string SourceKind::*words, const char* last) {
  std::vector<std::string> said;
  for (const SourceKind& kind : all(is))
    if (!(kind.*words).empty()) said.push_back(kind.*words);
  const std::string end = said.back();
  said.pop_back();
  return fmt::format("{}{}{}", fmt::join(said, ", "), last, end);
}

/// By the name; by the first bytes if the name says nothing.
const SourceKind& file_kind(const std::string& path, const std::string& split) {
  if (const SourceKind* kind = find({Is::file}, {path, split})) return *kind;
  std::string start(512, '\0');
  start.resize(file_bytes(path).open().read(start.data(), start.size()));
  for (const SourceKind& kind : kinds() | std::views::reverse)
    if (kind.is == Is::file && kind.recognise({path, split, &start})) return kind;
  throw DataError(fmt::format("{}: its format is not known; expected {} or a folder of {} files", path,
                              listed(Is::file, &SourceKind::called, ", "),
                              listed(Is::folder, &SourceKind::called, " or ")));
}

void check_no_column(const std::string& source, const ReadOptions& options) {
  if (options.target.empty() || options.target == "none") return;
  throw std::invalid_argument(fmt::format(
      "read_dataset: target '{}' names a column of a csv or an array of an npz, but {} is neither",
      excerpt(options.target), source));
}

Source open(const std::string& text, const ReadOptions& options) {
  const SourceKind* kind = named(text);
  if (kind == nullptr) kind = find({Is::stream}, {text, options.split});
  if (kind == nullptr && fs::is_regular_file(text)) kind = &file_kind(text, options.split);
  if (kind == nullptr && !fs::is_directory(text))
    throw DataError(fmt::format("'{}': no such file or folder, and not a known name; known are {}", text,
                                fmt::join(known_names(), ", ")));
  if (kind == nullptr || !kind->columns) check_no_column(text, options);
  if (kind == nullptr) return open_folder(text, options);
  if (options.split == "test" && (kind->is == Is::file || kind->is == Is::stream))
    throw DataError(text + ": has no test split, being one file; name another file of test points");
  if (options.split == "test" && kind->is == Is::generator)
    throw DataError(text + ": has no test split; use another seed");
  Source source = kind->open(text, options);
  if (source.digest.empty()) source.digest = sha256_file(text);
  return source;
}

}  // namespace

bool Asked::ends_in(const std::string& endings) const {
  const std::string name = lowered(fs::path(text).filename().string());
  return std::ranges::any_of(words_of(endings), [&](auto ending) { return name.ends_with(ending); });
}

bool internal::is_name(const std::string& source) { return named(source) != nullptr; }

bool internal::is_generated(const std::string& source) {
  const SourceKind* kind = named(source);
  return kind != nullptr && kind->is == Is::generator;
}

bool internal::leaves_open(const std::string& source, const std::string& key) {
  const SourceKind* kind = named(source);
  return kind != nullptr && kind->is == Is::generator && says(kind->called, key) && !says(source, key);
}

Source internal::open_folder(const std::string& path, const ReadOptions& options) {
  if (const SourceKind* kind = find({Is::folder}, {path, options.split})) return kind->open(path, options);
  refuse_folder(path);
  const std::string expected = listed(Is::folder, &SourceKind::what, " or ");
  throw DataError(
      fmt::format("{}: no {} files known here; expected {}", path, options.split,
                  fmt::format(fmt::runtime(expected), options.split == "train" ? "train" : "t10k")));
}

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const SourceKind& kind : all(Is::name)) names.push_back(kind.called);
  for (const Generator& generator : generators())
    names.push_back(generator.form.substr(0, generator.form.find('[')));
  return names;
}

std::vector<Included> included() {
  std::vector<Included> list;
  for (const SourceKind& kind : all(Is::name))
    if (!kind.what.empty()) list.push_back({kind.called, kind.what});
  return list;
}

std::vector<Generator> generators() {
  std::vector<Generator> list;
  for (const SourceKind& kind : all(Is::generator)) list.push_back({kind.called, kind.what});
  return list;
}

Source open_source(const std::string& text, const ReadOptions& options) {
  check_choices("read_dataset", options);
  Source source = open(text, options);
  source.name = text;
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
