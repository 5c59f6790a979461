#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "support/subprocess.hpp"

namespace zeroloss::test {

/// The folder with data sets that do not ship (mnist, cifar-10, photos), from the environment variable
/// ZEROLOSS_SHARED_DATA; empty without it.
inline std::filesystem::path shared_data() {
  const char* place = std::getenv("ZEROLOSS_SHARED_DATA");
  return place == nullptr ? std::filesystem::path{} : std::filesystem::path(place);
}

}  // namespace zeroloss::test

/// Skips the test without ZEROLOSS_SHARED_DATA. A folder that is named and lacks the set fails it.
#define ZEROLOSS_NEEDS_SHARED(set)                                                      \
  if (zeroloss::test::shared_data().empty()) GTEST_SKIP() << "no ZEROLOSS_SHARED_DATA"; \
  ASSERT_TRUE(std::filesystem::exists(zeroloss::test::shared_data() / (set)))           \
      << "ZEROLOSS_SHARED_DATA is " << zeroloss::test::shared_data() << ", where there is no " << (set)

/// The same for CIFAR-10, which is unpacked into `folder`.
#define ZEROLOSS_NEEDS_CIFAR10(folder)                                                 \
  ZEROLOSS_NEEDS_SHARED("cifar-10");                                                   \
  if (zeroloss::test::run_program("dwebp", {"-version"}).exit_code != 0)               \
    GTEST_SKIP() << "no dwebp (Debian: webp)";                                         \
  const auto unpacked_ = zeroloss::test::run_program(                                  \
      "python3", {zeroloss::test::shared_data() / "unpack.py", "cifar-10", (folder)}); \
  ASSERT_EQ(unpacked_.exit_code, 0) << unpacked_.err
