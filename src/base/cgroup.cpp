#include "base/cgroup.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace zeroloss::internal {
namespace {

namespace fs = std::filesystem;

constexpr auto kUnknown = std::numeric_limits<std::int64_t>::max();

struct Version {
  const char *folder, *limit, *used, *cache;
};
constexpr Version kFirst{"memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr Version kSecond{"", "memory.max", "memory.current", "inactive_file"};

// The first number of a file, or `missing`: "max", too, is no number.
std::int64_t number_in(const fs::path& path, std::int64_t missing) {
  std::ifstream in(path);
  std::int64_t value = 0;
  return in >> value ? value : missing;
}

std::int64_t stat_of(const fs::path& path, const std::string& wanted) {
  std::ifstream in(path);
  std::string key;
  for (std::uint64_t value = 0; in >> key >> value;)  // of no limit, some are 2^64 - 1
    if (key == wanted) return static_cast<std::int64_t>(value);
  return 0;
}

std::int64_t free_in(const fs::path& group, const Version& version) {
  const std::int64_t limit = number_in(group / version.limit, kUnknown);
  if (limit == kUnknown) return kUnknown;
  const std::int64_t used =
      number_in(group / version.used, 0) - stat_of(group / "memory.stat", version.cache);
  return std::max<std::int64_t>(0, limit - std::max<std::int64_t>(0, used));
}

}  // namespace

std::int64_t cgroup_free_bytes(const fs::path& self, const fs::path& mounted) {
  std::int64_t free = kUnknown;
  std::ifstream in(self);
  for (std::string line; std::getline(in, line);) {  // "0::/a/b" or "9:cpuset,memory:/a/b"
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers != ",," && controllers.find(",memory,") == std::string::npos) continue;
    const Version& version = controllers == ",," ? kSecond : kFirst;
    // A container may see less of the path than its mount, or none of it: what is not there limits nothing.
    for (fs::path group = fs::path(line.substr(second + 1)).relative_path();; group = group.parent_path()) {
      free = std::min(free, free_in(mounted / version.folder / group, version));
      if (group.empty()) break;
    }
  }
  return free;
}

}  // namespace zeroloss::internal
