#include "images/image_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omp.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>

#include "base/ascii.hpp"
#include "images/decode.hpp"
#include "images/image_index.hpp"
#include "zeroloss/base/digest.hpp"
#include "zeroloss/base/error.hpp"
#include "zeroloss/base/text.hpp"

namespace zeroloss::internal {
namespace {

namespace fs = std::filesystem;

bool is_image_name(const fs::path& path) {
  const std::string end = lowered(path.extension().string());
  return !path.filename().string().starts_with('.') && (end == ".jpg" || end == ".jpeg" || end == ".png");
}

std::vector<std::string> images_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file() && is_image_name(entry.path())) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

/// Class folders, sorted, and those without a file, which are none: they would be classes that nothing can
/// learn.
struct ClassFolders {
  std::vector<std::string> names, empty;
};
ClassFolders classes_in(const fs::path& folder) {
  ClassFolders found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (!entry.is_directory() || name.starts_with('.')) continue;
    const bool visible =
        name != "__MACOSX" && std::ranges::any_of(fs::directory_iterator(entry.path()), [](const auto& file) {
          return !file.path().filename().string().starts_with('.');
        });
    (visible ? found.names : found.empty).push_back(name);
  }
  std::ranges::sort(found.names);
  std::ranges::sort(found.empty);
  return found;
}

fs::path train_folder(const fs::path& root) {
  return fs::is_directory(root / "train") ? root / "train" : root;
}

fs::path split_folder(const fs::path& root, const std::string& split) {
  if (split == "train") return train_folder(root);
  if (fs::is_directory(root / "train"))
    for (const char* name : {"val", "test"})
      if (fs::is_directory(root / name)) return root / name;
  throw DataError(fmt::format(
      "{}: has no test split; expected folders train/ and val/ or test/ in it, or leave testing out",
      root.string()));
}

/// All files of a split by class, then by name, with the numbers that classes have in train/.
ImageSet list(const std::string& path, const std::string& split) {
  const fs::path root(path), folder = split_folder(root, split);
  ImageSet set{.name = path, .digest = {}, .class_names = classes_in(train_folder(root)).names};
  const ClassFolders classes = classes_in(folder);
  if (!classes.empty.empty())
    set.remarks.push_back(fmt::format("left out: {} without pictures: {}",
                                      count(std::ssize(classes.empty), "folder", "folders"),
                                      excerpt(classes.empty)));
  for (const std::string& name : classes.names) {
    const auto found = std::ranges::find(set.class_names, name);
    if (found == set.class_names.end())
      throw DataError(fmt::format("{}: its class is unknown in {}", (folder / name).string(),
                                  train_folder(root).string()));
    const std::vector<std::string> images = images_in(folder / name);
    if (images.empty())
      throw DataError(fmt::format("{}: no jpg, jpeg or png file in it", (folder / name).string()));
    for (const std::string& image : images) set.files.push_back(folder / name / image);
    set.labels.resize(set.files.size(), found - set.class_names.begin());
  }
  if (set.files.empty())
    throw DataError(
        fmt::format("{}: no images; expected CIFAR's binary files or a folder of jpg, jpeg or "
                    "png files for each class",
                    folder.string()));
  return set;
}

/// The facts of a file, what is wrong with its image among them. Throws DataError where it cannot be read.
FileFacts facts_of(const std::string& file, bool decode) {
  FileFacts facts = ImageIndex::look(file);
  try {
    const std::string bytes = image_bytes(file);
    facts.digest = sha256(bytes);
    facts.decoded = decode;
    if (decode) decode_image(file, bytes);
  } catch (const DataError& error) {
    if (facts.digest.empty()) throw;
    facts.damage = error.what();
    if (facts.damage.starts_with(file + ": ")) facts.damage.erase(0, file.size() + 2);
  }
  return facts;
}

/// The facts of a file, or what kept it from being read.
struct Found {
  FileFacts facts;
  std::exception_ptr failure;
};

Found examine(const std::string& file, bool decode) {
  Found found;
  try {
    found.facts = facts_of(file, decode);
  } catch (...) {
    found.failure = std::current_exception();
  }
  return found;
}

