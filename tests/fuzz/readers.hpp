#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// The readers of files that nobody vouches for, each as a function of bytes: for the fuzzer, and for tests
/// that read its corpus again.
namespace zeroloss::test {

struct FuzzedReader {
  std::string name;  ///< a format, or format-what: readers of one format share its folder in corpus/
  std::string file;  ///< what the bytes are called: readers go by endings, and some by whole names
  std::function<void(const std::filesystem::path& path)> read;

  std::string format() const { return name.substr(0, name.find('-')); }
};

const std::vector<FuzzedReader>& fuzzed_readers();

/// Throws std::out_of_range for a name of none.
const FuzzedReader& fuzzed_reader(const std::string& name);

/// Writes the bytes to a file in `folder` and reads that. They may be refused as bad data, or as too much of
/// it, in words that are fit for a terminal and ours; anything else that is thrown is let through, or thrown
/// as std::logic_error.
void read_fuzzed(const FuzzedReader& reader, std::string_view bytes, const std::filesystem::path& folder);

}  // namespace zeroloss::test
