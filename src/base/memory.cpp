#include "zeroloss/base/memory.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "base/cgroup.hpp"
#include "zeroloss/base/error.hpp"

namespace zeroloss {

std::int64_t available_memory_bytes() {
  constexpr auto kUnknown = std::numeric_limits<std::int64_t>::max();
  std::int64_t available = kUnknown;
  std::ifstream in("/proc/meminfo");
  for (std::string key, unit; in >> key;) {
    std::int64_t kib = 0;
    if (key == "MemAvailable:" && in >> kib) available = kib * 1024;
    std::getline(in, unit);
  }
  available = std::min(available, internal::cgroup_free_bytes());
  rlimit space{};  // of addresses: ulimit -v
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
    std::int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto most = static_cast<std::int64_t>(std::min<rlim_t>(space.rlim_cur, kUnknown));
    available = std::min(available, std::max<std::int64_t>(0, most - pages * sysconf(_SC_PAGESIZE)));
  }
  return available;
}

std::int64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

std::string format_bytes(double bytes) {
  if (bytes < 1e6) return fmt::format("{:.1f} kB", bytes / 1e3);
  if (bytes < 1e9) return fmt::format("{:.1f} MB", bytes / 1e6);
  return fmt::format("{:.1f} GB", bytes / 1e9);
}

void require_memory(double bytes, const std::string& what, const std::string& hint) {
  const auto available = static_cast<double>(available_memory_bytes());
  if (bytes > available)
    throw ResourceError(
        fmt::format("{} needs {}, {} free; {}", what, format_bytes(bytes), format_bytes(available), hint));
}

}  // namespace zeroloss