/// The facts of all files: what the index knows of them as they are now, the rest by reading them. In pieces,
/// so that it can be told how far it is and be stopped.
std::vector<FileFacts> examine_all(const std::vector<std::string>& files, const std::vector<bool>& decoded,
                                   ImageIndex& index, int threads, Progress& progress) {
  constexpr std::size_t kPiece = 256;
  std::vector<FileFacts> facts(files.size());
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const FileFacts* known = index.find(files[i]);
    if (known != nullptr && (known->decoded || !decoded[i]))
      facts[i] = *known;
    else
      unknown.push_back(i);
  }
  progress.stage("decoding images", static_cast<double>(unknown.size()));
  for (std::size_t begin = 0; begin < unknown.size(); begin += kPiece) {
    std::vector<Found> found(std::min(kPiece, unknown.size() - begin));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (std::size_t k = 0; k < found.size(); ++k) {
      const std::size_t i = unknown[begin + k];
      found[k] = examine(files[i], decoded[i]);
    }
    for (std::size_t k = 0; k < found.size(); ++k) {
      if (found[k].failure) std::rethrow_exception(found[k].failure);
      const std::size_t i = unknown[begin + k];
      index.add(files[i], found[k].facts);
      facts[i] = std::move(found[k].facts);
    }
    progress.advance(static_cast<double>(found.size()));
  }
  progress.finish();
  return facts;
}

std::string digest_of(const fs::path& root, const std::vector<std::string>& files,
                      const std::vector<FileFacts>& found) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (std::size_t i = 0; i < files.size(); ++i)
    lines.emplace_back(fs::path(files[i]).lexically_relative(root), found[i].digest);
  std::ranges::sort(lines);
  Sha256 digest;
  for (const auto& [name, bytes] : lines) {
    const std::string line = fmt::format("{}  {}\n", bytes, name);
    digest.update(line.data(), line.size());
  }
  return digest.hex();
}

[[noreturn]] void refuse(const ImageSet& set, std::size_t n) {
  constexpr std::size_t kShown = 10;
  const auto end = set.corrupt.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, set.corrupt.size()));
  throw DataError(fmt::format(
      "{}: {} of {} images cannot be decoded:\n  {}{}\n"
      "repair or remove them; a training of images leaves them out with corrupt = skip",
      set.name, set.corrupt.size(), n, fmt::join(set.corrupt.begin(), end, "\n  "),
      set.corrupt.size() > kShown ? fmt::format("\n  and {} more", set.corrupt.size() - kShown) : ""));
}

}  // namespace

std::string image_bytes(const std::string& path) {
  constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    throw DataError(path + (fs::exists(path, error) ? ": is not a file" : ": no such file"));
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) throw DataError(fmt::format("{}: {}", path, error.message()));
  if (size > kMostBytes)
    throw DataError(fmt::format("{}: {} bytes; images have at most {}", path, size, kMostBytes));
  std::ifstream in(path, std::ios::binary);
  if (!in) throw DataError(path + ": cannot be opened for reading");
  std::string bytes(size, '\0');
  if (!in.read(bytes.data(), static_cast<std::streamsize>(size)))
    throw DataError(path + ": reading failed, or it became shorter while read");
  return bytes;
}

bool is_image_folder(const std::string& path) {
  const fs::path folder = train_folder(path);
  return std::ranges::any_of(classes_in(folder).names,
                             [&](const std::string& name) { return !images_in(folder / name).empty(); });
}

ImageSet read_image_folder(const std::string& path, const ImageOptions& options, Progress& progress) {
  ImageSet set = list(path, options.split);
  const std::vector<std::string> all = std::move(set.files);
  choose_images(set, options, /*sorted=*/true);
  std::vector<bool> kept(all.size());
  for (const Index record : set.records) kept[static_cast<std::size_t>(record)] = true;
  ImageIndex index(options.cache, path, progress);
  const std::vector<FileFacts> found =
      examine_all(all, kept, index, options.threads > 0 ? options.threads : omp_get_max_threads(), progress);
  set.digest = digest_of(path, all, found);
  std::size_t left = 0;
  for (std::size_t i = 0; i < set.records.size(); ++i) {
    const auto record = static_cast<std::size_t>(set.records[i]);
    if (!found[record].damage.empty()) {
      set.corrupt.push_back(all[record] + ": " + found[record].damage);
      continue;
    }
    set.records[left] = set.records[i];
    set.labels[left++] = set.labels[i];
    set.files.push_back(all[record]);
  }
  if (!set.corrupt.empty() && (options.corrupt == "refuse" || left == 0)) refuse(set, set.records.size());
  set.records.resize(left);
  set.labels.resize(left);
  return set;
}

}  // namespace zeroloss::internal
