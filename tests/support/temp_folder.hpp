#pragma once
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace zeroloss::test {

/// A test with a folder of its own, removed afterwards.
class TempFolder : public ::testing::Test {
 protected:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "zeroloss-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed for " + name);
    folder = name;
  }
  ~TempFolder() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string& name) const { return folder / name; }

  std::string write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return folder / name;
  }

  std::string write_gz(const std::string& name, const std::string& bytes) const {
    const gzFile file = gzopen(path(name).c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return path(name);
  }

  static std::string content(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::filesystem::path folder;
};

/// The message with which `call` throws an Error; a test failure if it does not.
template <class Error, class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another kind of exception: " << error.what();
    return {};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace zeroloss::test

/// `call` throws Error, and the message holds every one of the texts.
#define EXPECT_MESSAGE(Error, call, ...)                                                                  \
  do {                                                                                                    \
    const std::string message_ = zeroloss::test::message_of<Error>([&] { (void)(call); });                \
    for (const auto& text_ : std::vector<std::string>{__VA_ARGS__})                                       \
      EXPECT_NE(message_.find(text_), std::string::npos) << "missing: " << text_ << "\nin: " << message_; \
  } while (false)
