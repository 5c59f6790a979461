#include "base/temporary.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace zeroloss::internal {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789", kEnding = ".tmp";
constexpr std::size_t kCount = 6;

}  // namespace

// Not mkstemp: its files are for their owner alone, and stay so when they get their own name.
TemporaryFile create_temporary(const std::filesystem::path& path) {
  constexpr int kTries = 100;
  static std::atomic<unsigned> files{0};
  const auto now = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  std::seed_seq of{static_cast<std::uint64_t>(getpid()), std::uint64_t{files++}, now, now >> 32};
  std::mt19937 chance(of);  // not random_device: a busy host may have no random numbers left
  std::uniform_int_distribution<std::size_t> letter(0, kLetters.size() - 1);
  TemporaryFile file;
  for (int k = 0; k < kTries; ++k) {
    std::string middle(kCount + 1, '.');
    for (std::size_t i = 1; i <= kCount; ++i) middle[i] = kLetters[letter(chance)];
    file.path = path;
    file.path += middle.append(kEnding);
    file.descriptor = open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file.descriptor >= 0 || errno != EEXIST) break;
  }
  return file;
}

bool is_temporary(const std::filesystem::path& path) {
  const std::string name = path.filename();
  constexpr std::size_t kTail = 1 + kCount + kEnding.size();
  if (name.size() <= kTail || !name.ends_with(kEnding)) return false;
  const std::string_view middle = std::string_view(name).substr(name.size() - kTail, kCount + 1);
  return middle[0] == '.' && middle.find_first_not_of(kLetters, 1) == std::string_view::npos;
}

}  // namespace zeroloss::internal
