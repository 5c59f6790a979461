#pragma once
#include <cstdint>
#include <filesystem>

namespace zeroloss::internal {

/// What the memory limits of this process's control group, and of the groups around it, leave: a limit less
/// what is in use, without the file cache that the kernel gives up first. Huge where nothing is limited.
/// Of versions 1 and 2: https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files
/// \param self what /proc/self/cgroup says  \param mounted where control groups are mounted
std::int64_t cgroup_free_bytes(const std::filesystem::path& self = "/proc/self/cgroup",
                               const std::filesystem::path& mounted = "/sys/fs/cgroup");

}  // namespace zeroloss::internal
