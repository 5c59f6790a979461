#pragma once
#include <functional>
#include <string>

#include "zeroloss/sources/readers.hpp"

/// Where data comes from: names, generators, files and folders, one row each.
namespace zeroloss::internal {

/// A source that is asked for, and what is known of it so far.
struct Asked {
  const std::string& text;             ///< as it was given
  const std::string& split;            ///< train | test
  const std::string* start = nullptr;  ///< the first bytes of a file, unpacked; null while its name decides

  /// Whether the file's name ends in one of these, written in lower case with spaces between.
  bool ends_in(const std::string& endings) const;
};

/// A kind of source. Each stands in a .cpp of its own, as a function in the list of source_kind.cpp.
struct SourceKind {
  enum class Is { name, generator, stream, file, folder };
  Is is;
  std::string called;  ///< in messages: "npy", "MNIST"; the whole form of a generator's text
  /// Of a name that is part of the library: what it is; empty for the sets to download, whose table says it.
  /// Of a generator: the points. Of a folder: what has to be in it, with {} for MNIST's word for the split.
  std::string what;
  std::function<bool(const Asked&)> recognise;
  /// What open_source says, but for what is the same for all kinds. An empty digest becomes that of the file.
  std::function<Source(const std::string& text, const ReadOptions& options)> open;
  bool columns = false;  ///< whether `target` names one of its columns
};

/// Opens what is in a folder. Throws DataError if no kind knows it.
Source open_folder(const std::string& path, const ReadOptions& options);

/// Whether the text names data that needs no path.
bool is_name(const std::string& source);

/// Whether it is the text of a generator, whole or not.
bool is_generated(const std::string& source);

/// Whether it is the text of a generator that could say this key (n, d) and does not; see with() in
/// recipe.hpp.
bool leaves_open(const std::string& source, const std::string& key);

}  // namespace zeroloss::internal
