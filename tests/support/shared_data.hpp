#pragma once
#include <cstdlib>
#include <filesystem>

namespace zeroloss::test {

/// A folder with data sets that do not ship (mnist/), from the environment variable ZEROLOSS_SHARED_DATA;
/// empty if it is not a folder, and then tests that need it are skipped.
inline std::filesystem::path shared_data() {
  std::filesystem::path folder;
  if (const char* place = std::getenv("ZEROLOSS_SHARED_DATA")) folder = place;
  return std::filesystem::is_directory(folder) ? folder : std::filesystem::path{};
}

}  // namespace zeroloss::test
