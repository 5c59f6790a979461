#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz/readers.hpp"
#include "support/temp_folder.hpp"

namespace zeroloss::test {
namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = fs::path(ZEROLOSS_TEST_DIR) / "fuzz" / "corpus";

class Corpus : public TempFolder {};

// What once went wrong, and what readers are fed with first, is read or refused.
TEST_F(Corpus, IsReadOrRefused) {
  for (const FuzzedReader& reader : fuzzed_readers()) {
    ASSERT_TRUE(fs::is_directory(kCorpus / reader.format())) << reader.name;
    int files = 0;
    for (const auto& entry : fs::directory_iterator(kCorpus / reader.format())) {
      SCOPED_TRACE(reader.name + ": " + entry.path().string());
      EXPECT_NO_THROW(read_fuzzed(reader, content(entry.path()), folder));
      ++files;
    }
    EXPECT_GT(files, 0) << reader.name;
  }
}

// Every beginning of a short file and every byte of it with one bit turned.
TEST_F(Corpus, IsReadOrRefusedWhereItIsCutOrABitIsTurned) {
  for (const FuzzedReader& reader : fuzzed_readers())
    for (const auto& entry : fs::directory_iterator(kCorpus / reader.format())) {
      const std::string bytes = content(entry.path());
      SCOPED_TRACE(reader.name + ": " + entry.path().string());
      const std::size_t step = std::max<std::size_t>(1, bytes.size() / 50);
      for (std::size_t i = 0; i < bytes.size(); i += step) {
        std::string turned = bytes;
        turned[i] = static_cast<char>(turned[i] ^ (1 << i % 8));
        EXPECT_NO_THROW(read_fuzzed(reader, bytes.substr(0, i), folder)) << "the first " << i << " bytes";
        EXPECT_NO_THROW(read_fuzzed(reader, turned, folder)) << "byte " << i;
      }
    }
}

TEST(Readers, EveryFolderOfTheCorpusHasOne) {
  for (const auto& entry : fs::directory_iterator(kCorpus))
    EXPECT_NO_THROW(fuzzed_reader(entry.path().filename())) << entry.path();
}

}  // namespace
}  // namespace zeroloss::test
